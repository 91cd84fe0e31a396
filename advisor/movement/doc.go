// Package movement compares the ways to bring the rows of a join together: copy one side to every node, distribute both by the key,
// move one side to where the other already lies, or move nothing. It counts bytes, by the planner's estimates, and judges the planner's
// choice by them.
package movement
