// Package localkdc runs a real MIT Kerberos KDC on this machine for tests: a realm of its own in one folder, on free ports
// of 127.0.0.1, without root. It needs the programs of the packages krb5-kdc and krb5-admin-server.
//
// The KDC is a child of this process and ends with Stop; on Linux also when this process dies in any other way.
package localkdc
