package storage

import (
	"errors"
	"fmt"
)

// Kind says what a caller can do about an error. The set is closed. A Kind is itself an error, so
// that errors.Is(err, storage.Conflict) works.
type Kind uint8

// These are the kinds of errors.
const (
	NotFound Kind = iota + 1 // no such key
	Exists                   // the key exists and must not
	Conflict                 // the key is at another revision; Error.Rev is the winner
	// the history no longer has the revision; Error.Rev is the oldest revision that it has, 0 if
	// unknown
	Compacted
	Future      // the revision has not been reached; Error.Rev is the current one
	InDoubt     // the write may have been applied: read before retrying
	TooLarge    // the engine refuses a value of this size
	Unavailable // the engine cannot be reached; nothing was written
	Corrupt     // the stored value cannot be decrypted or decoded
	Closed      // the store or cursor has been closed
	NoLease     // the lease named by a Put has ended; nothing was written
	Fenced      // the fence does not hold; Error.Rev is its key's revision, 0 if there is no such key
)

var kindNames = [...]string{"", "not found", "already exists", "conflict", "compacted", "not reached yet",
	"outcome unknown", "value too large", "unavailable", "cannot be read", "closed", "lease has ended",
	"the fence has changed"}

// Error returns the kind in words.
func (k Kind) Error() string { return kindNames[k] }

// Error is the one error type of this package, its engines and wrappers.
type Error struct {
	Op   string // name of the method in lower case
	Key  string
	Kind Kind
	Rev  Revision // the revision to which Kind refers; 0 if none
	Err  error    // cause, may be nil
}

// Error returns the operation, the key, the kind, the revision and the cause as one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("storage: %s %q: %s", e.Op, e.Key, e.Kind.Error())
	if e.Rev != 0 {
		s += fmt.Sprintf(" (revision %d)", e.Rev)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes errors.Is(err, kind) true for the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, or 0 if it is no storage error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}
