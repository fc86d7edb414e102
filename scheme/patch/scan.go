package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// traits are what one pass over a value finds out about it.
type traits uint8

const (
	spaced  traits = 1 << iota // has white space between tokens
	escaped                    // has characters that encoding/json writes as \u escapes
	huge                       // has a number that may not fit a float64
)

// member is a key of an object and its value, both pointing into the object's bytes. A key with escapes is decoded
// into memory of its own.
type member struct {
	key    []byte
	value  []byte
	traits traits
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// trim removes white space around a value.
func trim(b []byte) []byte { return bytes.Trim(b, " \n\t\r") }

// scan walks over the value at b[i], which is not white space, and returns the index behind it. It reports false for
// anything that is not JSON, or is nested deeper than maxDepth.
func scan(b []byte, i, depth int, t *traits) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch c := b[i]; c {
	case '"':
		return scanString(b, i, t)
	case '{', '[':
		return scanContainer(b, i, depth, t)
	case 't':
		return scanLiteral(b, i, "true")
	case 'f':
		return scanLiteral(b, i, "false")
	case 'n':
		return scanLiteral(b, i, "null")
	default:
		return scanNumber(b, i, t)
	}
}

func scanContainer(b []byte, i, depth int, t *traits) (int, bool) {
	object := b[i] == '{'
	closing := b[i] + 2 // '}' and ']' stand two behind their openings
	if depth >= maxDepth {
		return i, false
	}
	i = next(b, i+1, t)
	if i < len(b) && b[i] == closing {
		return i + 1, true
	}
	for ok := false; ; {
		if object {
			if i >= len(b) || b[i] != '"' {
				return i, false
			}
			if i, ok = scanString(b, i, t); !ok {
				return i, false
			}
			if i = next(b, i, t); i >= len(b) || b[i] != ':' {
				return i, false
			}
			i = next(b, i+1, t)
		}
		if i, ok = scan(b, i, depth+1, t); !ok {
			return i, false
		}
		if i = next(b, i, t); i >= len(b) {
			return i, false
		}
		switch b[i] {
		case ',':
			i = next(b, i+1, t)
		case closing:
			return i + 1, true
		default:
			return i, false
		}
	}
}

// next is skipSpace that notes whether there was any.
func next(b []byte, i int, t *traits) int {
	if i < len(b) && b[i] <= ' ' {
		*t |= spaced
		return skipSpace(b, i)
	}
	return i
}

// plainByte holds the bytes that may stand in a string and need no second look.
var plainByte = func() (table [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] = true
	}
	for _, c := range `"\<>&` {
		table[c] = false
	}
	return table
}()

func scanString(b []byte, i int, t *traits) (int, bool) {
	for i++; i < len(b); i++ {
		if plainByte[b[i]] {
			continue
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			i++
			if i >= len(b) {
				return i, false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(b) || !isHex(b[i+1]) || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) {
					return i, false
				}
				i += 4
			default:
				return i, false
			}
		case c < 0x20:
			return i, false
		case c == 0xE2 || c < utf8.RuneSelf:
			*t |= escaped
		}
	}
	return i, false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func scanLiteral(b []byte, i int, literal string) (int, bool) {
	end := i + len(literal)
	return end, end <= len(b) && string(b[i:end]) == literal
}

func scanNumber(b []byte, i int, t *traits) (int, bool) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		*t |= huge
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	if i-start > 300 {
		*t |= huge
	}
	return i, true
}

// check returns the errors that kube-apiserver has for input that is no JSON, and for JSON with numbers beyond a
// float64, in the words of encoding/json. The good case costs one pass.
func check(input []byte) (syntax, number error) {
	var t traits
	end, ok := scan(input, skipSpace(input, 0), startDepth(len(input)), &t)
	ok = ok && skipSpace(input, end) == len(input)
	if ok && t&huge == 0 {
		return nil, nil
	}
	var v any
	err := json.Unmarshal(input, &v)
	switch {
	case ok:
		return nil, err
	case err == nil:
		err = errDepth
	}
	return err, nil
}

var errDepth = errors.New("exceeded max depth")

// members splits an object into members appended to into, sorted by key, the last one of equal keys only. It reports
// false if the bytes are not an object.
func members(object []byte, depth int, into []member) ([]member, bool) {
	into, ok := fields(object, depth, into)
	if !ok {
		return nil, false
	}
	return tidy(into), true
}

// fields splits an object into members appended to into, in the order and number that they have there.
func fields(object []byte, depth int, into []member) ([]member, bool) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return nil, false
	}
	i = skipSpace(object, i+1)
	if i < len(object) && object[i] == '}' {
		return into, skipSpace(object, i+1) == len(object)
	}
	for {
		var m member
		if i >= len(object) || object[i] != '"' {
			return nil, false
		}
		var kt, vt traits
		end, ok := scanString(object, i, &kt)
		if !ok {
			return nil, false
		}
		m.key = unquote(object[i:end])
		if i = skipSpace(object, end); i >= len(object) || object[i] != ':' {
			return nil, false
		}
		i = skipSpace(object, i+1)
		if end, ok = scan(object, i, depth+1, &vt); !ok {
			return nil, false
		}
		m.value, m.traits = object[i:end:end], vt
		into = append(into, m)
		if i = skipSpace(object, end); i >= len(object) {
			return nil, false
		}
		switch object[i] {
		case ',':
			i = skipSpace(object, i+1)
		case '}':
			return into, skipSpace(object, i+1) == len(object)
		default:
			return nil, false
		}
	}
}

// tidy sorts by key and keeps the last of equal keys.
func tidy(ms []member) []member {
	sorted := true
	for i := 1; i < len(ms); i++ {
		if bytes.Compare(ms[i-1].key, ms[i].key) >= 0 {
			sorted = false
			break
		}
	}
	if sorted {
		return ms
	}
	slices.SortStableFunc(ms, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	n := 0
	for i := range ms {
		if i+1 < len(ms) && bytes.Equal(ms[i].key, ms[i+1].key) {
			continue
		}
		ms[n] = ms[i]
		n++
	}
	return ms[:n]
}

// elements splits an array into values appended to into. It reports false if the bytes are not an array.
func elements(array []byte, depth int, into [][]byte) ([][]byte, bool) {
	i := skipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return nil, false
	}
	i = skipSpace(array, i+1)
	if i < len(array) && array[i] == ']' {
		return into, skipSpace(array, i+1) == len(array)
	}
	for {
		var t traits
		end, ok := scan(array, i, depth+1, &t)
		if !ok {
			return nil, false
		}
		into = append(into, array[i:end:end])
		if i = skipSpace(array, end); i >= len(array) {
			return nil, false
		}
		switch array[i] {
		case ',':
			i = skipSpace(array, i+1)
		case ']':
			return into, skipSpace(array, i+1) == len(array)
		default:
			return nil, false
		}
	}
}

// unquote decodes a string that scanString has accepted. The common case returns the bytes between the quotes.
func unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return inner
	}
	return []byte(s)
}

// appendQuoted appends a decoded string the way encoding/json writes it.
func appendQuoted(dst, s []byte) []byte {
	for _, c := range s {
		if !plainByte[c] {
			quoted, err := json.Marshal(string(s))
			if err != nil { // cannot be: strings always encode
				quoted = strconv.AppendQuote(nil, string(s))
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendValue appends a value that scan has accepted, compact and HTML-escaped.
func appendValue(dst, value []byte, t traits) []byte {
	if t&(spaced|escaped) == 0 {
		return append(dst, value...)
	}
	inString := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case !inString:
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				continue
			}
			inString = c == '"'
		case c == '"':
			inString = false
		case c == '\\':
			dst = append(dst, c)
			i++
			c = value[i]
		case c == '<' || c == '>' || c == '&':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			continue
		case c == 0xE2 && i+2 < len(value) && value[i+1] == 0x80 && value[i+2]&^1 == 0xA8:
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[value[i+2]&15])
			i += 2
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// isNull reports whether a value is null; it has no white space around it.
func isNull(value []byte) bool { return len(value) == 4 && value[0] == 'n' }
