package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/alias"
)

// Style says which characters of strings are escaped beside those that have to be.
type Style uint8

const (
	// HTML escapes what readers could take for HTML: <, > and &. So are objects of Go types written.
	HTML Style = iota
	// Plain escapes nothing else. So are objects without a Go type written.
	Plain
)

// escaped are the ASCII characters that do not stand for themselves in a string, of each Style.
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

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string, style Style) []byte {
	set := &escaped[style]
	dst = append(dst, '"')
	plain := 0 // from here on s stands as it is
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c < utf8.RuneSelf && !set[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		if n == 1 || c == '\u2028' || c == '\u2029' { // which JavaScript takes for the end of a line
			dst = appendEscape(append(dst, s[plain:i]...), c)
			plain = i + n
		}
		i += n
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

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

// AppendRaw appends a value that is well-formed without the white space between its tokens, and in the style HTML with its
// escapes. Strings and numbers are spelt as they are.
func AppendRaw(dst []byte, r Raw, style Style) []byte {
	data := alias.Bytes(string(r))
	plain := 0 // from here on data is still to be appended
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

// AppendValue is AppendRaw of the value of a member.
func (m *Member) AppendValue(dst []byte, style Style) []byte {
	if m.Spaced {
		return AppendRaw(dst, m.Value, style)
	}
	return appendCompact(dst, alias.Bytes(string(m.Value)), style)
}

// appendCompact appends a part of a value without white space between its tokens. What HTML escapes stands in strings
// only, so that nothing has to be known about where these begin and end.
func appendCompact(dst, data []byte, style Style) []byte {
	if style == Plain {
		return append(dst, data...)
	}
	plain := 0 // from here on data is still to be appended
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
		case c == 0xE2 && i+2 < len(data) && data[i+1] == 0x80 && data[i+2]&^1 == 0xA8: // U+2028 and U+2029
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

// specialHTML marks, like special, the bytes that appendCompact has to look at.
func specialHTML(x uint64) uint64 {
	angle := ((x | ones*('<'^'>')) ^ ones*('<'|'>')) - ones
	amp := (x ^ ones*'&') - ones
	line := x ^ ones*0xE2
	return ((angle|amp)&^x | (line-ones)&^line) & highs
}

// StringEnd returns the index behind the string that begins at data[i], or the length of data if it does not end.
func StringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(data))
}
