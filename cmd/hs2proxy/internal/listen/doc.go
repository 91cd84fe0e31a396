// Package listen opens the port that clients connect to. With SO_REUSEPORT two processes may hold it at a time, so that a new
// version takes over from an old one without a refused connection.
package listen
