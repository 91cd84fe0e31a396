// Package localhive runs one real HiveServer2 on this machine, for the demo and for end-to-end tests: a single
// Java process with Hive on Tez in local mode and the metastore in an embedded Derby database. It needs Java 17 to 21
// and, once, Maven, which fetches the jars into a folder of the user's cache. Hive is 4.0.1, 3.1.3 or 2.3.9
// (Options.Release); for the older two a launcher is compiled once, and a class of Hive 3's that no Java after 8 can load.
//
// The server is a child of this process. It ends with Stop; on Linux also when this process dies in any other way,
// and elsewhere the next Start in the same folder ends what was left over.
//
// All its sessions share one Tez, which runs one query at a time; statements without tasks (DDL, EXPLAIN) do not wait.
// A cancelled query ends at once for its client, but a task of it that already runs does so to its end, and the next
// query waits for it.
//
// ACID tables and locks take Options.Transactions. What such a server cannot do: Kerberos without a KDC of the caller's, and running
// tasks under LLAP. Plans as under LLAP work: SET hive.execution.mode=llap, hive.llap.execution.mode=all and, for a cluster of a
// known size, hive.llap.daemon.service.hosts=h1,h2,… in the session.
package localhive
