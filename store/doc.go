// Package store keeps in Postgres what the proxy observes and reads it back: domain types in, domain types out. All
// SQL about our own tables lives here and in migrations.
//
// Open does not need the server to be up; every call has a deadline. Errors come in two classes that a caller treats
// differently: ErrUnavailable (keep the observation, try again) and ErrData (this row will never go in).
//
// Any number of proxies share one database. What is recorded is keyed by identifiers made when it was observed, so
// recording it again, from a spool or by another proxy, changes nothing; refreshes are claimed with a lease.
//
// Secrets never get here: a session handle's secret is not stored, values of settings that sound like secrets are
// replaced. Literals of statements are stored only with Options.KeepLiterals.
package store
