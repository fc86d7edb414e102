//go:build unix

package main

import "syscall"

// keepPrivate has everything that the process makes be for its owner alone. The server asks for that itself wherever it
// makes a file; the snapshots of the embedded etcd are as open as the umask lets them be.
func keepPrivate() { syscall.Umask(0o077) }
