package jsonpath

import (
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Running a path: each type of step has a walk method, which turns a list of values into the list
// of values that the step finds in them. Path.Find calls search.run for each part.

// maxValues is the largest number of values that one search may visit.
const maxValues = 1 << 17

// errTooMany ends a search that visits more than maxValues.
var errTooMany = errors.New("the path leads to too many values")

// search is one run of a path.
type search struct {
	left int // how many of maxValues are left
}

// run takes the steps of a part, one after the other, beginning with values. If a step fails, it
// returns the error together with the values that the step returned.
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

// text is text of the template. It yields itself whatever the values are.
type text string

// walk yields the text once, however many values there are.
func (t text) walk(*search, []any) ([]any, error) { return []any{string(t)}, nil }

// literal is a number or a boolean. It yields itself once for each value.
type literal struct{ value any }

// walk yields the literal as often as there are input values.
func (l literal) walk(_ *search, in []any) ([]any, error) {
	out := make([]any, len(in))
	for i := range out {
		out[i] = l.value
	}
	return out, nil
}

// word is an identifier that is neither true nor false. It is always an error.
type word string

// walk fails, also for range and end, which kubectl would run.
func (w word) walk(_ *search, in []any) ([]any, error) {
	return in, fmt.Errorf("unrecognized identifier %s", string(w))
}

// name yields the field of that name of each object. Values without the field yield nothing.
type name string

// walk yields field n of each object in the input: .spec of {"spec":1} is 1.
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

// wildcard yields everything that the values contain.
type wildcard struct{}

// walk yields the content of each input value: .* of {"a":1,"b":2} is 1 and 2.
func (wildcard) walk(_ *search, in []any) ([]any, error) {
	var out []any
	for _, v := range in {
		out = append(out, held(v)...)
	}
	return out, nil
}

// held returns what a value contains: the fields of an object in the order of their names, the
// elements of a list, the bytes of a string.
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

// descent is "..": it yields the values, and all values in them at any depth, that contain
// something.
type descent struct{}

// walk yields containers only: ..name then takes the field of each container, which is how a
// descent finds a name at any depth.
func (descent) walk(s *search, in []any) ([]any, error) {
	var out []any
	s.descend(in, &out)
	if s.left < 0 {
		return nil, errTooMany
	}
	return out, nil
}

// descend appends to out those of values that contain something, each followed by what it contains.
func (s *search) descend(values []any, out *[]any) {
	for _, v := range values {
		below := held(v)
		if s.left -= len(below); s.left < 0 {
			return
		}
		if len(below) > 0 {
			*out = append(*out, v)
			s.descend(below, out)
		}
	}
}

// slice yields some elements of lists: [from:to:step].
type slice struct {
	from, to, step *int // nil means the first element, the end of the list, and 1
	// single says that the template has no colon: the slice is the one element at from.
	single bool
}

// walk yields elements: [0] of ["a","b"] is "a", [-1:] is "b". Other values than lists are errors.
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
		// The slice is empty. Lists after this one are skipped, too, as in kubectl.
		if from == to {
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

// bounds returns the range of the slice in a list of the given length. Negative numbers count from
// the end of the list.
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

// union yields what each of several chains of steps yields: [a,b].
type union []part

// walk runs each chain on the same input.
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

// filter yields the elements of lists for which a condition holds: [?(left operator right)].
type filter struct {
	left, right part
	operator    string // "" means that left must yield something
}

// walk yields the elements that meet the condition. Other values than lists are errors.
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

// holds reports whether the condition holds for an element.
func (f filter) holds(s *search, element any) (bool, error) {
	self := []any{element}
	left, err := s.run(f.left, self)
	switch {
	case s.left < 0:
		return false, errTooMany
	// If a step of left fails, run returns the values that the step began with. They make the
	// condition hold, as in kubectl.
	case f.operator == "":
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

// errManyCompared is kubectl's error for a side of a comparison that yields several values.
var errManyCompared = errors.New("can only compare one element at a time")
