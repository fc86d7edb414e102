package callout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
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

// What is said instead of errors that quote the answer.
var (
	errNoHTTP = errors.New("the answer is not HTTP as it should be")
	errValue  = errors.New("the answer holds a value that cannot be read")
)

// unread returns why an answer cannot be decoded, without a word of it.
func unread(err error) error {
	var syntax *json.SyntaxError // shows a character
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &syntax):
		return err
	case errors.As(err, &typ):
		plain := *typ
		plain.Value, _, _ = strings.Cut(typ.Value, " ") // "number", without the number
		return &plain
	}
	return errValue // a type has a decoder of its own, and that an opinion
}

// unheard returns why there is no answer, without a word of what the other end has sent instead.
func unheard(err error) error {
	var broken *net.OpError
	var header textproto.ProtocolError
	switch {
	case errors.As(err, &broken), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &header), strings.HasPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken"),
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY"): // net/http has no types for these
		return errNoHTTP
	}
	return err
}
