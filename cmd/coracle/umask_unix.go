//go:build unix

package main

import "syscall"

// keepPrivate has everything that the process makes be for its owner alone. The server asks for
// that itself wherever it makes a file. Only the snapshots of the embedded etcd, which hold no
// objects and lie in a folder of mode 0700, are as open as the umask lets them be: etcd writes
// them, and asks nobody.
func keepPrivate() { syscall.Umask(0o077) }
