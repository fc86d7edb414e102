// Package alias has strings that share the memory of bytes, and bytes that share that of strings:
// what is decoded from a body or from a stored object refers to it instead of being copied.
package alias

import "unsafe"

// String returns a string that refers to b, which must not change while the string, or a part of
// it, is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns the bytes of s, which are not to be changed.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
