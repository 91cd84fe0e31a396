// Package jsonl reads files of one JSON object a line, gzipped or not: recorded plans and decisions.
package jsonl

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Read visits the objects in turn. It stops at the first error, visit's included, and names the object's number from 1 on.
func Read[T any](r io.Reader, visit func(*T) error) error {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		in = bufio.NewReader(zr)
	}
	dec := json.NewDecoder(in)
	for n := 1; ; n++ {
		v := new(T)
		err := dec.Decode(v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(v)
		}
		if err != nil {
			return fmt.Errorf("object %d: %w", n, err)
		}
	}
}
