// Package jsontext reads and writes JSON as text and as trees, without Go types. Package scheme and
// those below it have no other JSON scanner, no other form of trees, and no other function that
// quotes strings, except the one for FieldsV1 in package apply, whose spelling differs.
//
// Words:
//   - A Scanner passes over the tokens of JSON and checks them. Decoders of types embed it and
//     know nothing about JSON but its tokens.
//   - A tree is decoded JSON: map[string]any, []any, string, bool, int64, float64 (numbers with
//     a fraction or exponent, or beyond int64) and nil. Packages patch and schema work on
//     trees.
//   - A lazy tree may also contain Raw values: the text of a value that nothing has read yet.
//     Numbers of a lazy tree are Raw, too.
//
// Laws:
//   - Malformed is what encoding/json calls malformed, including nesting deeper than MaxDepth. The
//     Scanner's errors have no details: to tell a client what is wrong, callers call SyntaxError,
//     which asks encoding/json. Decode does so itself.
//   - All Append functions write what encoding/json would write, with or without its escapes for
//     HTML (Style). AppendTree sorts the keys of objects; AppendRaw keeps their order.
//   - Nothing here panics on malformed input, except where a function demands well-formed
//     input.
//   - A Scanner with shared set, and RawOf, return strings that refer to the bytes they were
//     given; these must never change.
//
// A Scanner belongs to one goroutine. Everything else is a function of its arguments.
//
// Not here: Go types (codec), schemas (schema), merging (patch).
//
// Read: scan.go, string.go, tree.go, raw.go, quote.go, append.go.
package jsontext

import (
	"encoding/json"
	"errors"
)

// MaxDepth is how deeply arrays and objects may be nested, as in encoding/json.
const MaxDepth = 10000

// errSyntax says that the input is not JSON, without details.
var errSyntax = errors.New("jsontext: malformed JSON")

// SyntaxError returns the error of encoding/json for malformed JSON, nil if data is well-formed.
func SyntaxError(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}
