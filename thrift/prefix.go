package thrift

import (
	"bytes"
	"context"
	"unicode/utf8"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// statementPrefix finds what is left of the statement in the beginning of an ExecuteStatement call's arguments: field 2 of
// field 1. The generated reader gives up on a string whose end is missing. The result ends at a character.
func statementPrefix(body []byte) string {
	ctx := context.Background()
	buffer := bytes.NewBuffer(body)
	in := athrift.NewTBinaryProtocolConf(&athrift.TMemoryBuffer{Buffer: buffer}, &athrift.TConfiguration{})
	if !seekField(ctx, in, 1, athrift.STRUCT) || !seekField(ctx, in, 2, athrift.STRING) {
		return ""
	}
	if length, err := in.ReadI32(ctx); err != nil || length < 0 {
		return ""
	}
	text := buffer.Bytes()
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if last := text[len(text)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				text = text[:len(text)-cut]
			}
			break
		}
	}
	return string(text)
}

// seekField skips the fields of a struct up to the one with this id and type, whose value comes next.
func seekField(ctx context.Context, in athrift.TProtocol, id int16, t athrift.TType) bool {
	for {
		_, fieldType, fieldID, err := in.ReadFieldBegin(ctx)
		switch {
		case err != nil || fieldType == athrift.STOP:
			return false
		case fieldID == id && fieldType == t:
			return true
		}
		if err := in.Skip(ctx, fieldType); err != nil {
			return false
		}
	}
}
