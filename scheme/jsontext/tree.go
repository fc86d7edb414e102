package jsontext

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Observer is told where the decoding of a tree stands and what is wrong there, by whose word it goes on.
type Observer interface {
	// EnterKey and EnterIndex say that the value at a key of the object at hand comes next, or an element of the list at
	// hand, and Leave that it is over.
	EnterKey(key string)
	EnterIndex(i int)
	Leave()
	// Repeated says that the object at hand has a key twice, if Unique asks for that. Without an error the last one counts.
	Repeated(key string) error
	// Beyond says that a number is beyond a float64. Without an error it becomes nil.
	Beyond(err *json.UnmarshalTypeError) error
}

// Decode decodes JSON into a tree. Errors are those of encoding/json, or of the Meter, which may be nil.
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

// Document consumes all that there is, which is a tree.
func (s *Scanner) Document() (any, error) {
	tree, err := s.Tree()
	if err == nil {
		err = s.End()
	}
	return tree, err
}

// Tree consumes a value of any kind.
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

// Convert makes a leaf of a number that was passed. Kubernetes knows integers of 64 bits and floats.
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

// Array consumes an array, whose bracket is next.
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

// Object consumes an object, whose bracket is next. Of repeated keys the last counts; with Unique and without an Observer
// they are an error, which says nothing.
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

func (s *Scanner) unique(object map[string]any, key string) error {
	if _, ok := object[key]; !ok {
		return nil
	}
	if s.Observer == nil {
		return errSyntax
	}
	return s.Observer.Repeated(key)
}

// Equal reports whether two trees say the same. Numbers are compared by value.
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

// Keys returns the keys of an object in order.
func Keys[V any](object map[string]V) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
