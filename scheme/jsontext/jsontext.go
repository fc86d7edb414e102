// Package jsontext reads and writes JSON as text and as trees, without Go types. It is the only scanner, the only form of
// trees and the only maker of quoted strings of the room.
//
// Three things are here:
//
//   - a Scanner passes over tokens and checks them. Decoders of types embed it, and know no more of JSON than its tokens;
//   - a tree is decoded JSON: map[string]any, []any, string, bool, int64, float64 (numbers with a fraction or exponent, or
//     beyond int64) and nil. In a lazy one a value may also be Raw: text that nothing has looked into yet, and of a number
//     its literal;
//   - what is appended reads as if encoding/json had written it, with its escapes and the keys of objects sorted.
//
// What is malformed here is what is malformed to encoding/json, nesting of more than MaxDepth included. The Scanner does not
// say what is wrong: SyntaxError, Decode and whoever else has to tell a client ask encoding/json for the words then.
//
// Nothing here panics on bad input. Text that is shared with bytes (NewScanner, RawOf) is for bytes that never change.
//
// Not here: Go types (codec), schemas (schema), merging (patch).
//
// Reading order: scan.go, string.go, tree.go, raw.go, quote.go, append.go.
package jsontext

import (
	"encoding/json"
	"errors"
)

// MaxDepth is how deep arrays and objects may nest, as in encoding/json.
const MaxDepth = 10000

// errSyntax is returned for what is no JSON.
var errSyntax = errors.New("jsontext: malformed JSON")

// SyntaxError returns the error that encoding/json has for malformed JSON, nil if there is nothing wrong.
func SyntaxError(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}
