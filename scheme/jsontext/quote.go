package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/alias"
)

// Quoting: strings as JSON, and well-formed JSON copied with the escapes that encoding/json would
// write. Encoders of all packages use it. Both scan eight bytes at a time, because most text needs
// no escape.

// Style says which characters of strings are escaped beside those that must be.
type Style uint8

const (
	// HTML escapes <, > and &, which a browser could take for HTML. Objects of Go types are written
	// in this style.
	HTML Style = iota
	// Plain escapes nothing else. Objects without a Go type are written in this style.
	Plain
)

// escaped holds, for each Style, the ASCII characters that must be escaped in a string.
var escaped = func() (sets [2][utf8.RuneSelf]bool) {
	for c := range ' ' {
		sets[HTML][c], sets[Plain][c] = true, true
	}
	for _, c := range `"\` {
		sets[HTML][c], sets[Plain][c] = true, true
	}
	for _, c := range `<>&` {
		sets[HTML][c] = true
	}
	return sets
}()

// AppendString appends s to dst as a JSON string. Bytes that are not UTF-8 become \ufffd.
func AppendString(dst []byte, s string, style Style) []byte {
	set := &escaped[style]
	dst = append(dst, '"')
	plain := 0 // s[plain:i] needs no escape and is not appended yet
	data := alias.Bytes(s)
	for i := 0; ; {
		for i+8 <= len(data) {
			x := binary.LittleEndian.Uint64(data[i:])
			marks := special(x)
			if style == HTML {
				marks |= specialHTML(x)
			}
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(s) {
			break
		}
		c, n := rune(s[i]), 1
		if c < utf8.RuneSelf && !set[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		// U+2028 and U+2029 end a line in JavaScript, so encoding/json escapes them.
		if n == 1 || c == '\u2028' || c == '\u2029' {
			dst = appendEscape(append(dst, s[plain:i]...), c)
			plain = i + n
		}
		i += n
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of one character: the short one if JSON has one, else \u and four
// digits.
func appendEscape(dst []byte, c rune) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', byte(c))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
}

// AppendRaw appends a well-formed value to dst without white space between its tokens. With style
// HTML it escapes what AppendString would escape. Strings and numbers keep their spelling
// otherwise.
func AppendRaw(dst []byte, r Raw, style Style) []byte {
	data := alias.Bytes(string(r))
	plain := 0 // data[plain:i] is not appended yet
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c <= ' ':
			dst = appendCompact(dst, data[plain:i], style)
			i++
			plain = i
		case c == '"':
			i = StringEnd(data, i)
		default:
			i++
		}
	}
	return appendCompact(dst, data[plain:], style)
}

// AppendValue appends the value of a member to dst, as AppendRaw does; it is faster if the value
// has no white space between its tokens.
func (m *Member) AppendValue(dst []byte, style Style) []byte {
	if m.Spaced {
		return AppendRaw(dst, m.Value, style)
	}
	return appendCompact(dst, alias.Bytes(string(m.Value)), style)
}

// appendCompact appends a part of a value that has no white space between its tokens. The
// characters that HTML escapes occur only in strings, so it need not know where strings begin and
// end.
func appendCompact(dst, data []byte, style Style) []byte {
	if style == Plain {
		return append(dst, data...)
	}
	plain := 0 // data[plain:i] is not appended yet
	for i := 0; ; {
		for i+8 <= len(data) {
			marks := specialHTML(binary.LittleEndian.Uint64(data[i:]))
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return append(dst, data[plain:]...)
		}
		n := 1
		switch c := data[i]; {
		case c == '<' || c == '>' || c == '&':
		case c == 0xE2 && i+2 < len(data) && data[i+1] == 0x80 && data[i+2]&^1 == 0xA8: // U+2028 or U+2029
			n = 3
		default:
			i++
			continue
		}
		c, _ := utf8.DecodeRune(data[i:])
		dst = appendEscape(append(dst, data[plain:i]...), c)
		i += n
		plain = i
	}
}

// specialHTML sets the high bit of each byte of x that appendCompact has to look at: <, > and &,
// and 0xE2, with which U+2028 and U+2029 begin. Only the lowest mark is reliable, as in special.
func specialHTML(x uint64) uint64 {
	angle := ((x | ones*('<'^'>')) ^ ones*('<'|'>')) - ones
	amp := (x ^ ones*'&') - ones
	line := x ^ ones*0xE2
	return ((angle|amp)&^x | (line-ones)&^line) & highs
}

// StringEnd returns the index after the string that begins at data[i], or the length of data if the
// string does not end.
func StringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(data))
}
