// Package alias converts between strings and bytes without copying: the result shares the memory of
// the argument. Decoders use it, so that the values that they decode refer to the body or to the
// stored object. Only a caller that owns the bytes, or knows that they never change, may do so.
package alias

import "unsafe"

// String returns a string with the memory of b. The bytes must not change as long as the string or
// a part of it is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns a slice with the memory of s. Nobody may write to it.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
