package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Strings of JSON: finding their end (Quoted) and resolving their escapes (Unquote).

// Constants for tests of eight bytes at once: 1 in each byte, and the high bit of each byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the high bit of each byte of x that ends the fast scan of a string: quotes,
// backslashes, control characters and all bytes outside of ASCII. Only the lowest mark is reliable:
// a subtraction may borrow from the bytes above it. The first test exchanges '"' with ' ', so that
// one comparison finds quotes and control characters.
func special(x uint64) uint64 {
	quote := (x ^ ones*('"'^' ')) - ones*(' '+1)
	slash := (x ^ ones*'\\') - ones
	return (quote | slash | x) & highs
}

// Quoted consumes a string, whose opening quote is the next byte, and returns the range of its
// content. plain says that the content is the string: it has no escapes and is valid UTF-8.
func (s *Scanner) Quoted() (start, end int, plain bool, err error) {
	i := s.Pos + 1
	start = i
	plain = true
	ascii := true
	data := s.Data
	for {
		// Skip eight bytes at a time up to the first special one.
		for i+8 <= len(data) {
			marks := special(binary.LittleEndian.Uint64(data[i:]))
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return 0, 0, false, errSyntax
		}
		switch c := data[i]; {
		case c == '"':
			if !ascii && plain {
				plain = utf8.Valid(data[start:i])
			}
			s.Pos = i + 1
			return start, i, plain, nil
		case c == '\\':
			plain = false
			if i = escapes(data, i); i < 0 {
				return 0, 0, false, errSyntax
			}
		case c < ' ':
			return 0, 0, false, errSyntax
		case c >= utf8.RuneSelf:
			ascii = false
			i++
		default:
			i++
		}
	}
}

// escapes returns the index after the escape at data[i] and all escapes that follow within a few
// bytes, -1 if one is malformed. Where one character is escaped, others often are, and for these a
// loop over bytes is faster than to return to the scan of eight bytes.
func escapes(data []byte, i int) int {
	for i < len(data) && data[i] == '\\' {
		switch {
		case i+1 < len(data) && shortEscape[data[i+1]]:
			i += 2
		case i+6 <= len(data) && data[i+1] == 'u' && hex4(data[i+2:]) >= 0:
			i += 6
		default:
			return -1
		}
		for near := min(i+8, len(data)); i < near && ordinary[data[i]]; {
			i++
		}
	}
	return i
}

// ordinary are the ASCII bytes of a string that stand for themselves.
var ordinary = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// shortEscape are the characters that may follow a backslash, except u.
var shortEscape = func() (set [256]bool) {
	for _, c := range `"\/bfnrt` {
		set[c] = true
	}
	return set
}()

// hex4 returns the value of four hexadecimal digits, -1 if one is no digit.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Str consumes a string and returns its value, which is a substring of Text if the string is plain.
func (s *Scanner) Str() (string, error) {
	start, end, plain, err := s.Quoted()
	if err != nil {
		return "", err
	}
	if plain {
		return s.Text[start:end], nil
	}
	return string(Unquote(s.Data[start:end])), nil
}

// Unquote resolves the escapes in the content of a valid string. Invalid UTF-8 and lone surrogates
// become U+FFFD, as in encoding/json.
func Unquote(b []byte) []byte {
	out := make([]byte, 0, len(b)+2*utf8.UTFMax)
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c == '\\':
			r, n := unescape(b[i:])
			out = utf8.AppendRune(out, r)
			i += n
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return out
}

// unescape returns the rune that a valid escape, or a pair of escapes of surrogates, stands for,
// and its length in bytes.
func unescape(b []byte) (rune, int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := hex4(b[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(b[8:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return rune(b[1]), 2
}
