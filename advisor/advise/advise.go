// Package advise asks every advisor about a query.
package advise

import (
	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/antijoin"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/advisor/outerjoin"
)

// Findings lists what all advisors have to say about a query, those about the choice of join strategies first.
func Findings(q advisor.Query) []advisor.Finding {
	list := advisor.FindingsFor(q)
	list = append(list, movement.Find(q)...)
	list = append(list, dynamicfilter.Find(q)...)
	list = append(list, antijoin.Find(q)...)
	list = append(list, outerjoin.Find(q)...)
	advisor.Complete(list, q.Verdicts)
	return list
}
