package explain

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// parseFormatted reads the JSON of EXPLAIN FORMATTED. Its objects are turned into the lines the text forms print, so
// that one set of readers serves both: the order of keys is kept, "children" are spliced in, lists repeat their key.
func parseFormatted(lines []line) (*Plan, error) {
	no := lines[0].no
	var text strings.Builder
	w := widthsOf(lines)
	for i, l := range lines {
		if isTrailer(l.text) {
			break
		}
		if i > 0 { // JSON's own line breaks stand where blanks can; those inside a text come from wrapping
			if g := w.glue(lines[i-1], l); g != "\n" {
				text.WriteString(g)
			} else {
				text.WriteByte(' ')
			}
		}
		text.WriteString(l.text)
	}
	dec := json.NewDecoder(strings.NewReader(text.String()))
	dec.UseNumber()
	root := &node{no: no}
	if err := readJSON(dec, root, "", 0); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, syntaxErrorf(lines[len(lines)-1].no, "plan cut off: the JSON ends too early")
		}
		return nil, syntaxErrorf(no, "not the JSON of EXPLAIN FORMATTED: %v", err)
	}
	p := &Plan{Form: FormFormatted, Engine: EngineNone}
	b := &builder{plan: p}
	stages := map[string]*Stage{}
	var dependencies, plans *node
	for _, n := range root.kids {
		switch name, value := n.field(); name {
		case "optimizedSQL":
			p.OptimizedSQL = value
		case "cboInfo":
			p.CBO = value
		case "STAGE DEPENDENCIES":
			dependencies = n
		case "STAGE PLANS":
			plans = n
		}
	}
	if plans == nil {
		return nil, syntaxErrorf(no, "the JSON has no %q", headPlans)
	}
	for _, n := range plans.kids {
		s := &Stage{ID: strings.TrimSuffix(n.text, ":")}
		if err := b.stage(s, n); err != nil {
			return nil, err
		}
		p.Stages = append(p.Stages, s)
		stages[s.ID] = s
	}
	if dependencies != nil {
		for _, n := range dependencies.kids {
			s := stages[strings.TrimSuffix(n.text, ":")]
			if s == nil {
				continue
			}
			s.Root = n.value("ROOT STAGE") == "TRUE"
			for part := range strings.SplitSeq(n.value("DEPENDENT STAGES"), ",") {
				if part = strings.TrimSpace(part); part != "" {
					s.DependsOn = append(s.DependsOn, part)
				}
			}
		}
	}
	p.Engine = engineOf(p.Stages)
	return p, nil
}

// readJSON reads one value into parent: an object's members become lines below a line named by key, a list of scalars
// one line, a list of objects a line each.
func readJSON(dec *json.Decoder, parent *node, key string, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return readJSONList(dec, parent, key, depth)
		}
		return readJSONObject(dec, parent, key, depth)
	case nil:
		parent.add(key, "")
	case string:
		parent.add(key, t)
	case json.Number:
		parent.add(key, t.String())
	case bool:
		if t {
			parent.add(key, "true")
		} else {
			parent.add(key, "false")
		}
	}
	return nil
}

func readJSONObject(dec *json.Decoder, parent *node, key string, depth int) error {
	at := parent
	if key != "" && key != "children" {
		at = parent.add(key, "")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		if err := readJSON(dec, at, name, depth+1); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if key == "Edges:" {
		at.kids = edgeLines(at.kids)
	}
	return nil
}

func readJSONList(dec *json.Decoder, parent *node, key string, depth int) error {
	holder := &node{no: parent.no}
	objects := false
	for dec.More() {
		before := len(holder.kids)
		if err := readJSON(dec, holder, "", depth+1); err != nil {
			return err
		}
		for _, k := range holder.kids[before:] {
			objects = objects || len(k.kids) > 0 || strings.Contains(k.text, ":")
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	switch {
	case key == "children":
		parent.kids = append(parent.kids, holder.kids...)
	case objects || key == "condition map:":
		parent.add(key, "").kids = holder.kids
	default:
		words := make([]string, len(holder.kids))
		for i, k := range holder.kids {
			words[i] = k.text
		}
		parent.add(key, strings.Join(words, ", "))
	}
	return nil
}

// add appends the line "key: value" as the text forms print it. Positions ("0": "_col0") stand without a colon there.
func (n *node) add(key, value string) *node {
	k := &node{no: n.no, text: key}
	switch {
	case key == "":
		k.text = value
	case value == "":
	case isPosition(key):
		k.text = key + " " + value
	case strings.HasSuffix(key, ":"):
		k.text = key + " " + value
	default:
		k.text = key + ": " + value
	}
	n.kids = append(n.kids, k)
	return k
}

// edgeLines turns {"Map 2":{"parent":"Map 1","type":"CUSTOM_EDGE"}} into "Map 2 <- Map 1 (CUSTOM_EDGE)".
func edgeLines(kids []*node) []*node {
	var lines []*node
	for _, k := range kids {
		to := strings.TrimSuffix(k.text, ":")
		parent, kind := "", ""
		for _, kk := range k.kids {
			switch name, value := kk.field(); name {
			case "parent":
				parent = value
			case "type":
				kind = value
				lines = append(lines, &node{no: k.no, text: to + " <- " + parent + " (" + kind + ")"})
			}
		}
	}
	return lines
}
