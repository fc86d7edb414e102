package extensions

import (
	"regexp"
	"slices"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// limits sets what a value has to fulfil beside its type: bounds, patterns, formats, rules and
// immutability. A limit that a schema cannot express is an error.
func (w *schemaWriter) limits(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	l := s.Limits
	if l == nil {
		return
	}
	if t.Format == "byte" && (l.MinLength != nil || l.MaxLength != nil) {
		w.fail("a schema cannot limit the number of bytes: remove the limit from the tags")
		return
	}
	out.Minimum, out.Maximum = l.Minimum, l.Maximum
	out.MinLength, out.MaxLength = l.MinLength, l.MaxLength
	out.MinItems, out.MaxItems = l.MinItems, l.MaxItems
	out.MinProperties, out.MaxProperties = l.MinProperties, l.MaxProperties
	w.named(out, l.NamedFormat)
	if l.Pattern != nil {
		if out.Pattern != "" {
			w.fail("a schema has one pattern: name either a format or a pattern")
		}
		out.Pattern = l.Pattern.String()
	}
	addRules(out, l.Rules)
	if l.Immutable {
		out.XValidations = append(out.XValidations, v1.ValidationRule{Rule: "self == oldSelf", Message: isImmutable})
	}
}

// addRules appends rules to x-kubernetes-validations.
func addRules(out *v1.JSONSchemaProps, rules []schema.Rule) {
	for _, r := range rules {
		rule := v1.ValidationRule{Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression,
			FieldPath:       r.FieldPath,
			OptionalOldSelf: r.OptionalOldSelf}
		if r.Reason != "" {
			rule.Reason = new(v1.FieldValueErrorReason(r.Reason))
		}
		out.XValidations = append(out.XValidations, rule)
	}
}

// isImmutable is the message for a change of an immutable field.
const isImmutable = "field is immutable"

// wordOfCEL matches names that a CEL expression can use without escaping.
var wordOfCEL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// immutable adds a rule to an object for each immutable field that may be missing: it must neither
// be added nor removed. The rule of the field itself (limits) compares only values that are there.
func (w *schemaWriter) immutable(out *v1.JSONSchemaProps, t *schema.Schema) {
	for _, name := range jsontext.Keys(t.Properties) {
		if l := t.Properties[name].Limits; l == nil || !l.Immutable || slices.Contains(out.Required, name) ||
			out.Properties[name].Default != nil {
			continue
		}
		if !wordOfCEL.MatchString(name) {
			w.fail("%s: an immutable field must be required, or have a name of letters and digits", name)
			continue
		}
		out.XValidations = append(out.XValidations, v1.ValidationRule{
			Rule: "has(self." + name + ") == has(oldSelf." + name + ")", Message: isImmutable, FieldPath: "." + name,
		})
	}
}

// namedFormats are the formats that a tag can name, each as the part of a schema that expresses it.
var namedFormats = map[string]v1.JSONSchemaProps{
	"dns1123Label":     {Format: "k8s-short-name"},
	"dns1123Subdomain": {Format: "k8s-long-name"},
	"dns1035Label":     {Pattern: `^[a-z]([-a-z0-9]*[a-z0-9])?$`, MaxLength: new(int64(63))},
	"labelValue":       {Pattern: `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`, MaxLength: new(int64(63))},
	"cIdentifier":      {Pattern: `^[A-Za-z_][A-Za-z0-9_]*$`},
	"ip":               {AnyOf: []v1.JSONSchemaProps{{Format: "ipv4"}, {Format: "ipv6"}}},
	"cidr":             {Format: "cidr"},
}

// named sets the format called name; "" is none.
func (w *schemaWriter) named(out *v1.JSONSchemaProps, name string) {
	if name == "" {
		return
	}
	f, ok := namedFormats[name]
	if !ok {
		w.fail("a schema cannot express the format %s", name)
		return
	}
	out.AnyOf, out.Pattern = f.AnyOf, f.Pattern
	if f.Format != "" {
		out.Format = f.Format
	}
	if f.MaxLength != nil && (out.MaxLength == nil || *out.MaxLength > *f.MaxLength) {
		out.MaxLength = f.MaxLength
	}
}
