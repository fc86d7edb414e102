// Package volumes keeps claims, volumes and their classes from being deleted while something uses
// them.
//
// It guarantees that an object gets its finalizer as soon as it is seen, and loses it only after
// its users have been looked for and none has been found. A class keeps it while a claim or volume
// cannot be read.
//
// Read: protection.go, claimprotection.go.
package volumes
