package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// baselineVersion is raised when a file of the former version cannot be read as the new one.
const baselineVersion = 1

// Baseline is what a review has agreed to: the records of each script's statements, in their order, by the script's path below
// the folder. Its file lists the scripts by name, so that the same joins always give the same bytes.
type Baseline struct {
	Version int                 `yaml:"version"`
	Files   map[string][]Record `yaml:"files"`
}

const baselineHead = `# The joins of these scripts as Hive planned them when this file was written, with what was found about them.
# "hs2proxy check --update" writes it; review what changes in it like code.
`

// ParseBaseline reads a baseline's file.
func ParseBaseline(text []byte) (Baseline, error) {
	var b Baseline
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&b); err != nil && !errors.Is(err, io.EOF) {
		return Baseline{}, fmt.Errorf("read the baseline: %w", err)
	}
	if b.Version != baselineVersion {
		return Baseline{}, fmt.Errorf("read the baseline: version %d, want %d", b.Version, baselineVersion)
	}
	return b, nil
}

// Encode is the baseline's file.
func (b Baseline) Encode() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(baselineHead)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(b), e.Close()); err != nil {
		return nil, fmt.Errorf("write the baseline: %w", err)
	}
	return out.Bytes(), nil
}

// Update is the baseline that the outcomes make. Of a statement that could not be explained it keeps what the old one says; what
// the scripts do not hold any more, or skip, is dropped.
func Update(old Baseline, outcomes []Outcome) Baseline {
	b := Baseline{Version: baselineVersion, Files: map[string][]Record{}}
	pairs := match(old, outcomes)
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Skipped != "":
		case o.Error == "":
			b.Files[o.File] = append(b.Files[o.File], recordOf(o))
		case pairs[i].found():
			b.Files[o.File] = append(b.Files[o.File], old.at(pairs[i].place))
		}
	}
	return b
}
