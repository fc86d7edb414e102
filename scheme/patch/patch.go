// Package patch applies the three JSON patch forms of the Kubernetes API to encoded objects: JSON
// patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch. All three take bytes and
// return bytes, without a Go value in between; the strategic form takes merge keys and strategies
// from the type's descriptor.
//
// Laws:
//
//   - Results, refusals and messages are those of kube-apiserver, including its deviations from
//     the RFCs: a replace of a missing key adds it, array indexes may be negative, numbers are
//     compared as text.
//   - Number literals are never rewritten.
//   - A patch that fails changes nothing. Neither the document nor the patch is written to.
//   - Objects that the patch touches come out with sorted keys. All others keep the order of
//     their keys, made compact and HTML-escaped as encoding/json does.
//   - Nesting, the number of operations and the bytes that copies add are bounded. The time is
//     proportional to the length of patch and document, times their nesting; a Meter, which may
//     be nil, counts it. No input makes this package panic.
//
// All functions may be called concurrently.
//
// Not here: decoding the result into a type, unknown fields (except of strategic merges), the
// checks of identity and version (the PATCH handler), and server-side apply.
//
// Reading order: patch.go, read.go, merge.go, json.go, strategic.go with tree.go, places.go and
// order.go; strict.go and fit.go (warnings of field validation).
package patch

import "github.com/coracle-project/coracle/scheme/jsontext"

// Limits. The first two are kube-apiserver's.
const (
	maxOperations = 10000   // of one JSON patch
	maxCopyBytes  = 3 << 20 // that the copy operations of one JSON patch may add together

	maxScan   = 256 << 20 // bytes: length times nesting, as what lies deep is scanned on each level above it
	maxShifts = 1 << 29   // elements that list operations of one JSON patch may move aside
)

// MaxWork is the budget, in steps, for one patch request, including all retries because the object
// has changed meanwhile. A patch of 3 MiB uses it up after about ten retries, a patch that nests as
// deep as maxScan allows after one or two.
const MaxWork = 1 << 29

// shiftsPerStep is how many list elements can be moved in the time of one step.
const shiftsPerStep = 8

// startDepth returns the depth at which the scan of an input begins: the longer the input, the less
// it may nest. 85 levels are left for 3 MiB, all levels for 25 KiB.
func startDepth(length int) int { return max(0, jsontext.MaxDepth-maxScan/max(length, 1)) }

// Kind says how a client is told that its patch was refused.
type Kind uint8

// The kinds of refusal.
const (
	// Malformed: the patch cannot be read. 400 BadRequest with the message.
	Malformed Kind = iota + 1
	// TooLarge: the patch has too many operations. 413 RequestEntityTooLarge with the message.
	TooLarge
	// Inapplicable: the patch is well-formed and does not fit the object. 422 without the message:
	// Kubernetes answers "the server rejected our request due to an error in our request" and empty
	// details.
	Inapplicable
	// Unmergeable: a strategic merge failed on the contents of the patch. 422 with the message
	// (kube-apiserver: 500).
	Unmergeable
)

// Code returns the HTTP status code of the kind.
func (k Kind) Code() int {
	switch k {
	case Malformed:
		return 400
	case TooLarge:
		return 413
	default:
		return 422
	}
}

// Error is the error type of this package. The only other error that functions return is that of
// the Meter.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message. For Inapplicable it is meant for logs only.
func (e *Error) Error() string { return e.Message }

func malformed(message string) error    { return &Error{Malformed, message} }
func inapplicable(message string) error { return &Error{Inapplicable, message} }
func unmergeable(message string) error  { return &Error{Unmergeable, message} }
