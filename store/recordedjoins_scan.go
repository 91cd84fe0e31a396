package store

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// joinScanner reads joins from the JSON that Postgres prints, several times as fast as encoding/json: a replay reads all joins on record.
// It relies on Postgres for what is no JSON at all, and takes a string it has seen before from memory. Names it does not know are passed over.
type joinScanner struct {
	text []byte
	at   int
	err  error
	// names are the strings seen: those of tables, columns and types come again and again.
	names map[string]string
	// numbers is where numbers that may be missing are kept, many to an allocation.
	numbers []int64
}

// mostNames bounds the memory of strings.
const mostNames = 1 << 16

// scan reads one value of JSON with read.
func (s *joinScanner) scan(text []byte, read func()) error {
	s.text, s.at, s.err = text, 0, nil
	read()
	return s.err
}

func (s *joinScanner) join(j *advisor.Join) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "ordinal":
			j.Ordinal = int(s.number())
		case "operator_id":
			j.OperatorID = s.string()
		case "vertex":
			j.Vertex = s.string()
		case "strategy":
			j.Strategy = advisor.Strategy(s.string())
		case "conditions":
			for s.open('['); s.more(']'); {
				j.Conditions = append(j.Conditions, s.condition())
			}
		case "big_table":
			j.BigTable = int(s.number())
		case "inputs":
			s.inputs(&j.Inputs)
		case "output_rows":
			j.OutputRows = s.number()
		case "output_bytes":
			j.OutputBytes = s.number()
		case "residual":
			j.Residual = s.bool()
		case "filters":
			j.Filters = s.bool()
		case "null_safe":
			j.NullSafe = s.bool()
		default:
			s.skip()
		}
	}
}

func (s *joinScanner) condition() (c advisor.Condition) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "type":
			c.Type = advisor.JoinType(s.string())
		case "left":
			c.Left = int(s.number())
		case "right":
			c.Right = int(s.number())
		default:
			s.skip()
		}
	}
	return c
}

func (s *joinScanner) inputs(to *[]advisor.Input) {
	*to = make([]advisor.Input, 0, 2)
	for s.open('['); s.more(']'); {
		*to = append(*to, advisor.Input{})
		s.input(&(*to)[len(*to)-1])
	}
	if len(*to) == 0 {
		*to = nil
	}
}

func (s *joinScanner) input(in *advisor.Input) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "position":
			in.Position = int(s.number())
		case "tables":
			in.Tables = s.strings()
		case "alias":
			in.Alias = s.string()
		case "vertex":
			in.Vertex = s.string()
		case "rows":
			in.Rows = s.number()
		case "data_size":
			in.DataSize = s.number()
		case "cumulative_rows":
			in.CumulativeRows = s.number()
		case "uncounted":
			in.Uncounted = s.bool()
		case "basic_stats":
			in.BasicStats = s.string()
		case "column_stats":
			in.ColumnStats = s.string()
		case "keys":
			if s.peek() == '[' {
				in.Keys = []advisor.Key{} // a cross product's: not null
			}
			for s.open('['); s.more(']'); {
				in.Keys = append(in.Keys, s.joinKey())
			}
		case "columns":
			for s.open('['); s.more(']'); {
				in.Columns = append(in.Columns, s.column())
			}
		case "layout":
			s.layout(&in.Layout)
		case "over_join":
			in.OverJoin = s.bool()
		case "group_bys":
			in.GroupBys = int(s.number())
		case "whole_table":
			in.WholeTable = s.bool()
		case "online_data_size":
			in.OnlineDataSize = s.optional()
		default:
			s.skip()
		}
	}
}

func (s *joinScanner) joinKey() (k advisor.Key) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "expr":
			k.Expr = s.string()
		case "type":
			k.Type = s.string()
		case "table":
			k.Table = s.string()
		case "column":
			k.Column = s.string()
		case "ndv":
			k.NDV = s.optional()
		case "nulls":
			k.Nulls = s.optional()
		default:
			s.skip()
		}
	}
	return k
}

func (s *joinScanner) column() (c advisor.Column) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "name":
			c.Name = s.string()
		case "type":
			c.Type = s.string()
		case "table":
			c.Table = s.string()
		case "column":
			c.Column = s.string()
		case "has_stats":
			c.HasStats = s.bool()
		case "nulls":
			c.Nulls = s.optional()
		case "not_carried":
			c.NotCarried = s.bool()
		case "estimated":
			c.Estimated = s.bool()
		default:
			s.skip()
		}
	}
	return c
}

func (s *joinScanner) layout(l *advisor.Layout) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "bucket_columns":
			l.BucketColumns = s.strings()
		case "sort_columns":
			l.SortColumns = s.strings()
		case "buckets":
			l.Buckets = int(s.number())
		case "bucketing_version":
			l.BucketingVersion = int(s.number())
		case "external":
			l.External = s.bool()
		case "shuffled":
			l.Shuffled = s.bool()
		case "total_size":
			l.TotalSize = s.number()
		case "partitions":
			l.Partitions = int(s.number())
		default:
			s.skip()
		}
	}
}

// open enters an object or a list. Null is an empty one: more then finds its end.
func (s *joinScanner) open(bracket byte) {
	switch s.peek() {
	case bracket:
		s.at++
	case 'n':
		s.at += len("null")
		s.at-- // more sees the last letter for the end
		if s.at >= len(s.text) {
			s.fail("null")
		}
	default:
		s.fail(string(bracket))
	}
}

// more moves to the next part of an object or a list, or behind its end.
func (s *joinScanner) more(bracket byte) bool {
	if s.err != nil {
		return false
	}
	switch c := s.peek(); c {
	case bracket, 'l':
		s.at++
		return false
	case ',':
		s.at++
	case 0:
		s.fail(string(bracket))
		return false
	}
	return true
}

// peek is the next byte that is no space; 0 at the end.
func (s *joinScanner) peek() byte {
	for s.at < len(s.text) {
		if c := s.text[s.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.at++
	}
	return 0
}

func (s *joinScanner) fail(want string) {
	if s.err == nil {
		s.err = fmt.Errorf("no %s at byte %d", want, s.at)
	}
	s.at = len(s.text)
}

// key is a name of an object, and the colon behind it. None of ours has an escape.
func (s *joinScanner) key() []byte {
	token := s.token()
	if s.peek() != ':' {
		s.fail("colon")
		return nil
	}
	s.at++
	return token
}

// token is what is between quotes, as it stands.
func (s *joinScanner) token() []byte {
	if s.peek() != '"' {
		s.fail("string")
		return nil
	}
	start := s.at + 1
	for i := start; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return s.text[start:i]
		}
	}
	s.fail("end of a string")
	return nil
}

func (s *joinScanner) string() string {
	token := s.token()
	if known, ok := s.names[string(token)]; ok {
		return known
	}
	text := string(token)
	for _, c := range token {
		if c != '\\' {
			continue
		}
		if err := json.Unmarshal(s.text[s.at-len(token)-2:s.at], &text); err != nil {
			s.fail("string")
		}
		break
	}
	if s.names == nil || len(s.names) >= mostNames {
		s.names = map[string]string{}
	}
	s.names[string(token)] = text
	return text
}

func (s *joinScanner) strings() (list []string) {
	for s.open('['); s.more(']'); {
		list = append(list, s.string())
	}
	return list
}

func (s *joinScanner) number() int64 {
	s.peek()
	start := s.at
	for s.at < len(s.text) && (s.text[s.at] >= '0' && s.text[s.at] <= '9' || s.text[s.at] == '-') {
		s.at++
	}
	n, err := strconv.ParseInt(string(s.text[start:s.at]), 10, 64)
	if err != nil {
		s.at = start
		s.fail("whole number")
	}
	return n
}

func (s *joinScanner) optional() *int64 {
	if s.peek() == 'n' {
		s.at += len("null")
		return nil
	}
	if len(s.numbers) == cap(s.numbers) {
		s.numbers = make([]int64, 0, 256)
	}
	s.numbers = append(s.numbers, s.number())
	return &s.numbers[len(s.numbers)-1]
}

func (s *joinScanner) bool() bool {
	if s.peek() == 't' {
		s.at += len("true")
		return true
	}
	s.at += len("false")
	return false
}

// skip passes over a value of any kind.
func (s *joinScanner) skip() {
	switch s.peek() {
	case '"':
		s.token()
	case '{':
		for s.open('{'); s.more('}'); {
			s.key()
			s.skip()
		}
	case '[':
		for s.open('['); s.more(']'); {
			s.skip()
		}
	case 0:
		s.fail("value")
	default: // a number or a word
		for s.at < len(s.text) && s.text[s.at] != ',' && s.text[s.at] != '}' && s.text[s.at] != ']' {
			s.at++
		}
	}
}
