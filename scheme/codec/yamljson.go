package codec

import (
	"bytes"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// IsPlainYAML reports whether an object in well-formed JSON means the same when it is read as YAML.
// Reading it as JSON takes much less time, so router/apply.go asks before it parses an apply body
// as YAML. Some JSON means something else in YAML: tabs, the escapes \/ and \ud800 to \udfff, and
// keys of more than 1024 characters are errors there, and the float 1.0 becomes the integer 1. When
// in doubt IsPlainYAML returns false.
func IsPlainYAML(object []byte) bool {
	digits := 0
	for i := 0; i < len(object); {
		c := object[i]
		switch {
		case c == '"':
			end := jsontext.StringEnd(object, i)
			if !isPlainString(object[i:end]) || end-i > maxPlainKey && isKey(object[end:]) || isBroken(object[end:]) {
				return false
			}
			i, digits = end, 0
			continue
		case c >= '0' && c <= '9':
			if digits++; digits > maxPlainDigits || digits == 1 && c == '0' && i > 0 && object[i-1] == '-' {
				return false
			}
		case c == '\t', c == '.', digits > 0 && (c == 'e' || c == 'E'):
			return false
		default:
			digits = 0
		}
		i++
	}
	return true
}

const (
	maxPlainDigits = 18   // an integer of so many digits certainly fits 64 bits
	maxPlainKey    = 1000 // bytes; YAML allows keys of 1024 characters
)

// isPlainString reports whether a quoted string means the same in YAML.
func isPlainString(s []byte) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if s[i] == '/' || s[i] == 'u' && (s[i+1] == 'd' || s[i+1] == 'D') {
				return false
			}
		case c == 0x7f:
			return false
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(s[i:])
			if r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff ||
				r == utf8.RuneError && size == 1 {
				return false
			}
			i += size - 1
		}
	}
	return true
}

// isKey reports whether the text after a string makes the string the name of a member.
func isKey(rest []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(rest, " \n\r"), []byte(":")) }

// isBroken reports whether a line break separates a name from its colon, which YAML refuses.
func isBroken(rest []byte) bool {
	line := bytes.TrimLeft(rest, " ")
	return len(line) > 0 && (line[0] == '\n' || line[0] == '\r') && isKey(line)
}
