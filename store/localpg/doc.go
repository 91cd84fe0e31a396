// Package localpg runs a PostgreSQL of our own on a free port of the loopback interface: the default database of
// the demo and of the tests. It is no choice for production.
//
// The server is kept by a second process, the keeper: this executable run again under another argv[0]. The keeper
// holds the server for as long as its standard input stays open, so the server ends with the process that wanted it,
// however that one dies. PostgreSQL refuses to run as root; started by root, the keeper runs as uid 65534.
//
// The binaries (about 15 MB, io.zonky.test.postgres on Maven Central) are fetched once and kept unpacked, with a
// checksum, in the user's cache folder. The keeper cannot read root's cache, so they are copied to and from its folder.
package localpg
