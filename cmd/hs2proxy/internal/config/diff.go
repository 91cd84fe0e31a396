package config

import (
	"reflect"
	"slices"
	"strings"
)

// Diff names the fields that differ, as the file writes them ("clients.tls.cert_file"), in the order of the struct: those that
// are live, or below one that is, may change while the proxy runs; the others need a restart. A list or a mapping is one
// field.
func Diff(running, next Config, live []string) (applicable, restart []string) {
	walk("", reflect.ValueOf(running), reflect.ValueOf(next), func(field string, a, b reflect.Value) {
		switch {
		case same(a, b):
		case covered(field, live):
			applicable = append(applicable, field)
		default:
			restart = append(restart, field)
		}
	})
	return applicable, restart
}

// Merge is running with the live fields of next: what runs after a reload.
func Merge(running, next Config, live []string) Config {
	walk("", reflect.ValueOf(&running).Elem(), reflect.ValueOf(next), func(field string, a, b reflect.Value) {
		if covered(field, live) {
			a.Set(b)
		}
	})
	return running
}

// covered: the field is listed, or a level above it.
func covered(field string, list []string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return field == l || strings.HasPrefix(field, l+".") })
}

// same takes nil and empty for the same list.
func same(a, b reflect.Value) bool {
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// walk visits every field of two structs of the same type.
func walk(path string, a, b reflect.Value, visit func(field string, a, b reflect.Value)) {
	t := a.Type()
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("koanf"), ",")
		switch {
		case options == "squash":
			name = path
		case name == "-": // the content of a file: of no field of its own
			name = joined(path, strings.ToLower(t.Field(i).Name))
		default:
			name = joined(path, name)
		}
		if t.Field(i).Type.Kind() == reflect.Struct {
			walk(name, a.Field(i), b.Field(i), visit)
			continue
		}
		visit(name, a.Field(i), b.Field(i))
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
