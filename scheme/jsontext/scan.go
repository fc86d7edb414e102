package jsontext

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meter"
)

// The Scanner: positions, numbers, and passing over values. Word, Number, Open and Quoted expect
// that Next has just returned the byte they begin with; all other methods skip white space first.
// string.go has strings, tree.go makes trees.

// Scanner reads the tokens of JSON and validates all that it passes over. After an error the
// position is undefined.
type Scanner struct {
	// Data is the input.
	Data []byte
	// Text is Data as a string that never changes. Decoded strings without escapes are substrings
	// of it.
	Text string
	// Pos is the index in Data of the next token, or of the white space before the next token.
	Pos int
	// Depth is the number of open arrays and objects.
	Depth int
	// Wide is set when a number was passed that may exceed a float64, Spaced when white space was
	// passed.
	Wide, Spaced bool

	// Options for Tree. Observer is told about keys and indices. Unique finds repeated keys.
	// Unsigned decodes integers from 1<<63 to 1<<64-1 as uint64. Literal leaves numbers Raw.
	Observer                  Observer
	Unique, Unsigned, Literal bool

	// meter counts the bytes passed. It is told at each element or member; counted is the position
	// at which it was told last.
	meter   *meter.Meter
	counted int
}

// NewScanner returns a Scanner of data. shared says that data never changes, so that decoded
// strings may refer to it. m, which may be nil, counts the bytes.
func NewScanner(data []byte, shared bool, m *meter.Meter) Scanner {
	s := Scanner{Data: data, meter: m}
	if shared {
		s.Text = alias.String(data)
	} else {
		s.Text = string(data)
	}
	return s
}

// Next skips white space and returns the next byte without consuming it, 0 at the end.
func (s *Scanner) Next() byte {
	if s.Pos < len(s.Data) && s.Data[s.Pos] > ' ' {
		return s.Data[s.Pos]
	}
	return s.space()
}

// space is the slow path of Next, which is small enough to be inlined: white space, the end of the
// input, or a malformed byte is next.
func (s *Scanner) space() byte {
	for ; s.Pos < len(s.Data); s.Pos++ {
		switch c := s.Data[s.Pos]; c {
		case ' ', '\n', '\t', '\r':
			s.Spaced = true
		default:
			return c
		}
	}
	return 0
}

// End returns an error unless only white space is left.
func (s *Scanner) End() error {
	s.Next()
	if s.Pos != len(s.Data) {
		return errSyntax
	}
	return nil
}

// Word consumes the given word, such as null.
func (s *Scanner) Word(word string) error {
	if len(s.Data)-s.Pos < len(word) || string(s.Data[s.Pos:s.Pos+len(word)]) != word {
		return errSyntax
	}
	s.Pos += len(word)
	return nil
}

// maxDigits is the length up to which a number without an exponent certainly fits a float64.
const maxDigits = 300

// Number consumes a number and returns where it began. integer says that the number has neither a
// fraction nor an exponent.
func (s *Scanner) Number() (start int, integer bool, err error) {
	data, i := s.Data, s.Pos
	start = i
	if data[i] == '-' {
		i++
	}
	switch {
	case i == len(data):
		return 0, false, errSyntax
	case data[i] == '0':
		i++
	case '1' <= data[i] && data[i] <= '9':
		i = digits(data, i)
	default:
		return 0, false, errSyntax
	}
	integer = true
	if i < len(data) && data[i] == '.' {
		integer = false
		from := i + 1
		if i = digits(data, from); i == from {
			return 0, false, errSyntax
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		integer, s.Wide = false, true
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		from := i
		if i = digits(data, from); i == from {
			return 0, false, errSyntax
		}
	}
	if i-start > maxDigits {
		s.Wide = true
	}
	s.Pos = i
	return start, integer, nil
}

// digits returns the index after the digits that begin at data[i].
func digits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// Atoi converts an integer of the grammar of JSON. ok is false if it does not fit an int64.
func Atoi(b []byte) (n int64, ok bool) {
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

// Atoi32 converts an integer of the grammar of JSON. It reports false if it does not fit an int32.
func Atoi32(b []byte) (int32, bool) {
	n, ok := Atoi(b)
	return int32(n), ok && n >= math.MinInt32 && n <= math.MaxInt32
}

// Open consumes the bracket that begins an array or object, and increments Depth.
func (s *Scanner) Open() error {
	s.Pos++
	if s.Depth++; s.Depth > MaxDepth {
		return errSyntax
	}
	return nil
}

// More is called before each element or member, and where the array or object may end. first says
// that no element came before. If an element follows, More consumes the comma before it and returns
// true. Otherwise it consumes the closing bracket and returns false.
func (s *Scanner) More(closing byte, first bool) (bool, error) {
	if s.meter != nil {
		if err := s.meter.Step(s.Pos - s.counted); err != nil {
			return false, err
		}
		s.counted = s.Pos
	}
	c := s.Next()
	switch {
	case c == closing:
		s.Pos++
		s.Depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.Pos++
		return true, nil
	}
	return false, errSyntax
}

// Key consumes a key of an object and the colon after it.
func (s *Scanner) Key() (string, error) {
	if s.Next() != '"' {
		return "", errSyntax
	}
	key, err := s.Str()
	if err != nil {
		return "", err
	}
	return key, s.Colon()
}

// Member is called before each member of an object, and where the object may end. first says that
// no member came before. If a member follows, Member consumes the comma, the key, which begins at
// index at, and the colon. Otherwise it consumes the closing bracket and more is false.
func (s *Scanner) Member(first bool) (key string, at int, more bool, err error) {
	if start, end, ok := s.closeKey(first); ok {
		return s.Text[start:end], start - 1, true, nil
	}
	if more, err = s.More('}', first); err != nil || !more {
		return "", 0, false, err
	}
	s.Next()
	at = s.Pos
	key, err = s.Key()
	return key, at, true, err
}

// closeKey is the fast path of Member, for a key in the form that servers write: a key of plain
// ASCII characters with no white space around it. For any other input it consumes nothing and
// returns false. It compares eight bytes at a time.
func (s *Scanner) closeKey(first bool) (start, end int, ok bool) {
	data, i := s.Data, s.Pos
	if s.meter != nil {
		return 0, 0, false
	}
	if !first {
		if i >= len(data) || data[i] != ',' {
			return 0, 0, false
		}
		i++
	}
	if i >= len(data) || data[i] != '"' {
		return 0, 0, false
	}
	i++
	for start = i; i+8 <= len(data); i += 8 {
		if marks := special(binary.LittleEndian.Uint64(data[i:])); marks != 0 {
			end = i + bits.TrailingZeros64(marks)/8
			if end+2 >= len(data) || data[end] != '"' || data[end+1] != ':' {
				return 0, 0, false
			}
			s.Pos = end + 2
			return start, end, true
		}
	}
	return 0, 0, false
}

// Colon consumes the colon after a key.
func (s *Scanner) Colon() error {
	if s.Next() != ':' {
		return errSyntax
	}
	s.Pos++
	return nil
}

// Skip consumes one value of any type.
func (s *Scanner) Skip() error {
	switch c := s.Next(); c {
	case '"':
		_, _, _, err := s.Quoted()
		return err
	case '{':
		return s.skipObject()
	case '[':
		return s.skipArray()
	case 'n':
		return s.Word("null")
	case 't':
		return s.Word("true")
	case 'f':
		return s.Word("false")
	case 0:
		return errSyntax
	default:
		_, _, err := s.Number()
		return err
	}
}

// skipArray consumes an array.
func (s *Scanner) skipArray() error {
	if err := s.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.More(']', first)
		if err != nil || !more {
			return err
		}
		if err := s.Skip(); err != nil {
			return err
		}
	}
}

// skipObject consumes an object.
func (s *Scanner) skipObject() error {
	if err := s.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		if _, _, ok := s.closeKey(first); !ok {
			more, err := s.More('}', first)
			if err != nil || !more {
				return err
			}
			if s.Next() != '"' {
				return errSyntax
			}
			if _, _, _, err := s.Quoted(); err != nil {
				return err
			}
			if err := s.Colon(); err != nil {
				return err
			}
		}
		if err := s.Skip(); err != nil {
			return err
		}
	}
}
