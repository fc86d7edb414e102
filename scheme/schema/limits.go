package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// invalid reports a value that breaks a limit, in words that follow the path.
func (c *checker) invalid(v any, words string) {
	c.report(field.Invalid(c.at(), v, c.way.String()+" in body "+words))
}

// mistyped reports a value of a type other than the one wanted.
func (c *checker) mistyped(want string, got any) {
	detail := fmt.Sprintf("%s in body must be of type %s: %q", c.way, want, got)
	c.report(field.TypeInvalid(c.at(), got, detail))
}

// checkType judges the type of a value.
func (c *checker) checkType(s, t *Schema, v any) {
	if t.Type == "" && t.Types == nil && !t.IntOrString {
		return
	}
	c.checks++
	got := typeOf(v)
	if v == nil {
		if !s.Nullable {
			c.mistyped(t.typeNames(), got)
		}
		return
	}
	if t.accepts(got) {
		return
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && t.accepts(Integer) {
		return
	}
	// Where the schema has a format, kube-apiserver names formats in place of types, unless the value is a string or list.
	if KnownFormat(t.Type, t.Format) && got != String && got != Array {
		c.mistyped(t.Format, formatOf(v))
		return
	}
	c.mistyped(t.typeNames(), got)
}

// accepts reports whether values of a type are allowed. An integer is a number, too.
func (s *Schema) accepts(typ string) bool {
	switch {
	case s.Types != nil:
		return slices.Contains(s.Types, typ) || typ == Integer && slices.Contains(s.Types, Number)
	case s.IntOrString:
		return typ == Integer || typ == String
	}
	return typ == s.Type || typ == Integer && s.Type == Number
}

// typeNames names the types that are accepted.
func (s *Schema) typeNames() string {
	if s.IntOrString {
		return Integer + "," + String
	}
	return s.Type
}

// formatOf is the format of a value as messages call it.
func formatOf(v any) string {
	switch v.(type) {
	case int64:
		return "int64"
	case float64:
		return "float64"
	}
	return ""
}

// enum judges whether a value is one of those that are allowed.
func (c *checker) enum(s *Schema, v any) {
	if s.Enum == nil {
		return
	}
	c.checks++
	if slices.ContainsFunc(s.Enum, func(allowed any) bool { return jsontext.Equal(allowed, v) }) {
		return
	}
	names := make([]string, len(s.Enum))
	for i, allowed := range s.Enum {
		var ok bool
		if names[i], ok = allowed.(string); !ok {
			names[i] = text(allowed)
		}
	}
	c.report(field.NotSupported(c.at(), v, names))
}

// stringLimits judges the length of a string, and then what it says. One error is enough.
func (c *checker) stringLimits(l *Limits, v string) {
	if l.MaxLength == nil && l.MinLength == nil || c.lengthLimits(l, v, utf8.RuneCountInString(v)) {
		c.pattern(l, v)
	}
}

// lengthLimits judges a length and reports whether it is right.
func (c *checker) lengthLimits(l *Limits, v string, length int) bool {
	switch {
	case l.MaxLength != nil && int64(length) > *l.MaxLength:
		c.report(field.TooLong(c.at(), v, int(*l.MaxLength)))
	case l.MinLength != nil && int64(length) < *l.MinLength:
		c.invalid(v, fmt.Sprintf("should be at least %d chars long", *l.MinLength))
	default:
		return true
	}
	return false
}

func (c *checker) pattern(l *Limits, v string) {
	if l.Pattern != nil && !l.Pattern.MatchString(v) {
		c.invalid(v, "should match '"+l.Pattern.String()+"'")
	}
}

// numberRange judges whether a number fits the type and format of its schema.
func (c *checker) numberRange(t *Schema, v any) {
	if inRange(t, v) {
		return
	}
	format := "(default format)"
	if KnownFormat(t.Type, t.Format) {
		format = "with format " + t.Format
	}
	c.reportAtRoot(fmt.Sprintf("Checked value must be of type %s %s in %s", t.Type, format, c.way))
}

// numberLimits judges a number.
func (c *checker) numberLimits(l *Limits, v any) {
	if l.MultipleOf != nil && !isMultiple(v, *l.MultipleOf) {
		c.invalid(v, "should be a multiple of "+limitText(v, *l.MultipleOf))
	}
	if l.Minimum != nil {
		switch order := compare(v, *l.Minimum); {
		case l.ExclusiveMinimum && order <= 0:
			c.invalid(v, "should be greater than "+limitText(v, *l.Minimum))
		case order < 0:
			c.invalid(v, "should be greater than or equal to "+limitText(v, *l.Minimum))
		}
	}
	if l.Maximum != nil {
		switch order := compare(v, *l.Maximum); {
		case l.ExclusiveMaximum && order >= 0:
			c.invalid(v, "should be less than "+limitText(v, *l.Maximum))
		case order > 0:
			c.invalid(v, "should be less than or equal to "+limitText(v, *l.Maximum))
		}
	}
}

// inRange reports whether a number fits the type and format.
func inRange(t *Schema, v any) bool {
	f, isFloat := v.(float64)
	n, _ := v.(int64)
	switch {
	case t.Type == Integer && isFloat && (f != math.Trunc(f) || f < math.MinInt64 || f >= math.MaxInt64):
		return false
	case t.Type == Integer && t.Format == "int32":
		if isFloat {
			n = int64(f)
		}
		return n >= math.MinInt32 && n <= math.MaxInt32
	case t.Type == Number && t.Format == "float" && isFloat:
		return math.Abs(f) <= math.MaxFloat32
	}
	return true
}

// compare compares a number with a limit. Integers are compared as such with limits that are.
func compare(v any, limit float64) int {
	if n, ok := v.(int64); ok && isInteger(limit) {
		switch whole := int64(limit); {
		case n < whole:
			return -1
		case n > whole:
			return 1
		}
		return 0
	}
	switch f := asFloat(v); {
	case f < limit:
		return -1
	case f > limit:
		return 1
	}
	return 0
}

func isMultiple(v any, factor float64) bool {
	if n, ok := v.(int64); ok && isInteger(factor) {
		return factor == 0 || n%int64(factor) == 0
	}
	quotient := asFloat(v) / factor
	if factor < 1 {
		quotient = asFloat(v) * (1 / factor) // exact for 0.1 and its like, where the quotient is not
	}
	return math.Abs(quotient-math.Round(quotient)) < 1e-9*math.Max(1, math.Abs(quotient))
}

// isInteger reports whether f is a number that int64 has.
func isInteger(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<63 }

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

// limitText writes a limit for a value: an integer for an integer.
func limitText(v any, limit float64) string {
	if _, ok := v.(int64); ok && isInteger(limit) {
		return strconv.FormatInt(int64(limit), 10)
	}
	return fmt.Sprint(limit)
}

// listLimits judges the length of a list.
func (c *checker) listLimits(l *Limits, v []any) {
	n := int64(len(v))
	if l.MinItems != nil && n < *l.MinItems {
		c.invalid(n, fmt.Sprintf("should have at least %d items", *l.MinItems))
	}
	if l.MaxItems != nil && n > *l.MaxItems {
		c.report(field.TooMany(c.at(), len(v), int(*l.MaxItems)))
	}
	if l.UniqueItems && len(repeated(v, nil)) > 0 {
		c.invalid("", "shouldn't contain duplicates")
	}
}

// objectLimits judges the number of fields and reports whether it is right.
func (c *checker) objectLimits(l *Limits, v map[string]any) bool {
	n := int64(len(v))
	switch {
	case l.MinProperties != nil && n < *l.MinProperties:
		c.invalid(*l.MinProperties, fmt.Sprintf("should have at least %d properties", *l.MinProperties))
	case l.MaxProperties != nil && n > *l.MaxProperties:
		c.report(field.TooMany(c.at(), len(v), int(*l.MaxProperties)))
	default:
		return true
	}
	return false
}
