//go:build !unix

package main

// keepPrivate does nothing on systems without a umask.
func keepPrivate() {}
