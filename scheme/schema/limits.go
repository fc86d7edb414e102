package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
)

// limits.go checks types and limits of values. The checker of validate.go calls it; the messages
// and their oddities are those of kube-apiserver, which checks by way of go-openapi/validate.

// invalid reports a value that breaks a limit. The detail is the path, "in body" and words.
func (c *checker) invalid(v any, words string) {
	c.report(field.Invalid(c.at(), v, c.way.String()+" in body "+words))
}

// mistyped reports a value of the type got where want is declared.
func (c *checker) mistyped(want string, got any) {
	detail := fmt.Sprintf("%s in body must be of type %s: %q", c.way, want, got)
	c.report(field.TypeInvalid(c.at(), got, detail))
}

// checkType reports a value of a wrong type. s is the schema of the use, t its target. Like
// kube-apiserver it accepts a string or list of any declared type that is not integer or number, if
// the schema has a known format.
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

// typeNames returns the type that a schema accepts as messages write it: "integer,string" for
// int-or-string, "" for any type.
func (c *checker) typeNames(t *Schema) string {
	if t.IntOrString && !c.literal {
		return intOrString
	}
	return t.Type
}

const intOrString = Integer + "," + String

// knownFormat returns the format of a schema, or "" if there is no check for it. A literal checker
// counts unknown formats, too.
func (c *checker) knownFormat(t *Schema) string {
	if t.Format == "" || c.literal || KnownFormat(c.typeNames(t), t.Format) {
		return t.Format
	}
	return ""
}

// accepts reports whether a schema allows values of a JSON type. An integer is a number as well.
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

// formatOf returns the format of a number as messages call it, "" for other values.
func formatOf(v any) string {
	switch v.(type) {
	case int64:
		return "int64"
	case float64:
		return "float64"
	}
	return ""
}

// stringLimits checks the length of a string, and if that is right, its pattern.
func (c *checker) stringLimits(l *Limits, v string) {
	if l.MaxLength == nil && l.MinLength == nil || c.lengthLimits(l, v, utf8.RuneCountInString(v)) {
		c.pattern(l, v)
	}
}

// lengthLimits reports a string v whose length, in characters or bytes, is out of bounds. It
// returns true if the length is right.
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

// pattern reports a string that the pattern does not match anywhere.
func (c *checker) pattern(l *Limits, v string) {
	if l.Pattern != nil && !l.Pattern.MatchString(v) {
		c.invalid(v, "should match '"+l.Pattern.String()+"'")
	}
}

// numberRange reports a number that the type and format of its schema cannot represent.
func (c *checker) numberRange(t *Schema, v any) {
	if !inRange(t, v) {
		c.outOfRange(t, "Checked")
	}
}

// outOfRange reports a number that the type and format of a schema cannot represent. what says
// where the number comes from: the value, or a limit of the schema.
func (c *checker) outOfRange(t *Schema, what string) {
	format := "(default format)"
	if KnownFormat(t.Type, t.Format) {
		format = "with format " + t.Format
	}
	c.reportAtRoot(fmt.Sprintf("%s value must be of type %s %s in %s", what, t.Type, format, c.way))
}

// numberLimits checks multipleOf, minimum and maximum of a number, and reports each one that v
// breaks.
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

// against returns a number and a limit in the type in which kube-apiserver compares them. If the
// number is an integer, both are integers, so the limit loses its fraction; else both are floats.
// If the schema's type cannot represent the limit, against reports that and returns floats.
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

// inRange reports whether the type and format of t can represent a number, an int64 or a float64.
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

// compare orders two numbers of the same Go type, int64 or float64, as cmp.Compare does.
func compare(v, limit any) int {
	if n, ok := v.(int64); ok {
		return cmp.Compare(n, limit.(int64))
	}
	return cmp.Compare(v.(float64), limit.(float64))
}

// isMultiple reports whether v is a multiple of factor, which is positive and of the same Go type.
func isMultiple(v, factor any) bool {
	if n, ok := v.(int64); ok {
		return n%factor.(int64) == 0
	}
	f := factor.(float64)
	if f < 1 {
		return isWhole(v.(float64) * (1 / f)) // 1/0.1 is exactly 10, but 0.3/0.1 is not 3
	}
	return isWhole(v.(float64) / f)
}

// isWhole reports whether f is an integer, up to a relative rounding error of 1e-9, that every JSON
// implementation represents exactly: at most 2^53-1.
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

// listLimits checks minItems, maxItems and uniqueItems.
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

// objectLimits checks minProperties and maxProperties.
func (c *checker) objectLimits(l *Limits, v map[string]any) {
	n := int64(len(v))
	if l.MinProperties != nil && n < *l.MinProperties {
		c.invalid(n, fmt.Sprintf("should have at least %d properties", *l.MinProperties))
	}
	if l.MaxProperties != nil && n > *l.MaxProperties {
		c.report(field.TooMany(c.at(), len(v), int(*l.MaxProperties)))
	}
}
