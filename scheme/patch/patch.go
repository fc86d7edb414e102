// Package patch applies the three JSON patch forms of the Kubernetes API to encoded objects: JSON
// patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch. All three take bytes and
// return bytes, and never decode to a Go struct. Strategic merge patch takes merge keys and
// strategies from the descriptor of the Go type (scheme/typeinfo).
//
// Words: the document is the object that is patched. A lazy tree is JSON of which only the visited
// levels are decoded; raw is the text of a value that is not decoded (scheme/jsontext). A directive
// is a key of a strategic merge patch that begins with $. A Meter counts work, and ends it.
//
// Laws:
//
//   - Results, refusals and messages are those of kube-apiserver, including its deviations from
//     the RFCs: a replace of a missing key adds it, array indexes may be negative, numbers are
//     compared as text.
//   - Number literals are never rewritten: 1.0 stays 1.0.
//   - Neither the document nor the patch is written to, so a patch that fails changes nothing.
//   - Objects that the patch touches come out with sorted keys. All others keep the order of
//     their keys, made compact and HTML-escaped as encoding/json does.
//   - Nesting, the number of operations and the bytes that copies add are bounded. The time is
//     proportional to the length of patch and document, times their nesting. A Meter, which may be
//     nil, counts it. No input makes this package panic.
//
// All functions may be called at once; a Meter belongs to one call. Callers own all bytes that they
// pass and get.
//
// Not here: decoding the result into a type, its unknown fields (except after strategic merges),
// the checks of identity and resourceVersion (the PATCH handler), and server-side apply
// (scheme/apply).
//
// Reading order: patch.go, read.go, merge.go, json.go, strategic.go with tree.go, places.go and
// order.go; then field validation: strict.go and fit.go. diff.go goes the other way: it finds a
// JSON patch.
package patch

import "github.com/coracle-project/coracle/scheme/jsontext"

// The limits. maxOperations and maxCopyBytes are those of kube-apiserver.
const (
	maxOperations = 10000   // of one JSON patch
	maxCopyBytes  = 3 << 20 // that the copy operations of one JSON patch may add together

	// maxScan bounds the length of an input times its nesting, in bytes: a lazy tree scans a value
	// once for each level above it.
	maxScan = 256 << 20
	// maxShifts bounds the list elements that inserts and removals of one JSON patch may move.
	maxShifts = 1 << 29
)

// MaxWork is the budget of one patch request, in steps of a Meter. It includes the retries that
// follow when the object has changed meanwhile. A patch of 3 MiB uses it up after about ten
// retries; a patch that nests as deep as maxScan allows, after one or two.
const MaxWork = 1 << 29

// shiftsPerStep is the number of list elements that move in the time of one step, a nanosecond.
const shiftsPerStep = 8

// startDepth returns the depth from which the scan of an input counts, instead of 0. A scan ends at
// jsontext.MaxDepth, so a longer input may nest less: 3 MiB may have 85 levels, 25 KiB may have all
// levels up to MaxDepth.
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
	// Kubernetes answers "the server rejected our request due to an error in our request", without
	// details.
	Inapplicable
	// Unmergeable: a strategic merge failed on the contents of the patch. 422 with the message
	// (kube-apiserver: 500).
	Unmergeable
	// Untrue: a test operation of a JSON patch found another value. A client gets the same answer
	// as for Inapplicable.
	Untrue
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

// Error is the refusal of a patch. All errors of this package are of type *Error or come from the
// Meter.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message, in the words of kube-apiserver. Clients see the message of an
// Inapplicable error only if admission has made the patch.
func (e *Error) Error() string { return e.Message }

func malformed(message string) error    { return &Error{Malformed, message} }
func inapplicable(message string) error { return &Error{Inapplicable, message} }
func unmergeable(message string) error  { return &Error{Unmergeable, message} }
