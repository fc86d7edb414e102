package codec

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meter"
)

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10000

// errAgain ends a quick decoding that met anything unusual. It says nothing about what is wrong: the careful way, which
// decodes again, finds out and words the error.
var errAgain = errors.New("codec: decode carefully")

// scanner reads JSON tokens. It validates what it passes; a method that returns an error leaves the position undefined.
type scanner struct {
	data []byte
	// text is data as a string that never changes: decoded strings without escapes are parts of it.
	text  string
	pos   int
	depth int
	// meter counts the bytes passed; it is told at each element, and was last at counted.
	meter   *meter.Meter
	counted int
}

func newScanner(data []byte, shared bool, m *meter.Meter) scanner {
	s := scanner{data: data, meter: m}
	switch {
	case len(data) == 0:
	case shared:
		s.text = alias.String(data)
	default:
		s.text = string(data)
	}
	return s
}

// next skips white space and returns the byte that follows, without consuming it; 0 at the end.
func (s *scanner) next() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c > ' ' {
			return c
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.pos++
	}
	return 0
}

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	s.next()
	if s.pos != len(s.data) {
		return errAgain
	}
	return nil
}

// literal consumes a word such as null.
func (s *scanner) literal(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return errAgain
	}
	s.pos += len(word)
	return nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by high bits, bytes that end the quick scanning of a string: quotes, backslashes, control characters
// and anything outside ASCII. Bytes above the lowest mark may be marked wrongly.
func special(x uint64) uint64 {
	quote := x ^ (ones * '"')
	slash := x ^ (ones * '\\')
	return ((quote - ones) & ^quote) | ((slash - ones) & ^slash) | ((x - ones*0x20) & ^x) | x
}

// raw consumes a string, whose opening quote is next, and returns where its content begins and ends. plain says that
// the content is the string: no escapes and no invalid UTF-8.
func (s *scanner) raw() (start, end int, plain bool, err error) {
	i := s.pos + 1
	start = i
	plain = true
	ascii := true
	data := s.data
	for {
		// Eight bytes at a time, up to the first that matters.
		for i+8 <= len(data) {
			marks := special(binary.LittleEndian.Uint64(data[i:])) & highs
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return 0, 0, false, errAgain
		}
		switch c := data[i]; {
		case c == '"':
			if !ascii && plain {
				plain = utf8.Valid(data[start:i])
			}
			s.pos = i + 1
			return start, i, plain, nil
		case c == '\\':
			plain = false
			n := escapeLen(data[i:])
			if n == 0 {
				return 0, 0, false, errAgain
			}
			i += n
		case c < ' ':
			return 0, 0, false, errAgain
		case c >= utf8.RuneSelf:
			ascii = false
			i++
		default:
			i++
		}
	}
}

// escapeLen returns the length of the escape sequence at the start of b, 0 if it is malformed.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 returns the value of four hexadecimal digits, or -1.
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

// str consumes a string. It shares the scanner's text if it can.
func (s *scanner) str() (string, error) {
	start, end, plain, err := s.raw()
	if err != nil {
		return "", err
	}
	if plain {
		return s.text[start:end], nil
	}
	return string(unquote(s.data[start:end])), nil
}

// unquote resolves the escapes of a valid string content. Invalid UTF-8 and lone surrogates become U+FFFD.
func unquote(b []byte) []byte {
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

// unescape returns the rune that a valid escape sequence, or a pair of them, stands for, and its length in bytes.
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

// number consumes a number and returns where it began; integer says that it has neither fraction nor exponent.
func (s *scanner) number() (start int, integer bool, err error) {
	data, i := s.data, s.pos
	start = i
	if data[i] == '-' {
		i++
	}
	switch {
	case i == len(data):
		return 0, false, errAgain
	case data[i] == '0':
		i++
	case '1' <= data[i] && data[i] <= '9':
		i = digits(data, i)
	default:
		return 0, false, errAgain
	}
	integer = true
	if i < len(data) && data[i] == '.' {
		integer = false
		from := i + 1
		if i = digits(data, from); i == from {
			return 0, false, errAgain
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		integer = false
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		from := i
		if i = digits(data, from); i == from {
			return 0, false, errAgain
		}
	}
	s.pos = i
	return start, integer, nil
}

func digits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// atoi converts an integer of JSON's grammar; ok is false if it does not fit.
func atoi(b []byte) (n int64, ok bool) {
	digits := b
	if b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) > 18 {
		n, err := strconv.ParseInt(string(b), 10, 64)
		return n, err == nil
	}
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if b[0] == '-' {
		n = -n
	}
	return n, true
}

// atoi32 is atoi for 32 bits.
func atoi32(b []byte) (int32, bool) {
	n, ok := atoi(b)
	return int32(n), ok && n >= math.MinInt32 && n <= math.MaxInt32
}

// open consumes the bracket that begins an array or object and counts the depth.
func (s *scanner) open() error {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		return errAgain
	}
	return nil
}

// more is called where an element or the end of an array or object may stand: first says that none came before.
// It consumes a comma, or the closing bracket, in which case it returns false.
func (s *scanner) more(closing byte, first bool) (bool, error) {
	if s.meter != nil {
		if err := s.meter.Step(s.pos - s.counted); err != nil {
			return false, err
		}
		s.counted = s.pos
	}
	c := s.next()
	switch {
	case c == closing:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		s.next()
		return true, nil
	}
	return false, errAgain
}

// colon consumes the colon behind a key and the white space around it.
func (s *scanner) colon() error {
	if s.next() != ':' {
		return errAgain
	}
	s.pos++
	s.next()
	return nil
}

// skip consumes one value of any kind.
func (s *scanner) skip() error {
	switch c := s.next(); c {
	case '"':
		_, _, _, err := s.raw()
		return err
	case '{':
		return s.skipObject()
	case '[':
		return s.skipArray()
	case 'n':
		return s.literal("null")
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 0:
		return errAgain
	default:
		_, _, err := s.number()
		return err
	}
}

func (s *scanner) skipArray() error {
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(']', first)
		if err != nil || !more {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

func (s *scanner) skipObject() error {
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more('}', first)
		if err != nil || !more {
			return err
		}
		if s.next() != '"' {
			return errAgain
		}
		if _, _, _, err := s.raw(); err != nil {
			return err
		}
		if err := s.colon(); err != nil {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}
