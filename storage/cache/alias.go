package cache

import "unsafe"

// Strings that share the memory of the bytes of an object. Like all that is unsafe here, they are made in this file only.

// offsetIn returns where in b the string s lies; false if it lies elsewhere.
func offsetIn(b []byte, s string) (int, bool) {
	// Elsewhere gives an offset beyond b: a smaller address wraps around.
	off := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int(off), off < uintptr(len(b))
}

// aliasOf returns a string that refers to b, which never changes.
func aliasOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
