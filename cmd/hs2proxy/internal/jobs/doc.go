// Package jobs dispatches refreshes over all proxies on one Postgres with River (github.com/riverqueue/river), a job queue on Postgres that
// is maintained: unique jobs, retries with back-off, timeouts, rescue and the election of a leader are its.
//
// The table hs2proxy.refreshes stays the record of what was asked for and what became of it. A job is only an occasion to make one
// attempt: which refresh that is, the claim decides (store.ClaimRefresh) at the moment the job starts, since the order changes while jobs
// wait, with every statement seen and every person's word. River's four priorities, given when a job is inserted, could not express it.
// So there are as many jobs as attempts to be made, one that finds nothing left ends, and one too many does no harm.
package jobs
