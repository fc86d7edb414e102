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

// Kind is the way in which a call failed. A Kind is itself an error, so that errors.Is(err,
// callout.TimedOut) works.
type Kind uint8

// The kinds of failure.
const (
	OK          Kind = iota // no failure
	Unreachable             // no response: no address, no connection, an invalid certificate, a broken connection
	TimedOut                // no complete response in time
	Canceled                // the caller's context was canceled
	Refused                 // the response has a status other than 2xx, which is in Error.Status
	Malformed               // the response has a status of 2xx, but its body is too large or cannot be decoded
)

// kindNames are the texts of the kinds, by Kind.
var kindNames = [...]string{"ok", "unreachable", "timeout", "canceled", "refused", "malformed"}

// Error returns the kind in one word, which is also its label in metrics.
func (k Kind) Error() string { return kindNames[k] }

// Error is the failure of a call.
type Error struct {
	Name       string // of the Client
	Address    string // scheme, host and path
	Kind       Kind
	Status     int           // the HTTP status of a Refused call, else 0
	RetryAfter time.Duration // the pause that a Refused response asks for, 0 if none
	Cut        bool          // a response with status 2xx came, but its body did not come completely
	Err        error         // the cause; nil if Refused
}

// Error returns the name, address, kind and cause of the failure.
func (e *Error) Error() string {
	if e.Kind == Refused {
		return fmt.Sprintf("callout %q to %s: %s: HTTP status %d %s", e.Name, e.Address, e.Kind.Error(), e.Status,
			http.StatusText(e.Status))
	}
	return fmt.Sprintf("callout %q to %s: %s: %v", e.Name, e.Address, e.Kind.Error(), e.Err)
}

// Is makes errors.Is(err, kind) true for the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err: OK for nil and for errors of other packages.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return OK
}

// These errors replace errors that would quote the response.
var (
	errNoHTTP = errors.New("the response is not valid HTTP")
	errValue  = errors.New("the response contains a value that cannot be decoded")
)

// decodeError returns the reason why a response cannot be decoded, without any part of the
// response.
func decodeError(err error) error {
	var syntax *json.SyntaxError // quotes one character at most
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &syntax):
		return err
	case errors.As(err, &typ):
		plain := *typ
		plain.Value, _, _ = strings.Cut(typ.Value, " ") // "number", without the number
		return &plain
	}
	return errValue // the error of a type's own UnmarshalJSON, which may quote the value
}

// connectionError returns the reason why there is no response, without any part of what the other
// end has sent.
func connectionError(err error) error {
	var broken *net.OpError
	var header textproto.ProtocolError
	switch {
	case errors.As(err, &broken), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &header), strings.HasPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken"),
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY"): // net/http exports no types for these
		return errNoHTTP
	}
	return err
}
