package jsontext

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meter"
)

// Scanner reads JSON tokens. It validates what it passes; a method that returns an error leaves the position undefined.
type Scanner struct {
	Data []byte
	// Text is Data as a string that never changes: decoded strings without escapes are parts of it.
	Text string
	// Pos is where in Data the next token begins, or the white space before it.
	Pos int
	// Depth is how many arrays and objects are open.
	Depth int
	// Wide says that a number was passed that may be beyond a float64, Spaced that white space was.
	Wide, Spaced bool

	// What Tree does with a tree. Observer is told about it. Unique has it look for repeated keys, Unsigned keep integers
	// between 1<<63 and 1<<64 as uint64, and Literal keep numbers Raw.
	Observer                  Observer
	Unique, Unsigned, Literal bool

	// meter counts the bytes passed; it is told at each element, and was last at counted.
	meter   *meter.Meter
	counted int
}

// NewScanner returns a Scanner of data. shared says that data never changes and may be part of what is decoded. The Meter,
// which may be nil, counts the bytes.
func NewScanner(data []byte, shared bool, m *meter.Meter) Scanner {
	s := Scanner{Data: data, meter: m}
	if shared {
		s.Text = alias.String(data)
	} else {
		s.Text = string(data)
	}
	return s
}

// Next skips white space and returns the byte that follows, without consuming it; 0 at the end.
func (s *Scanner) Next() byte {
	if s.Pos < len(s.Data) && s.Data[s.Pos] > ' ' {
		return s.Data[s.Pos]
	}
	return s.space()
}

// space is Next where white space, the end or something malformed is next.
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

// End checks that nothing but white space is left.
func (s *Scanner) End() error {
	s.Next()
	if s.Pos != len(s.Data) {
		return errSyntax
	}
	return nil
}

// Word consumes a word such as null.
func (s *Scanner) Word(word string) error {
	if len(s.Data)-s.Pos < len(word) || string(s.Data[s.Pos:s.Pos+len(word)]) != word {
		return errSyntax
	}
	s.Pos += len(word)
	return nil
}

// maxDigits is how long a number without an exponent may be to fit a float64 for sure.
const maxDigits = 300

// Number consumes a number and returns where it began; integer says that it has neither fraction nor exponent.
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

func digits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// Atoi converts an integer of JSON's grammar; ok is false if it does not fit.
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

// Atoi32 is Atoi for 32 bits.
func Atoi32(b []byte) (int32, bool) {
	n, ok := Atoi(b)
	return int32(n), ok && n >= math.MinInt32 && n <= math.MaxInt32
}

// Open consumes the bracket that begins an array or object and counts the depth.
func (s *Scanner) Open() error {
	s.Pos++
	if s.Depth++; s.Depth > MaxDepth {
		return errSyntax
	}
	return nil
}

// More is called where an element or the end of an array or object may stand: first says that none came before.
// It consumes a comma, or the closing bracket, in which case it returns false.
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

// Key consumes the key of a member and the colon behind it.
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

// Member is called where a member of an object may stand, or its end: first says that none came
// before. It consumes the comma before the member, its key, which begins at at, and the colon, or
// the closing bracket, in which case it returns false.
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

// closeKey is Member for a key as servers write it: of plain characters, and without white space
// around it. Of any other it consumes nothing and returns false.
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

// Colon consumes the colon behind a key.
func (s *Scanner) Colon() error {
	if s.Next() != ':' {
		return errSyntax
	}
	s.Pos++
	return nil
}

// Skip consumes one value of any kind.
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
