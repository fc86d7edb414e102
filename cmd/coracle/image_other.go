//go:build !linux

package main

// forgetStart does nothing: what of the program is in memory is up to the system.
func forgetStart() {}
