package statscheck

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Thresholds say when the rules hold. DefaultThresholds are a deliberate middle between Oracle and Postgres (10 %),
// StarRocks (20 %), Impala (30 %) and TiDB (50 %).
type Thresholds struct {
	// MinRows is the least number of rows counted on the wire before R4 holds at all.
	MinRows int64 `koanf:"min_rows"`
	// Watch, Stale and High are R4's ratios of rows written to rows known (0.1 is 10 %), rising.
	Watch float64 `koanf:"watch"`
	Stale float64 `koanf:"stale"`
	High  float64 `koanf:"high"`
	// TinyFileBytes is the mean file size in bytes up to which a table that Hive flags as accurate may have zero rows:
	// ORC and Parquet files without a row still hold a footer.
	TinyFileBytes int64 `koanf:"tiny_file_bytes"`
	// Drift is the share by which files must change, nothing seen, before R5 holds (0.2 is 20 %).
	Drift float64 `koanf:"drift"`
	// Contradicted and ContradictedStale are R8's factors between estimated and actual rows, rising.
	Contradicted      float64 `koanf:"contradicted"`
	ContradictedStale float64 `koanf:"contradicted_stale"`
	// AgeJoined is R9's age for a table joined within seven days, AgeOther for any other. 0: no age is too much.
	AgeJoined time.Duration `koanf:"age_joined"`
	AgeOther  time.Duration `koanf:"age_other"`
	// Tables override the above for tables by name. The first pattern that matches wins.
	Tables []TableThresholds `koanf:"tables"`
	// Factors are what false alarms raise the thresholds of tables by, by "database.table" in lower case; see Raised. They are learnt,
	// not configured.
	Factors map[string]float64 `koanf:"-"`
}

// TableThresholds override Thresholds for the tables whose name matches. A nil number keeps the general one.
type TableThresholds struct {
	// Pattern is "database.table", in which * stands for any number of characters and ? for one ("staging.*").
	Pattern string `koanf:"pattern"`
	// Off opts the tables out: no rule holds and no schedule refreshes them.
	Off     bool     `koanf:"off"`
	MinRows *int64   `koanf:"min_rows"`
	Watch   *float64 `koanf:"watch"`
	Stale   *float64 `koanf:"stale"`
	High    *float64 `koanf:"high"`
	Drift   *float64 `koanf:"drift"`
	// AgeJoined and AgeOther are those of Thresholds.
	AgeJoined *time.Duration `koanf:"age_joined"`
	AgeOther  *time.Duration `koanf:"age_other"`
}

// DefaultThresholds are those in force where the configuration names none.
func DefaultThresholds() Thresholds {
	const day = 24 * time.Hour
	return Thresholds{
		MinRows: 1000, Watch: 0.1, Stale: 0.2, High: 0.5, TinyFileBytes: 4096, Drift: 0.2, Contradicted: 10, ContradictedStale: 100,
		AgeJoined: 7 * day, AgeOther: 30 * day,
	}
}

// Validate reports every field that is wrong, with its value and what would be right. Field names are relative to Thresholds.
func (t Thresholds) Validate() error {
	errs := validateRatios("", t)
	if t.TinyFileBytes < 0 {
		errs = append(errs, fmt.Errorf("tiny_file_bytes: %d is negative; give a size in bytes, 0 or more", t.TinyFileBytes))
	}
	if !(t.Contradicted > 1) {
		errs = append(errs, fmt.Errorf("contradicted: %v is not above 1; give a factor such as 10", t.Contradicted))
	}
	if !(t.ContradictedStale >= t.Contradicted) {
		errs = append(errs, fmt.Errorf("contradicted_stale: %v is below contradicted (%v); give the same or more", t.ContradictedStale, t.Contradicted))
	}
	for i, o := range t.Tables {
		field := fmt.Sprintf("tables[%d].", i)
		if err := validatePattern(o.Pattern); err != nil {
			errs = append(errs, fmt.Errorf("%spattern: %w", field, err))
		}
		errs = append(errs, validateRatios(field, t.override(o))...)
	}
	return errors.Join(errs...)
}

func validateRatios(prefix string, t Thresholds) []error {
	var errs []error
	if t.MinRows < 0 {
		errs = append(errs, fmt.Errorf("%smin_rows: %d is negative; give a number of rows, 0 or more", prefix, t.MinRows))
	}
	// The negated comparisons catch NaN too.
	if !(t.Watch > 0) {
		errs = append(errs, fmt.Errorf("%swatch: %v is not above 0; give a ratio such as 0.1 for 10 %%", prefix, t.Watch))
	}
	if !(t.Stale >= t.Watch) {
		errs = append(errs, fmt.Errorf("%sstale: %v is below watch (%v); give the same or more", prefix, t.Stale, t.Watch))
	}
	if !(t.High >= t.Stale) {
		errs = append(errs, fmt.Errorf("%shigh: %v is below stale (%v); give the same or more", prefix, t.High, t.Stale))
	}
	if !(t.Drift > 0) {
		errs = append(errs, fmt.Errorf("%sdrift: %v is not above 0; give a share such as 0.2 for 20 %%", prefix, t.Drift))
	}
	for name, age := range map[string]time.Duration{"age_joined": t.AgeJoined, "age_other": t.AgeOther} {
		if age < 0 {
			errs = append(errs, fmt.Errorf("%s%s: %s is negative; give an age such as 168h, or 0 for none", prefix, name, age))
		}
	}
	return errs
}

// validatePattern refuses what can never match a table name.
func validatePattern(p string) error {
	if _, err := path.Match(p, ""); err != nil {
		return fmt.Errorf("%q is not a pattern (%w); give database.table, with * and ? as wildcards", p, err)
	}
	db, table, ok := strings.Cut(p, ".")
	if p != "*" && (!ok || db == "" || table == "") {
		return fmt.Errorf(`%q names no database and table; give "database.table", "database.*" or "*"`, p)
	}
	return nil
}

// MatchTable reports whether "database.table" matches the pattern, whatever the letter case.
func MatchTable(pattern, table string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(table))
	return ok && err == nil
}

// For returns the thresholds in force for "database.table"; off when the table is opted out.
func (t Thresholds) For(table string) (in Thresholds, off bool) {
	factor := t.Factors[strings.ToLower(table)]
	t.Factors = nil
	for _, o := range t.Tables {
		if MatchTable(o.Pattern, table) {
			return t.override(o).Raised(factor), o.Off
		}
	}
	t.Tables = nil
	return t.Raised(factor), false
}

func (t Thresholds) override(o TableThresholds) Thresholds {
	t.Tables = nil
	if o.MinRows != nil {
		t.MinRows = *o.MinRows
	}
	if o.Watch != nil {
		t.Watch = *o.Watch
	}
	if o.Stale != nil {
		t.Stale = *o.Stale
	}
	if o.High != nil {
		t.High = *o.High
	}
	if o.Drift != nil {
		t.Drift = *o.Drift
	}
	if o.AgeJoined != nil {
		t.AgeJoined = *o.AgeJoined
	}
	if o.AgeOther != nil {
		t.AgeOther = *o.AgeOther
	}
	return t
}
