package pipeline

import "strings"

// hasTransactions reports whether statements run in transactions (hive.txn.manager is DbTxnManager), by a session's settings.
//
// Such a session has one transaction manager for all its operations (SessionState.initTxnMgr), and Hive commits the implicit transaction
// that it finds open when any statement has ended, an EXPLAIN too (DriverTxnHandler.handleTransactionAfterExecution, DbTxnManager.
// isImplicitTransactionOpen; 4.0.1): an EXPLAIN of ours in a client's session would commit the client's statement in the middle of
// its writing. So there a query is explained in a session of our own.
func hasTransactions(settings map[string]string) bool {
	return strings.HasSuffix(strings.TrimSpace(settings["hive.txn.manager"]), ".DbTxnManager")
}
