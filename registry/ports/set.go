package ports

import (
	"errors"
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"
)

// Errors of taking a port, in the words of kube-apiserver.
var (
	ErrAllocated = errors.New("provided port is already allocated")
	ErrFull      = errors.New("range is full")
)

// NotInRangeError is the error of taking a port outside of the range.
type NotInRangeError struct{ Span Span }

// Error returns kube-apiserver's text, which names the range.
func (e *NotInRangeError) Error() string {
	return "provided port is not in the valid range. The range of valid ports is " + e.Span.String()
}

// Set is the set of taken ports of a range. One goroutine at a time may use it.
type Set struct {
	span  Span
	taken big.Int // bit i is set if port span.Base+i is taken; BitLen <= span.Size
}

// NewSet returns an empty set.
func NewSet(span Span) *Set { return &Set{span: span} }

// newSet decodes the data of a record: a big-endian number. It drops bits outside of the range.
func newSet(span Span, data []byte) *Set {
	s := NewSet(span)
	s.taken.SetBytes(data)
	if s.taken.BitLen() > span.Size {
		one := big.NewInt(1)
		s.taken.And(&s.taken, one.Sub(one.Lsh(one, uint(span.Size)), big.NewInt(1)))
	}
	return s
}

func (s *Set) data() []byte { return s.taken.Bytes() }

func (s *Set) clone() *Set {
	c := NewSet(s.span)
	c.taken.Set(&s.taken)
	return c
}

func (s *Set) equal(other *Set) bool { return s.span == other.span && s.taken.Cmp(&other.taken) == 0 }

// Has reports whether a port is taken.
func (s *Set) Has(port int) bool { return s.span.Contains(port) && s.taken.Bit(port-s.span.Base) == 1 }

// Take takes a certain port. Errors: ErrAllocated, *NotInRangeError.
func (s *Set) Take(port int) error {
	switch {
	case !s.span.Contains(port):
		return &NotInRangeError{s.span}
	case s.Has(port):
		return ErrAllocated
	}
	s.taken.SetBit(&s.taken, port-s.span.Base, 1)
	return nil
}

// TakeNext takes a random free port. It takes one of the reserved low ports only if no other is
// free (see Span.reserved). Errors: ErrFull.
func (s *Set) TakeNext() (int, error) {
	low := s.span.reserved()
	for _, band := range []Span{{low, s.span.Size - low}, {0, low}} {
		if band.Size == 0 {
			continue
		}
		start := rand.IntN(band.Size)
		for i := range band.Size {
			bit := band.Base + (start+i)%band.Size
			if s.taken.Bit(bit) == 0 {
				s.taken.SetBit(&s.taken, bit, 1)
				return s.span.Base + bit, nil
			}
		}
	}
	return 0, ErrFull
}

// Release releases a port. It does nothing if the port is not taken or not in the range.
func (s *Set) Release(port int) {
	if s.Has(port) {
		s.taken.SetBit(&s.taken, port-s.span.Base, 0)
	}
}

// All yields the taken ports in ascending order.
func (s *Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for bit := range s.taken.BitLen() {
			if s.taken.Bit(bit) == 1 && !yield(s.span.Base+bit) {
				return
			}
		}
	}
}

// Span returns the range of the set.
func (s *Set) Span() Span { return s.span }

var errMismatch = errors.New("the provided range does not match the current range")

// errUninitialized refuses changes while there is no record: which ports services have is not known
// before the repair has written the record.
var errUninitialized = fmt.Errorf("cannot allocate resources of type %s at this time", Resource)
