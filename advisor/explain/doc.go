// Package explain reads the text of Hive's EXPLAIN into a Plan: stages, vertices, edges, operators with their attributes
// and statistics, and the tables each vertex scans. It reads and judges nothing.
//
// One file detects the form of the text (form.go); each form has a parser of its own: stages.go for the plain and EXTENDED
// text of Tez, LLAP, MR and Spark, user.go for user-level plans, formatted.go for the JSON of EXPLAIN FORMATTED. All of
// them work on lines cleaned of what pasting adds (lines.go) or on the tree their indentation spells (tree.go).
//
// The plans of MaxCompute, which are pasted to learn of their dynamic filters, have a type of their own (maxcompute.go).
//
// Operators and attributes the package does not know are kept as they are printed. Text that is no plan, or a plan cut
// off before its end, gives a *SyntaxError with the line.
package explain
