// Package config is hs2proxy's configuration: one struct, read from YAML and the environment, checked once at the start.
// No other package reads the environment.
package config
