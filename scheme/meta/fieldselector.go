package meta

import (
	"fmt"
	"slices"
	"strings"
)

// Field selectors (fieldSelector=...): parsing, matching, and rewriting for another version. Lists,
// watches and the caches below them use the parsed form.

// FieldRequirement is one condition on a field: Field must equal Value or, if Not is set, must
// differ from Value.
type FieldRequirement struct {
	Field string
	Value string
	Not   bool
}

// FieldRequirements is a field selector: all of its requirements must hold. The empty selector
// matches everything. A selector does not change after parsing, so goroutines may share it.
type FieldRequirements []FieldRequirement

// ParseFields parses a field selector: field=value, field==value and field!=value, joined by
// commas. In a value a backslash precedes each comma, equals sign and backslash.
func ParseFields(s string) (FieldRequirements, error) {
	var rs FieldRequirements
	terms := splitFieldTerms(s)
	slices.Sort(terms) // the canonical order; it also decides which error is found first
	for _, term := range terms {
		name, op, raw, ok := splitFieldTerm(term)
		if !ok {
			return nil, fmt.Errorf("invalid selector: '%s'; can't understand '%s'", s, term)
		}
		value, err := unescapeFieldValue(raw)
		if err != nil {
			return nil, err
		}
		if name != "" || value != "" { // an empty requirement ("=") always holds
			rs = append(rs, FieldRequirement{Field: name, Value: value, Not: op == "!="})
		}
	}
	return rs, nil
}

// splitFieldTerms splits s at commas without a backslash before them, and drops empty terms.
func splitFieldTerms(s string) []string {
	var terms []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',':
			if i > start {
				terms = append(terms, s[start:i])
			}
			start = i + 1
		}
	}
	if start < len(s) {
		terms = append(terms, s[start:])
	}
	return terms
}

// splitFieldTerm splits a term at its first operator.
func splitFieldTerm(term string) (name, op, value string, ok bool) {
	for i := range len(term) {
		for _, op := range [...]string{"!=", "==", "="} {
			if strings.HasPrefix(term[i:], op) {
				return term[:i], op, term[i+len(op):], true
			}
		}
	}
	return "", "", "", false
}

// unescapeFieldValue removes the backslashes that fieldEscaper adds.
func unescapeFieldValue(s string) (string, error) {
	if !strings.ContainsAny(s, `\,=`) {
		return s, nil
	}
	var b strings.Builder
	escaped := false
	for _, r := range s {
		special := r == '\\' || r == ',' || r == '='
		switch {
		case escaped && !special:
			return "", fmt.Errorf("invalid field selector: invalid escape sequence: \\%s", string(r))
		case escaped || !special:
			b.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		default:
			return "", fmt.Errorf("invalid field selector: unescaped character in value: %v", r)
		}
	}
	if escaped {
		return "", fmt.Errorf("invalid field selector: invalid escape sequence: \\")
	}
	return b.String(), nil
}

// fieldEscaper escapes the value of a requirement.
var fieldEscaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)

// Matches reports whether fields meet all requirements. A missing field counts as empty. It does
// not allocate.
func (rs FieldRequirements) Matches(fields Lookup) bool {
	for i := range rs {
		if value, _ := fields.Get(rs[i].Field); (value == rs[i].Value) == rs[i].Not {
			return false
		}
	}
	return true
}

// Empty reports whether the selector matches everything.
func (rs FieldRequirements) Empty() bool { return len(rs) == 0 }

// String returns the selector in the form that ParseFields parses.
func (rs FieldRequirements) String() string {
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(r.Field)
		if r.Not {
			b.WriteByte('!')
		}
		b.WriteByte('=')
		b.WriteString(fieldEscaper.Replace(r.Value))
	}
	return b.String()
}

// RequiresExact returns the value that the selector requires of a field; false if it requires none.
func (rs FieldRequirements) RequiresExact(name string) (string, bool) {
	for i := range rs {
		if r := &rs[i]; r.Field == name && !r.Not {
			return r.Value, true
		}
	}
	return "", false
}

// Transform returns the selector with the field and value of each requirement replaced by what fn
// returns. A requirement is dropped if both become empty. An error of fn is returned.
func (rs FieldRequirements) Transform(fn func(label, value string) (string, string, error)) (FieldRequirements, error) {
	var out FieldRequirements
	for _, r := range rs {
		name, value, err := fn(r.Field, r.Value)
		if err != nil {
			return nil, err
		}
		if name != "" || value != "" {
			out = append(out, FieldRequirement{Field: name, Value: value, Not: r.Not})
		}
	}
	return out, nil
}
