package explain

import "strings"

// MaxComputePlan is the EXPLAIN output of MaxCompute (ODPS), or the operators of its LogView as people paste them: no
// plan of Hive's, and no join strategy is read from it. It is read for its dynamic filters: the DynamicFilterConsumer
// and DppDynamicProducer operators of MaxCompute's documentation on dynamic filtering.
type MaxComputePlan struct {
	// Jobs in the order they are named. A paste without "In Job" has one without a name.
	Jobs []*MaxComputeJob
}

// MaxComputeJob is one job: "job0 is root job", and the tasks below "In Job job0:".
type MaxComputeJob struct {
	Name      string
	Root      bool
	DependsOn []string
	Tasks     []*MaxComputeTask
}

// MaxComputeTask is one task, such as J3_1_2_Stg1: a join task with the number 3 that reads what tasks 1 and 2 write.
type MaxComputeTask struct {
	Name string
	// Kind is MAP, REDUCE, JOIN or OTHER by the first letter of the name.
	Kind      MaxComputeTaskKind
	Root      bool
	DependsOn []string
	// Sources are the tables (with partition) after "Data source:".
	Sources []string
	// Roots are the operators no other one of the task feeds; below them, those that consume.
	Roots []*MaxComputeOperator
	// Line is the 1-based line of "In Task …", 0 where operators are pasted without it.
	Line int
}

// MaxComputeTaskKind is what a task does.
type MaxComputeTaskKind string

// Kinds of tasks.
const (
	MaxComputeMap    MaxComputeTaskKind = "MAP"
	MaxComputeReduce MaxComputeTaskKind = "REDUCE"
	MaxComputeJoin   MaxComputeTaskKind = "JOIN"
	MaxComputeOther  MaxComputeTaskKind = "OTHER"
)

// MaxComputeOperator is one operator of a task.
type MaxComputeOperator struct {
	// Name as printed ("TS", "DynamicFilterConsumer1"); Kind is the name without its number.
	Name, Kind string
	// Text is what follows the name's colon.
	Text  string
	Attrs []Attr
	// Role in a dynamic filter; empty for other operators.
	Role MaxComputeRole
	// Columns are those a dynamic filter works on, as far as the operator prints them.
	Columns []string
	// Prunes are the entries of PartitionPruneInfos: what dynamic partition pruning cuts off.
	Prunes   []PartitionPrune
	Task     *MaxComputeTask
	Parent   *MaxComputeOperator
	Children []*MaxComputeOperator
	Line     int
}

// MaxComputeRole is an operator's part in a dynamic filter.
type MaxComputeRole string

// Roles: DFP and DFC of MaxCompute's documentation, and the producer of dynamic partition pruning.
const (
	FilterProducer MaxComputeRole = "PRODUCER"     // DynamicFilterProducer
	FilterConsumer MaxComputeRole = "CONSUMER"     // DynamicFilterConsumer
	PruneProducer  MaxComputeRole = "DPP_PRODUCER" // DppDynamicProducer, with PartitionPruneInfos
)

// PartitionPrune is one entry of PartitionPruneInfos. Its print is not documented: Text is kept as it stands, table and
// columns are filled in where fields so named are found.
type PartitionPrune struct {
	Text    string
	Table   string
	Columns []string
}

// maxComputeRoles are the dynamic operators' names without their number, in lower case.
var maxComputeRoles = map[string]MaxComputeRole{
	"dynamicfilterconsumer": FilterConsumer,
	"dfc":                   FilterConsumer,
	"dynamicfilterproducer": FilterProducer,
	"dfp":                   FilterProducer,
	"dppdynamicproducer":    PruneProducer,
	"dppproducer":           PruneProducer,
}

// Operators returns all operators of the plan in printed order.
func (p *MaxComputePlan) Operators() []*MaxComputeOperator {
	var all []*MaxComputeOperator
	var visit func(list []*MaxComputeOperator)
	visit = func(list []*MaxComputeOperator) {
		for _, o := range list {
			all = append(all, o)
			visit(o.Children)
		}
	}
	for _, j := range p.Jobs {
		for _, t := range j.Tasks {
			visit(t.Roots)
		}
	}
	return all
}

// DynamicFilters returns the operators of dynamic filters and of dynamic partition pruning, in printed order. A
// FilterConsumer among them says that dynamic filtering is in effect; a PruneProducer with Prunes says that dynamic
// partition pruning is (MaxCompute's documentation, "Verify the optimizations").
func (p *MaxComputePlan) DynamicFilters() []*MaxComputeOperator {
	var found []*MaxComputeOperator
	for _, o := range p.Operators() {
		if o.Role != "" {
			found = append(found, o)
		}
	}
	return found
}

// Producer is the producer a consumer takes its filter from: the one its attributes name, the only one of the plan
// otherwise; nil when the text does not tell.
func (p *MaxComputePlan) Producer(consumer *MaxComputeOperator) *MaxComputeOperator {
	var only *MaxComputeOperator
	producers := 0
	for _, o := range p.DynamicFilters() {
		if o.Role != FilterProducer {
			continue
		}
		if consumer.mentions(o.Name) {
			return o
		}
		only = o
		producers++
	}
	if producers == 1 {
		return only
	}
	return nil
}

// mentions tells whether the operator's text or attributes name a word.
func (o *MaxComputeOperator) mentions(word string) bool {
	if hasWord(o.Text, word) {
		return true
	}
	for _, a := range o.Attrs {
		if hasWord(a.Value, word) || hasWord(a.Name, word) {
			return true
		}
		for _, c := range a.Children {
			if hasWord(c.Name, word) || hasWord(c.Value, word) {
				return true
			}
		}
	}
	return false
}

func hasWord(text, word string) bool {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !isWordByte(rest[i-1])) && (end == len(rest) || !isWordByte(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
