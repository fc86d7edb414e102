package cache

import "unsafe"

// This file makes strings that share the memory of an object's bytes. All unsafe code of the
// package is here.

// offsetIn returns the offset of s in b if s is a part of b's memory, else false.
func offsetIn(b []byte, s string) (int, bool) {
	// An address below b wraps around to an offset beyond b, so one comparison is enough.
	off := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int(off), off < uintptr(len(b))
}

// aliasOf returns a string that shares the memory of b. The caller guarantees that b never changes.
func aliasOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
