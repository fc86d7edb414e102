package jsontext

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Trees: decoding them from a Scanner, comparing them. Decode is the entry point for callers that
// have bytes; decoders of types call Tree, Object and Array for untyped parts.

// Observer follows the decoding of a tree, for messages with paths, and decides how decoding goes
// on after a repeated key or a number out of range.
type Observer interface {
	// EnterKey says that the value of a key of the current object comes next, EnterIndex that an
	// element of the current array does, and Leave that this value has ended.
	EnterKey(key string)
	EnterIndex(i int)
	Leave()
	// Repeated says that the current object repeats a key; it is called only if Unique is set. If
	// it returns nil, the last value counts.
	Repeated(key string) error
	// Beyond says that a number exceeds a float64. If it returns nil, the number becomes nil in the
	// tree.
	Beyond(err *json.UnmarshalTypeError) error
}

// Decode decodes JSON into a tree. Its errors are those of encoding/json, or of m, which may be
// nil.
func Decode(data []byte, m *meter.Meter) (any, error) {
	s := NewScanner(data, false, m)
	tree, err := s.Document()
	if err == nil || m.Err() != nil {
		return tree, err
	}
	if malformed := SyntaxError(data); malformed != nil {
		err = malformed
	}
	return nil, err
}

// Document consumes the whole input, which is one tree.
func (s *Scanner) Document() (any, error) {
	tree, err := s.Tree()
	if err == nil {
		err = s.End()
	}
	return tree, err
}

// Tree consumes a value of any type and returns it as a tree.
func (s *Scanner) Tree() (any, error) {
	switch c := s.Next(); c {
	case '"':
		return s.Str()
	case '{':
		return s.Object()
	case '[':
		return s.Array()
	case 'n':
		return nil, s.Word("null")
	case 't':
		return true, s.Word("true")
	case 'f':
		return false, s.Word("false")
	case 0:
		return nil, errSyntax
	}
	start, integer, err := s.Number()
	if err != nil {
		return nil, err
	}
	if s.Literal {
		return Raw(s.Text[start:s.Pos]), nil
	}
	return s.Convert(s.Data[start:s.Pos], integer)
}

// Convert turns a number that was passed into a leaf of a tree. Like Kubernetes it has integers of
// 64 bits and floats.
func (s *Scanner) Convert(number []byte, integer bool) (any, error) {
	if integer {
		if n, ok := Atoi(number); ok {
			return n, nil
		}
		if s.Unsigned {
			if n, err := strconv.ParseUint(string(number), 10, 64); err == nil {
				return n, nil
			}
		}
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err == nil {
		return f, nil
	}
	beyond := &json.UnmarshalTypeError{Value: "number " + string(number), Type: reflect.TypeFor[float64]()}
	if s.Observer != nil {
		return nil, s.Observer.Beyond(beyond)
	}
	return nil, beyond
}

// Array consumes an array, whose bracket is the next byte.
func (s *Scanner) Array() ([]any, error) {
	if err := s.Open(); err != nil {
		return nil, err
	}
	out := []any{}
	for {
		more, err := s.More(']', len(out) == 0)
		if err != nil || !more {
			return out, err
		}
		if s.Observer != nil {
			s.Observer.EnterIndex(len(out))
		}
		v, err := s.Tree()
		if err != nil {
			return nil, err
		}
		if s.Observer != nil {
			s.Observer.Leave()
		}
		out = append(out, v)
	}
}

// Object consumes an object, whose bracket is the next byte. Of repeated keys the last one counts.
// If Unique is set and there is no Observer, a repeated key is an error without details.
func (s *Scanner) Object() (map[string]any, error) {
	if err := s.Open(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for first := true; ; first = false {
		more, err := s.More('}', first)
		if err != nil || !more {
			return out, err
		}
		k, err := s.Key()
		if err != nil {
			return nil, err
		}
		if s.Unique {
			if err := s.unique(out, k); err != nil {
				return nil, err
			}
		}
		if s.Observer != nil {
			s.Observer.EnterKey(k)
		}
		v, err := s.Tree()
		if err != nil {
			return nil, err
		}
		if s.Observer != nil {
			s.Observer.Leave()
		}
		out[k] = v
	}
}

// unique reports a key that object has already.
func (s *Scanner) unique(object map[string]any, key string) error {
	if _, ok := object[key]; !ok {
		return nil
	}
	if s.Observer == nil {
		return errSyntax
	}
	return s.Observer.Repeated(key)
}

// Equal reports whether two trees are equal. Numbers are compared by value: 1 equals 1.0.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		if n, ok := b.(int64); ok {
			return a == float64(n)
		}
		return a == b
	case string, bool, nil:
		return a == b
	}
	return false
}

// Keys returns the sorted keys of an object.
func Keys[V any](object map[string]V) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
