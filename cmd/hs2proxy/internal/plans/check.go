package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl"
)

// plan is one object of the file. A field that is not there is only missing in messages.
type plan struct {
	File  string  `json:"file"`
	Form  string  `json:"form"`
	Query string  `json:"query"`
	Plan  *string `json:"plan"`
}

// counts are what the last line of output tells, and what it leaves out.
type counts struct {
	plans, parsed, operators, joins int
	spark, masked                   int
	differences                     int
}

func (c counts) String() string {
	return fmt.Sprintf("plans=%d parsed=%d join_operators=%d joins=%d", c.plans, c.parsed, c.operators, c.joins)
}

// check reads the plans of r and writes a line for each difference to w.
func check(r io.Reader, w io.Writer) (counts, error) {
	var c counts
	n := 0
	err := jsonl.Read(r, func(p *plan) error {
		n++
		if msg := c.add(*p); msg != "" {
			c.differences++
			fmt.Fprintf(w, "%d %s (%s) %s: %s\n", n, p.File, p.Form, clip(p.Query), msg)
		}
		return nil
	})
	return c, err
}

// add reads one plan and says how its joins differ from its text, if they do.
func (c *counts) add(p plan) string {
	if p.Plan == nil {
		return `no "plan"`
	}
	text := *p.Plan
	if isMasked(text) {
		c.masked++
		return ""
	}
	spark := isSpark(text)
	operators := joinOperators(text)
	if spark {
		c.spark++
	} else {
		c.plans++
		c.operators += operators
	}
	read, err := explain.Parse(text)
	if err != nil {
		return err.Error()
	}
	joins := len(advisor.Joins(read))
	if !spark {
		c.parsed++
		c.joins += joins
	}
	switch {
	case joins != operators:
		return fmt.Sprintf("%d joins of %d join operators", joins, operators)
	case spark != (read.Engine == explain.EngineSpark):
		return fmt.Sprintf("read as a plan of %s", read.Engine)
	}
	return ""
}

// clip puts a query on one short line.
func clip(query string) string {
	const most = 100
	s := strings.Join(strings.Fields(query), " ")
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
