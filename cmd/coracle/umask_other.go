//go:build !unix

package main

// setUmask does nothing on systems without a umask.
func setUmask() {}
