package jsonpath

import (
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// maxValues is how many values a search may come upon.
const maxValues = 1 << 20

var errTooMany = errors.New("the path leads to too many values")

// search is one use of a path.
type search struct {
	left int // of maxValues
}

// run takes the steps of a part. With an error it returns what the step that failed has returned.
func (s *search) run(p part, values []any) ([]any, error) {
	for _, step := range p {
		var err error
		if values, err = step.walk(s, values); err != nil {
			return values, err
		}
		if s.left -= len(values) + 1; s.left < 0 {
			return nil, errTooMany
		}
	}
	return values, nil
}

// text is what stands in the template, whatever the values are.
type text string

func (t text) walk(*search, []any) ([]any, error) { return []any{string(t)}, nil }

// literal is a number or a truth value; there is one for each value that it stands behind.
type literal struct{ value any }

func (l literal) walk(_ *search, in []any) ([]any, error) {
	out := make([]any, len(in))
	for i := range out {
		out[i] = l.value
	}
	return out, nil
}

// word is an identifier.
type word string

func (w word) walk(_ *search, in []any) ([]any, error) {
	return in, fmt.Errorf("unrecognized identifier %s", string(w))
}

// name is a field of objects.
type name string

func (n name) walk(_ *search, in []any) ([]any, error) {
	out := make([]any, 0, len(in))
	for _, v := range in {
		if object, ok := v.(map[string]any); ok {
			if held, ok := object[string(n)]; ok {
				out = append(out, held)
			}
		}
	}
	return out, nil
}

// wildcard is all that values hold.
type wildcard struct{}

func (wildcard) walk(_ *search, in []any) ([]any, error) {
	var out []any
	for _, v := range in {
		out = append(out, held(v)...)
	}
	return out, nil
}

// held returns what a value holds: the fields of an object, the elements of a list, the bytes of a text.
func held(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		out := make([]any, 0, len(v))
		for _, key := range jsontext.Keys(v) {
			out = append(out, v[key])
		}
		return out
	case []any:
		return v
	case string:
		out := make([]any, len(v))
		for i := range out {
			out[i] = v[i]
		}
		return out
	}
	return nil
}

// descent is the values, and all below them, that hold something.
type descent struct{}

func (d descent) walk(s *search, in []any) ([]any, error) {
	var out []any
	for _, v := range in {
		below := held(v)
		if len(below) == 0 {
			continue
		}
		if s.left -= len(below); s.left < 0 {
			return nil, errTooMany
		}
		deeper, err := d.walk(s, below)
		if err != nil {
			return nil, err
		}
		out = append(append(out, v), deeper...)
	}
	return out, nil
}

// slice is some of the elements of lists.
type slice struct {
	from, to, step *int // nil: the first, all, one
	// single: there is no to in the template, and it is the element at from alone.
	single bool
}

func (sl slice) walk(_ *search, in []any) ([]any, error) {
	var out []any
	for _, v := range in {
		if v == nil {
			continue
		}
		list, ok := v.([]any)
		if !ok {
			return in, fmt.Errorf("%T is not array or slice", v)
		}
		from, to, err := sl.bounds(len(list))
		if err != nil {
			return in, err
		}
		if from == to { // none of this list, and of those behind it
			return out, nil
		}
		step := 1
		if sl.step != nil {
			if step = *sl.step; step <= 0 {
				return in, errors.New("step must be > 0")
			}
		}
		for i := from; i < to; {
			out = append(out, list[i])
			if step > to-i {
				break
			}
			i += step
		}
	}
	return out, nil
}

// bounds are those of the slice in a list of a length; negative ones count from its end.
func (sl slice) bounds(length int) (from, to int, err error) {
	if sl.from != nil {
		from = *sl.from
	}
	switch {
	case sl.single:
		to = from + 1
	case sl.to != nil:
		to = *sl.to
	default:
		to = length
	}
	if to < 0 || to == 0 && sl.single {
		to += length
	}
	if from < 0 {
		from += length
	}
	switch {
	case from == to:
		return from, to, nil
	case from < 0 || from >= length:
		return 0, 0, fmt.Errorf("array index out of bounds: index %d, length %d", from, length)
	case to < 0 || to > length:
		return 0, 0, fmt.Errorf("array index out of bounds: index %d, length %d", to-1, length)
	case from > to:
		return 0, 0, fmt.Errorf("starting index %d is greater than ending index %d", from, to)
	}
	return from, to, nil
}

// union is what several chains of steps lead to.
type union []part

func (u union) walk(s *search, in []any) ([]any, error) {
	var out []any
	for _, p := range u {
		values, err := s.run(p, in)
		if err != nil {
			return in, err
		}
		out = append(out, values...)
	}
	return out, nil
}

// filter is the elements of lists for which a condition holds: that left is there, or compares to right.
type filter struct {
	left, right part
	operator    string // "": left is there
}

func (f filter) walk(s *search, in []any) ([]any, error) {
	var out []any
	for _, v := range in {
		list, ok := v.([]any)
		if !ok {
			return in, fmt.Errorf("%v is not array or slice and cannot be filtered", v)
		}
		for _, element := range list {
			ok, err := f.holds(s, element)
			if err != nil {
				return in, err
			}
			if ok {
				out = append(out, element)
			}
		}
	}
	return out, nil
}

func (f filter) holds(s *search, element any) (bool, error) {
	self := []any{element}
	left, err := s.run(f.left, self)
	switch {
	case s.left < 0:
		return false, errTooMany
	case f.operator == "": // with an error, what the failing step began with is taken for being there
		return len(left) > 0, nil
	}
	if err != nil || len(left) == 0 {
		return false, err
	}
	if len(left) > 1 {
		return false, errManyCompared
	}
	right, err := s.run(f.right, self)
	if err != nil || len(right) == 0 {
		return false, err
	}
	if len(right) > 1 {
		return false, errManyCompared
	}
	return compare(left[0], f.operator, right[0])
}

var errManyCompared = errors.New("can only compare one element at a time")
