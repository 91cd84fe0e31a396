package store

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// The replay form of a plan's joins, plans.replay, says what joins.detail -> 'join', inputs and attempts say in JSON, and is read many times
// as fast. It is the form's number; the time the plan was explained, in microseconds since 1970; the number of joins; then the fields of
// each in the order of the methods below. Integers are varints, words are numbered as they first appear, nothing is named.
//
// A change of the fields needs another formNumber: a plan of another number is read from JSON, until it is explained again.
const formNumber = 1

// knownWords are numbered before a plan's own. They belong to the formNumber.
var knownWords = [...]string{
	"", "MAP_JOIN", "BUCKET_MAP_JOIN", "DPHJ", "SMB", "MERGE_JOIN", "UNKNOWN",
	"INNER", "LEFT_OUTER", "RIGHT_OUTER", "FULL_OUTER", "LEFT_SEMI", "ANTI", "CROSS", "COMPLETE", "PARTIAL", "NONE",
	"string", "int", "bigint", "double", "date", "timestamp", "boolean", "_col0", "_col1", "_col2", "_col3",
}

// replayForm is the form of the joins as newJoinRow prepared them. The attempts are kept for plans under LLAP, as RecordedJoin says.
func replayForm(explainedAt time.Time, settings map[string]string, joins []joinRow) []byte {
	f := formWriter()
	at := explainedAt.UnixMicro()
	f.int64(&at)
	f.out = binary.AppendUvarint(f.out, uint64(len(joins)))
	llap := underLLAP(settings)
	for i := range joins {
		v := &joins[i].verdict
		j := RecordedJoin{Join: v.Join, Simulated: advisor.Strategy(strategy(v.Verdict.Simulated)), Budget: v.Decision.Budget}
		j.Join.Inputs = emptyNotNil(j.Join.Inputs)
		if llap {
			j.Attempts = emptyNotNil(v.Decision.Attempts)
		}
		f.recorded(&j)
	}
	return f.out
}

func underLLAP(settings map[string]string) bool {
	return strings.EqualFold(settings["hive.execution.mode"], "llap")
}

// form writes joins, or reads them: each method does for one kind of field whichever it is. The first error stops the reading.
type form struct {
	out    []byte         // written so far
	number map[string]int // of the words written

	reading bool
	in      string // what is left to read; words are parts of it
	words   []string
	err     error

	conditions slab[advisor.Condition]
	inputs     slab[advisor.Input]
	keys       slab[advisor.Key]
	columns    slab[advisor.Column]
	attempts   slab[advisor.Attempt]
	texts      slab[string]
	numbers    slab[int64]
}

func formWriter() *form {
	f := &form{out: []byte{formNumber}, number: make(map[string]int, 2*len(knownWords))}
	for i, w := range knownWords {
		f.number[w] = i
	}
	return f
}

func formReader() *form {
	return &form{
		reading: true, words: append(make([]string, 0, 4*len(knownWords)), knownWords[:]...),
		conditions: slab[advisor.Condition]{piece: 64}, inputs: slab[advisor.Input]{piece: 16}, keys: slab[advisor.Key]{piece: 32},
		columns: slab[advisor.Column]{piece: 32}, attempts: slab[advisor.Attempt]{piece: 16}, texts: slab[string]{piece: 64}, numbers: slab[int64]{piece: 128},
	}
}

// errForm: the bytes are no joins.
var errForm = errors.New("it ends early or has a number out of range")

// open starts on another plan and tells how many joins follow. ok is false for a form that does not count, so that JSON is read: none,
// another number's, and one of another time than the plan was explained: a program that knows no forms has recorded the plan since.
func (f *form) open(in []byte, explainedAt time.Time) (joins int, ok bool) {
	if len(in) == 0 || in[0] != formNumber {
		return 0, false
	}
	f.in, f.words, f.err = string(in[1:]), f.words[:len(knownWords)], nil
	var at int64
	f.int64(&at)
	if f.err == nil && at != explainedAt.UnixMicro() {
		return 0, false
	}
	return f.size(f.uvarint()), true
}

func (f *form) recorded(j *RecordedJoin) {
	word(f, &j.Simulated)
	f.int64(&j.Budget)
	f.join(&j.Join)
	list(f, &j.Attempts, &f.attempts, (*form).attempt)
}
