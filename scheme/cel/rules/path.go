package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
)

// ErrNoField is the error for a field path that leads to no field of the schema.
var ErrNoField = errors.New("does not refer to a valid field")

// FieldPath parses the fieldPath of a rule, such as .spec['a.b'].c, which leads from a value of
// schema s to a field. Entries of maps count as fields. The error texts are Kubernetes'.
func FieldPath(s *schema.Schema, path string) (at *field.Path, err error) {
	for path != "" {
		var name string
		switch path[0] {
		case '.':
			name, path, err = Name(path[1:])
		case '[':
			name, path, err = quotedName(path[1:])
		default:
			err = fmt.Errorf("expected [ or . but got: %s", path)
		}
		if err != nil {
			return nil, err
		}
		s = s.Target()
		switch f := s.Properties[name]; {
		case f != nil:
			at, s = at.Child(name), f
		case len(s.Properties) == 0 && s.AdditionalProperties != nil &&
			(path == "" || isDescribed(s.AdditionalProperties)):
			at, s = at.Key(name), s.AdditionalProperties
		default:
			return nil, ErrNoField
		}
	}
	return at, nil
}

// Name splits path after the name that it begins with. A name that begins with a quote ends at the
// next quote and includes both quotes.
func Name(path string) (name, rest string, err error) {
	if path == "" {
		return "", "", errors.New("unexpected end of JSON path")
	}
	if path[0] == '\'' {
		if end := closingQuote(path); end > 0 {
			return path[:end+1], path[end+1:], nil
		}
		return path, "", nil
	}
	end := strings.IndexAny(path, ".[]")
	switch end {
	case -1:
		return path, "", nil
	case 0:
		end = 1 // the delimiter itself is the name
	}
	return path[:end], path[end:], nil
}

// quotedName splits path after the quoted name that it begins with and the bracket after the name.
func quotedName(path string) (name, rest string, err error) {
	end := closingQuote(path)
	if end < 0 {
		return "", "", errors.New("expected single quoted string")
	}
	if !strings.HasPrefix(path[end+1:], "]") {
		return "", "", errors.New("expected ]")
	}
	name, err = unquote(path[1:end])
	return name, path[end+2:], err
}

// closingQuote returns the index of the quote that closes the one at the beginning of text, -1 if
// there is none.
func closingQuote(text string) int {
	if !strings.HasPrefix(text, "'") {
		return -1
	}
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' && text[i-1] != '\\' {
			return i
		}
	}
	return -1
}

// unquote resolves the escapes in a quoted name.
func unquote(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		at := strings.IndexByte(`abfnrtv'\`, text[i])
		if at < 0 {
			return "", fmt.Errorf("invalid escape char \\%c", text[i])
		}
		b.WriteByte("\a\b\f\n\r\t\v'\\"[at])
	}
	return b.String(), nil
}
