// Package patch applies the three JSON patch forms of the Kubernetes API to encoded objects: JSON patch (RFC 6902),
// JSON merge patch (RFC 7386) and strategic merge patch. All three go from bytes to bytes and need no Go type; the
// strategic form takes merge keys and strategies from the type's descriptor.
//
// What it guarantees: results, refusals and messages are those of kube-apiserver, including its deviations from the
// RFCs (a replace of a missing key adds it, array indices may be negative, numbers are compared as text). Number
// literals are never rewritten. A patch that fails changes nothing. Objects that the patch touches come out with
// sorted keys, all others byte for byte as they went in, made compact and HTML-escaped like encoding/json does.
// Nesting, operations and what copies may add are bounded. A patch takes a time proportional to its length and that of the
// document, times their nesting; a Meter, which may be nil, counts it. Nothing here panics on bad input, and neither the document
// nor the patch is written to. All functions may be called at once.
//
// Not here: decoding the result into a type, its unknown fields but for strategic merges, the checks on identity and version
// (the PATCH handler), and server-side apply.
//
// Reading order: patch.go, read.go, merge.go, json.go, strategic.go with tree.go, places.go and order.go, strict.go and
// fit.go (what else a client is told).
package patch

import "github.com/coracle-project/coracle/scheme/jsontext"

// Limits. The first two are kube-apiserver's.
const (
	maxOperations = 10000   // of one JSON patch
	maxCopyBytes  = 3 << 20 // that the copy operations of one JSON patch may add together

	maxScan   = 256 << 20 // bytes: length times nesting, as what lies deep is scanned on each level above it
	maxShifts = 1 << 29   // elements that list operations of one JSON patch may move aside
)

// MaxWork is the budget, in steps, for all that is done about one patch request, however often the patch is applied anew
// because the object has changed meanwhile. A patch of 3 MiB reaches it after some ten times, one that nests as much as
// maxScan lets it after one or two, a usual one never.
const MaxWork = 1 << 29

// shiftsPerStep is how many elements a list moves aside in the time of a step.
const shiftsPerStep = 8

// startDepth is the depth at which the scan of an input of some length begins: the longer it is, the less it may nest.
// With 3 MiB that are 85 levels, with 25 KiB all of them.
func startDepth(length int) int { return max(0, jsontext.MaxDepth-maxScan/max(length, 1)) }

// Kind says how a client is told that its patch was refused.
type Kind uint8

// The kinds of refusal.
const (
	// Malformed: the patch cannot be read. 400 BadRequest with the message.
	Malformed Kind = iota + 1
	// TooLarge: the patch has too many operations. 413 RequestEntityTooLarge with the message.
	TooLarge
	// Inapplicable: the patch is well-formed and does not fit the object. 422 without the message: Kubernetes answers
	// "the server rejected our request due to an error in our request" and empty details.
	Inapplicable
	// Unmergeable: a strategic merge failed on the contents of the patch. 422 with the message (kube-apiserver: 500).
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

// Error is the only error type of this package. Beside it there is the error of the Meter.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message, for Inapplicable the one that is meant for logs.
func (e *Error) Error() string { return e.Message }

func malformed(message string) error    { return &Error{Malformed, message} }
func inapplicable(message string) error { return &Error{Inapplicable, message} }
func unmergeable(message string) error  { return &Error{Unmergeable, message} }
