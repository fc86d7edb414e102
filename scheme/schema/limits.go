package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
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

// checkType judges the type of a value. Like kube-apiserver it takes strings and lists for what has
// a format, unless that is one of numbers.
func (c *checker) checkType(s, t *Schema, v any) {
	want, format, got := c.typeNames(t), c.knownFormat(t), typeOf(v)
	switch {
	case v == nil:
		if want != "" && want != got && !s.Nullable {
			c.mistyped(want, got)
			return
		}
		c.checks++
		return
	case want == "" && format == "":
		return
	}
	c.checks++
	written := got == String || got == Array
	switch {
	case c.accepts(t, got) || got == Number && c.accepts(t, Integer) && isWhole(asFloat(v)):
		c.checks++
	case format != "" && written && !c.accepts(t, Integer):
		c.checks++
	case format != "" && !written && format != formatOf(v):
		c.mistyped(format, formatOf(v))
	default:
		c.mistyped(want, got)
	}
}

// typeNames names the types that a schema accepts, "" for any.
func (c *checker) typeNames(t *Schema) string {
	if t.IntOrString && !c.literal {
		return intOrString
	}
	return t.Type
}

const intOrString = Integer + "," + String

// knownFormat returns the format of a schema, "" if it says nothing.
func (c *checker) knownFormat(t *Schema) string {
	if t.Format == "" || c.literal || KnownFormat(c.typeNames(t), t.Format) {
		return t.Format
	}
	return ""
}

// accepts reports whether values of a type are allowed. An integer is a number, too.
func (c *checker) accepts(t *Schema, typ string) bool {
	switch want := c.typeNames(t); {
	case t.Types != nil:
		return slices.Contains(t.Types, typ) || typ == Integer && slices.Contains(t.Types, Number)
	case want == intOrString:
		return typ == Integer || typ == String
	default:
		return typ == want || typ == Integer && want == Number
	}
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
	if !inRange(t, v) {
		c.outOfRange(t, "Checked")
	}
}

// outOfRange reports that the type and format of a schema do not have a number.
func (c *checker) outOfRange(t *Schema, what string) {
	format := "(default format)"
	if KnownFormat(t.Type, t.Format) {
		format = "with format " + t.Format
	}
	c.reportAtRoot(fmt.Sprintf("%s value must be of type %s %s in %s", what, t.Type, format, c.way))
}

// numberLimits judges a number.
func (c *checker) numberLimits(t *Schema, l *Limits, v any) {
	if l.MultipleOf != nil {
		v, factor := c.against(t, v, *l.MultipleOf, "MultipleOf")
		switch {
		case asFloat(factor) <= 0:
			c.report(field.Invalid(c.at(), factor,
				fmt.Sprintf("factor MultipleOf declared for %s must be positive: %v", c.way, factor)))
		case !isMultiple(v, factor):
			c.invalid(v, "should be a multiple of "+fmt.Sprint(factor))
		}
	}
	if l.Minimum != nil {
		v, limit := c.against(t, v, *l.Minimum, "Minimum boundary")
		switch order := compare(v, limit); {
		case l.ExclusiveMinimum && order <= 0:
			c.invalid(v, "should be greater than "+fmt.Sprint(limit))
		case order < 0:
			c.invalid(v, "should be greater than or equal to "+fmt.Sprint(limit))
		}
	}
	if l.Maximum != nil {
		v, limit := c.against(t, v, *l.Maximum, "Maximum boundary")
		switch order := compare(v, limit); {
		case l.ExclusiveMaximum && order >= 0:
			c.invalid(v, "should be less than "+fmt.Sprint(limit))
		case order > 0:
			c.invalid(v, "should be less than or equal to "+fmt.Sprint(limit))
		}
	}
}

// against returns a number and a limit in the type in which kube-apiserver compares them: as
// integers if the number is one, so that the limit loses its fraction. A limit that the type of the
// schema does not have is reported; then they are floats.
func (c *checker) against(t *Schema, v any, limit float64, what string) (number, bound any) {
	if !inRange(t, limit) {
		c.outOfRange(t, what)
		return asFloat(v), limit
	}
	if _, ok := v.(int64); ok && math.Abs(limit) < 1<<63 {
		return v, int64(limit)
	}
	return asFloat(v), limit
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

// compare compares two numbers of one type.
func compare(v, limit any) int {
	if n, ok := v.(int64); ok {
		return cmp.Compare(n, limit.(int64))
	}
	return cmp.Compare(v.(float64), limit.(float64))
}

// isMultiple reports whether a number is a multiple of another of its type.
func isMultiple(v, factor any) bool {
	if n, ok := v.(int64); ok {
		return n%factor.(int64) == 0
	}
	f := factor.(float64)
	if f < 1 {
		return isWhole(v.(float64) * (1 / f)) // exact for 0.1 and its like, where the quotient is not
	}
	return isWhole(v.(float64) / f)
}

// isWhole reports whether a number is an integer that all who read JSON have, but for an error of
// rounding.
func isWhole(f float64) bool {
	if math.Abs(f) > 1<<53-1 {
		return false
	}
	whole := math.Trunc(f)
	return f == whole || whole != 0 && math.Abs(f-whole)/math.Abs(f+whole) < 1e-9
}

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
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

// objectLimits judges the number of fields.
func (c *checker) objectLimits(l *Limits, v map[string]any) {
	n := int64(len(v))
	if l.MinProperties != nil && n < *l.MinProperties {
		c.invalid(n, fmt.Sprintf("should have at least %d properties", *l.MinProperties))
	}
	if l.MaxProperties != nil && n > *l.MaxProperties {
		c.report(field.TooMany(c.at(), len(v), int(*l.MaxProperties)))
	}
}
