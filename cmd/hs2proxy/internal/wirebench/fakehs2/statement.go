package fakehs2

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/beltran/gohive/hiveserver"
)

// Result is what a statement that reads returns: a bigint and a string a row, Width bytes of a row on the wire (12 at least:
// 8 of the bigint, 4 of the string's length), at most Batch rows a FetchResults.
type Result struct{ Rows, Width, Batch int }

// usual is the result of a statement that asks for none.
var usual = Result{Rows: 1, Width: 100, Batch: 1000}

// Ask is the comment that asks for a result; it may stand anywhere in the statement.
func (r Result) Ask() string {
	return fmt.Sprintf("/* %d rows, %d wide, %d a batch */", r.Rows, r.Width, r.Batch)
}

var asking = regexp.MustCompile(`/\* (\d+) rows, (\d+) wide, (\d+) a batch \*/`)

// Bounds of what one statement may ask for.
const (
	leastWidth = 12
	mostWidth  = 1 << 20
	mostBatch  = 256 << 20 // bytes of a batch
)

func asked(sql string) (Result, error) {
	m := asking.FindStringSubmatch(sql)
	if m == nil {
		return usual, nil
	}
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(m[i+1]); err != nil {
			return Result{}, err
		}
	}
	r := Result{Rows: n[0], Width: n[1], Batch: n[2]}
	if r.Width < leastWidth || r.Width > mostWidth || r.Batch < 1 || r.Batch > mostBatch/r.Width {
		return Result{}, fmt.Errorf("a result of %+v", r)
	}
	return r, nil
}

// operation is one statement, finished from the start. What was fetched of it is guarded by mu.
type operation struct {
	session guid
	result  Result
	text    *text // in place of result where not nil

	mu      sync.Mutex
	fetched int  // rows
	logged  bool // the log was fetched
	log     *text
}

// run decides by a statement's first word what it returns.
func (s *Server) run(sql string) (*operation, *hiveserver.TStatus) {
	word, rest, _ := strings.Cut(strings.TrimSpace(sql), " ")
	switch strings.ToUpper(word) {
	case "EXPLAIN":
		s.explains.Add(1)
		return &operation{text: plan(), log: planLog()}, nil
	case "DESCRIBE":
		s.asked.Add(1)
		answer, ok := describe(rest)
		if !ok {
			return nil, failure("FAILED: SemanticException [Error 10001]: Table not found " + rest)
		}
		return &operation{text: answer}, nil
	case "SET":
		s.asked.Add(1)
		return &operation{text: settings(rest)}, nil
	case "SELECT", "WITH":
		if strings.EqualFold(rest, "version()") {
			return &operation{text: version()}, nil
		}
		r, err := asked(sql)
		if err != nil {
			return nil, failure("FAILED: ParseException " + err.Error())
		}
		return &operation{result: r}, nil
	}
	return nil, failure("FAILED: ParseException line 1:0 cannot recognize input near '" + word + "'")
}

func (op *operation) schema() *hiveserver.TTableSchema {
	if op.text != nil {
		return schema(op.text.columns, hiveserver.TTypeId_STRING_TYPE)
	}
	s := schema([]string{"id", "payload"}, hiveserver.TTypeId_STRING_TYPE)
	s.Columns[0].TypeDesc.Types[0].PrimitiveEntry.Type = hiveserver.TTypeId_BIGINT_TYPE
	return s
}

func schema(names []string, kind hiveserver.TTypeId) *hiveserver.TTableSchema {
	out := &hiveserver.TTableSchema{}
	for i, name := range names {
		out.Columns = append(out.Columns, &hiveserver.TColumnDesc{
			ColumnName: name, Position: int32(i + 1),
			TypeDesc: &hiveserver.TTypeDesc{Types: []*hiveserver.TTypeEntry{{PrimitiveEntry: &hiveserver.TPrimitiveTypeEntry{Type: kind}}}},
		})
	}
	return out
}
