// Package localzk runs one real ZooKeeper on this machine, from the jars of Hive that package localhive fetches. It is for tests
// of service discovery; nothing of it is part of the hs2proxy program.
//
// The server is a child of this process, keeps its data in a folder of the caller's and ends with Kill; on Linux also when this
// process dies in any other way.
package localzk
