// Package spool keeps records on disk while Postgres is away: a bounded queue in append-only segment files, which survives
// restarts and kill −9.
//
// A folder belongs to one process (a lock file says so). It holds segments, named after the number of their first record,
// and "front", which remembers the oldest record not yet replayed. Records are numbered without gaps. An append is on disk
// (fsync) when it returns. What a crash may leave:
//
//   - a torn record at the end of the last segment: found by length and checksum, cut at the next start;
//   - a front that is one record old, when the crash came between the store's commit and the front's move: that record is
//     replayed twice, which the store takes for one (it is an upsert by identifier). After a power failure the front may be
//     up to syncEvery records old.
//
// When the bound is reached the oldest segment goes, and its records are counted as dropped. Oldest, not newest: each
// observation of a statement holds everything the earlier ones of it said, so the oldest are those most likely to be
// superseded by one behind them, while refusing the newest would leave statements RUNNING for ever.
package spool
