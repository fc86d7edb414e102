//go:build unix

package main

import "syscall"

// setUmask sets the umask so that only the owner can read the files that the process makes. The
// server already asks for such modes wherever it makes a file. The umask is for files that
// libraries make, such as the snapshots of the embedded etcd; those hold no objects and are in a
// folder of mode 0700 anyway.
func setUmask() { syscall.Umask(0o077) }
