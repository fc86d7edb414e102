// Package reload takes configuration files up again when they change, and tells in metrics which
// one is in force.
//
// Guarantees: content that failed for good is not tried again until the file changes; content that
// failed for now is tried again every CheckEvery; between two looks a file costs one stat.
//
// A Value is read again by those who use it, instead of a loop.
//
// Not here: what a file means. Read: file.go, value.go, metrics.go.
package reload
