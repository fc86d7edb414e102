//go:build !linux

package main

// forgetStart does nothing: on other systems the kernel decides which pages of the program stay in
// memory.
func forgetStart() {}
