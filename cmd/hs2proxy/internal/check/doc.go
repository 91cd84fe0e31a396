// Package check compares the joins that Hive plans for the statements of a folder of scripts with a baseline that is kept
// beside them in version control, so that a review sees a join whose strategy changes before it runs anywhere.
//
// Find lists the scripts, Read cuts one into statements with the settings and the database that hold for each, Run explains
// them (on a server, or from saved plans), Compare sets what came out against the Baseline, and the Report that it returns is
// written as text, Markdown, JUnit XML, SARIF or JSON. Only Find, Run and Saved do I/O; the rest are pure functions, whose
// output depends on nothing but their input.
package check
