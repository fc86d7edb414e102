package patch

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// raw is the text of a value of the document or the patch that has not been decoded.
type raw = jsontext.Raw

// member is a key of an object and its value.
type member = jsontext.Member

// check returns an error in the words of encoding/json: syntax if the input is not JSON or nests
// too deeply, number if it has a number that a float64 cannot hold. Valid input costs one scan; the
// input is decoded by encoding/json only to word an error.
func check(input []byte) (syntax, number error) {
	s := jsontext.NewScanner(input, true, nil)
	s.Depth = startDepth(len(input))
	scanned := s.Skip()
	if scanned == nil {
		scanned = s.End()
	}
	if scanned == nil && !s.Wide {
		return nil, nil
	}
	var v any
	err := json.Unmarshal(input, &v)
	switch {
	case scanned == nil:
		return nil, err
	case err == nil:
		err = errDepth
	}
	return err, nil
}

var errDepth = errors.New("exceeded max depth")

// members appends the members of an object to into, sorted by key. Of members with equal keys it
// keeps the last, as encoding/json does. It returns false if the value is not an object. depth is
// added to the nesting of the object.
func members(object raw, depth int, into []member) ([]member, bool) {
	into, ok := object.Members(depth, into)
	if !ok {
		return nil, false
	}
	return tidy(into), true
}

// tidy sorts members by key, in place, and keeps the last of those with equal keys.
func tidy(ms []member) []member {
	sorted := true
	for i := 1; i < len(ms); i++ {
		if ms[i-1].Key >= ms[i].Key {
			sorted = false
			break
		}
	}
	if sorted {
		return ms
	}
	slices.SortStableFunc(ms, func(a, b member) int { return strings.Compare(a.Key, b.Key) })
	n := 0
	for i := range ms {
		if i+1 < len(ms) && ms[i].Key == ms[i+1].Key {
			continue
		}
		ms[n] = ms[i]
		n++
	}
	return ms[:n]
}
