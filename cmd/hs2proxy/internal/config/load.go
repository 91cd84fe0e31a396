package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// EnvPrefix starts every variable the configuration reads; "__" separates levels:
// HS2PROXY_UPSTREAM__ADDRESS is upstream.address.
const EnvPrefix = "HS2PROXY_"

// Load reads the YAML file (none when path is empty), then the environment over it, and the files of secrets it names.
// The result is not validated: flags may still change it.
func Load(path string, environ []string) (Config, error) {
	// The delimiter is not a dot: table and setting names, which are keys too, hold dots.
	cfg := Default()
	k := koanf.NewWithConf(koanf.Conf{Delim: "/", StrictMerge: false})
	if path != "" {
		if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
			return cfg, fmt.Errorf("configuration %s: %w", path, err)
		}
	}
	if err := k.Load(env.Provider("/", env.Opt{
		Prefix:        EnvPrefix,
		TransformFunc: environmentKey,
		EnvironFunc:   func() []string { return environ },
	}), nil); err != nil {
		return cfg, fmt.Errorf("configuration from the environment: %w", err)
	}
	err := k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{Tag: "koanf", DecoderConfig: &mapstructure.DecoderConfig{
		Result: &cfg, TagName: "koanf", WeaklyTypedInput: true, ErrorUnused: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			structured, plainBool, mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(","), servers,
		),
	}})
	if err != nil {
		return cfg, fmt.Errorf("configuration %s: %w", path, plain(err))
	}
	if err := secret("service.password_file", cfg.Service.PasswordFile, &cfg.Service.Password); err != nil {
		return cfg, err
	}
	return cfg, secret("admin.token_file", cfg.Admin.TokenFile, &cfg.Admin.Token)
}

// structured reads a list or a mapping that came as one string: a variable of the environment, in YAML's short form
// ([{address: "a:10000"}]).
func structured(from, to reflect.Type, value any) (any, error) {
	text, ok := value.(string)
	if k := to.Kind(); !ok || from.Kind() != reflect.String || k != reflect.Slice && k != reflect.Map && k != reflect.Struct {
		return value, nil
	}
	switch {
	case text == "" && to.Kind() != reflect.Struct:
		return reflect.Zero(to).Interface(), nil
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{"):
		out, err := yaml.Parser().Unmarshal([]byte("value: " + text))
		if err != nil {
			return nil, errors.New("no list or mapping in YAML's short form")
		}
		return out["value"], nil
	}
	return value, nil
}

// plainBool writes a boolean as Hive does where a setting's value is wanted; by itself it would become 1 or 0.
func plainBool(from, to reflect.Type, value any) (any, error) {
	if b, ok := value.(bool); ok && from.Kind() == reflect.Bool && to.Kind() == reflect.String {
		return strconv.FormatBool(b), nil
	}
	return value, nil
}

// servers takes host:port for one of upstream.servers, and several between commas for all.
func servers(_, to reflect.Type, value any) (any, error) {
	text, ok := value.(string)
	switch {
	case ok && to == reflect.TypeFor[Server]():
		return Server{Address: strings.TrimSpace(text)}, nil
	case ok && to == reflect.TypeFor[[]Server]():
		return strings.Split(text, ","), nil
	}
	return value, nil
}

// secret reads a file without its last line end, where one is named.
func secret(field, path string, into *string) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	*into = strings.TrimRight(string(b), "\r\n")
	return nil
}

// plain takes mapstructure's multi-line message apart into one line.
func plain(err error) error {
	lines := strings.Split(err.Error(), "\n")
	var kept []string
	for _, l := range lines {
		l = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "*"))
		l = strings.TrimPrefix(l, "'' has invalid keys:")
		if l != "" && !strings.HasSuffix(l, "error(s) decoding:") && l != "decoding failed due to the following error(s):" {
			kept = append(kept, strings.TrimSpace(l))
		}
	}
	if strings.Contains(err.Error(), "invalid keys") {
		return errors.New("unknown or misplaced field: " + strings.Join(kept, "; "))
	}
	return errors.New(strings.Join(kept, "; "))
}

// environmentKey turns HS2PROXY_UPSTREAM__ADDRESS into upstream.address. Variables of the test and build
// environment (HS2PROXY_TEST_…, HS2PROXY_E2E, HS2PROXY_SHARED, …) name no field and are left out.
func environmentKey(name, value string) (string, any) {
	key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, EnvPrefix), "__", "/"))
	top, _, nested := strings.Cut(key, "/")
	if !nested && top != "listen" {
		return "", nil
	}
	return key, value
}
