// Package limit says who may connect: how many connections there may be in all, from one address and of one user, and that an
// address whose logins HiveServer2 refuses too often has to wait.
//
// The order for a connection: [Limiter.Connect] when it is accepted; [Ticket.Move] when its real address is known (a PROXY
// header, X-Forwarded-For); [Ticket.Login] when HiveServer2 has accepted a login, not when the client claims a name, or
// strangers could use up a user's connections; [Ticket.LoginFailed] when HiveServer2 has refused one; [Ticket.Release] at its
// end. Everything is counted even where no limit is set, so that a limit set at run time counts the connections already there.
//
// Memory: a number for each address and user with a connection, and for refused logins a table of fixed size in which the
// address without one for the longest time is given up. The package starts no goroutine; one lock guards all of it and is never
// held across I/O.
package limit
