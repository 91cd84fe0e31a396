// Package app wires the parts into one running proxy: relay, pipeline, statistics, store. It owns the order in which they
// start and stop.
package app
