package callout

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind says how a call has failed. A Kind is itself an error, so that errors.Is(err, callout.TimedOut) works.
type Kind uint8

// The kinds of failure, and none.
const (
	OK          Kind = iota // no failure
	Unreachable             // there was no answer: no address, no connection, a bad certificate, a connection that broke
	TimedOut                // there was no whole answer in time
	Canceled                // the caller gave up
	Refused                 // the answer has an HTTP status other than 2xx, which is in Error.Status
	Malformed               // the answer has status 2xx and is too large, or not what the caller can read
)

var kindNames = [...]string{"ok", "unreachable", "timeout", "canceled", "refused", "malformed"}

// Error returns the kind in one word, which also serves as a label of metrics.
func (k Kind) Error() string { return kindNames[k] }

// Error is why a call has failed.
type Error struct {
	Name       string // of the Client
	Address    string // scheme, host and path
	Kind       Kind
	Status     int           // the HTTP status of a Refused call, else 0
	RetryAfter time.Duration // what a Refused answer asks the caller to wait, 0 if nothing
	Err        error         // cause; nil if Refused
}

// Error returns name, address, kind and cause.
func (e *Error) Error() string {
	if e.Kind == Refused {
		return fmt.Sprintf("callout %q to %s: %s: HTTP status %d %s", e.Name, e.Address, e.Kind.Error(), e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("callout %q to %s: %s: %v", e.Name, e.Address, e.Kind.Error(), e.Err)
}

// Is makes errors.Is(err, kind) true for the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err: OK for nil and for what is no error of this package.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return OK
}
