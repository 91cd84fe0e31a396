package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// Saved judges plans that were saved as files, without a server: for the first statement to explain of a/NAME.sql the EXPLAIN
// output is in a/NAME.plan or a/NAME.1.plan, for the second in a/NAME.2.plan and so on. Settings are the script's own, the
// others the release's defaults; table statistics are those of the plan.
type Saved struct {
	Plans fs.FS
	// Release is whose rules and defaults count; the zero value is Hive 4.
	Release advisor.Profile
}

// Explain implements Explainer.
func (s Saved) Explain(_ context.Context, st Statement) (Judged, error) {
	text, err := s.read(st)
	if err != nil {
		return Judged{}, err
	}
	plan, err := explain.Parse(text)
	if err != nil {
		return Judged{}, fmt.Errorf("the plan could not be read: %w", err)
	}
	q := advisor.Query{SQL: st.SQL, Plan: plan, Settings: advisor.NewSettings(s.Release.Fill(st.Settings, ""))}
	for _, j := range advisor.Joins(plan) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return Judged{Joins: q.Verdicts, Findings: advise.Findings(q)}, nil
}

func (s Saved) read(st Statement) (string, error) {
	name := strings.TrimSuffix(st.File, path.Ext(st.File))
	numbered := name + "." + strconv.Itoa(st.Ordinal) + ".plan"
	text, err := fs.ReadFile(s.Plans, numbered)
	if errors.Is(err, fs.ErrNotExist) && st.Ordinal == 1 {
		text, err = fs.ReadFile(s.Plans, name+".plan")
		numbered = name + ".plan or " + numbered
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no plan %s", numbered)
	}
	return string(text), err
}
