// Package volumes keeps claims, volumes and their classes from being deleted while something uses
// them.
//
// It guarantees that an object has its finalizer before it is deleted, and loses it only after its
// users have been looked for and none has been found. Objects that cannot be read count as users
// where absence would be concluded.
//
// Read: protection.go, claimprotection.go.
package volumes
