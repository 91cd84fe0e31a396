package store

import "github.com/hs2proxy/hs2proxy/advisor"

// The fields of the replay form. Whoever changes this list gives the form another number.

func (f *form) join(j *advisor.Join) {
	f.int(&j.Ordinal)
	word(f, &j.OperatorID)
	word(f, &j.Vertex)
	word(f, &j.Strategy)
	list(f, &j.Conditions, &f.conditions, (*form).condition)
	f.int(&j.BigTable)
	list(f, &j.Inputs, &f.inputs, (*form).input)
	f.int64(&j.OutputRows)
	f.int64(&j.OutputBytes)
	f.bools(&j.Residual, &j.Filters, &j.NullSafe)
}

func (f *form) condition(c *advisor.Condition) {
	word(f, &c.Type)
	f.int(&c.Left)
	f.int(&c.Right)
}

func (f *form) input(in *advisor.Input) {
	f.int(&in.Position)
	listOrNil(f, &in.Tables, &f.texts, (*form).word)
	word(f, &in.Alias)
	word(f, &in.Vertex)
	f.int64(&in.Rows)
	f.int64(&in.DataSize)
	f.int64(&in.CumulativeRows)
	word(f, &in.BasicStats)
	word(f, &in.ColumnStats)
	list(f, &in.Keys, &f.keys, (*form).key)
	listOrNil(f, &in.Columns, &f.columns, (*form).column)
	f.layout(&in.Layout)
	f.int(&in.GroupBys)
	f.optional(&in.OnlineDataSize)
	f.bools(&in.Uncounted, &in.OverJoin, &in.WholeTable)
}

func (f *form) key(k *advisor.Key) {
	word(f, &k.Expr)
	word(f, &k.Type)
	word(f, &k.Table)
	word(f, &k.Column)
	f.optional(&k.NDV)
	f.optional(&k.Nulls)
}

func (f *form) column(c *advisor.Column) {
	word(f, &c.Name)
	word(f, &c.Type)
	word(f, &c.Table)
	word(f, &c.Column)
	f.optional(&c.Nulls)
	f.bools(&c.HasStats, &c.NotCarried, &c.Estimated)
}

func (f *form) layout(l *advisor.Layout) {
	listOrNil(f, &l.BucketColumns, &f.texts, (*form).word)
	listOrNil(f, &l.SortColumns, &f.texts, (*form).word)
	f.int(&l.Buckets)
	f.int(&l.BucketingVersion)
	f.int64(&l.TotalSize)
	f.int(&l.Partitions)
	f.bools(&l.External, &l.Shuffled)
}

func (f *form) attempt(a *advisor.Attempt) {
	word(f, &a.Strategy)
	word(f, &a.Check)
	f.optional(&a.Left)
	f.optional(&a.Right)
	word(f, &a.Note)
	f.bools(&a.OK)
}
