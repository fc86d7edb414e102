package extensions

import (
	"regexp"
	"slices"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// limits writes what a value has to fulfil beyond its type.
func (w *schemaWriter) limits(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	l := s.Limits
	if l == nil {
		return
	}
	if t.Format == "byte" && (l.MinLength != nil || l.MaxLength != nil) {
		w.fail("a schema cannot say how many bytes there are")
		return
	}
	out.Minimum, out.Maximum = l.Minimum, l.Maximum
	out.MinLength, out.MaxLength = l.MinLength, l.MaxLength
	out.MinItems, out.MaxItems = l.MinItems, l.MaxItems
	out.MinProperties, out.MaxProperties = l.MinProperties, l.MaxProperties
	w.named(out, l.NamedFormat)
	if l.Pattern != nil {
		if out.Pattern != "" {
			w.fail("a schema has one pattern")
		}
		out.Pattern = l.Pattern.String()
	}
	addRules(out, l.Rules)
	if l.Immutable {
		out.XValidations = append(out.XValidations, v1.ValidationRule{Rule: "self == oldSelf", Message: isImmutable})
	}
}

// addRules writes rules.
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

// isImmutable is what is said of a change.
const isImmutable = "field is immutable"

// wordOfCEL is a name that an expression can use as it is.
var wordOfCEL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// immutable has fields that cannot change neither come nor go.
func (w *schemaWriter) immutable(out *v1.JSONSchemaProps, t *schema.Schema) {
	for _, name := range jsontext.Keys(t.Properties) {
		if l := t.Properties[name].Limits; l == nil || !l.Immutable || slices.Contains(out.Required, name) ||
			out.Properties[name].Default != nil {
			continue
		}
		if !wordOfCEL.MatchString(name) {
			w.fail("%s: an immutable field needs a name that is a word, or has to be required", name)
			continue
		}
		out.XValidations = append(out.XValidations, v1.ValidationRule{
			Rule: "has(self." + name + ") == has(oldSelf." + name + ")", Message: isImmutable, FieldPath: "." + name,
		})
	}
}

// namedFormats are the formats that a tag can name, as schemas say them.
var namedFormats = map[string]v1.JSONSchemaProps{
	"dns1123Label":     {Format: "k8s-short-name"},
	"dns1123Subdomain": {Format: "k8s-long-name"},
	"dns1035Label":     {Pattern: `^[a-z]([-a-z0-9]*[a-z0-9])?$`, MaxLength: new(int64(63))},
	"labelValue":       {Pattern: `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`, MaxLength: new(int64(63))},
	"cIdentifier":      {Pattern: `^[A-Za-z_][A-Za-z0-9_]*$`},
	"ip":               {AnyOf: []v1.JSONSchemaProps{{Format: "ipv4"}, {Format: "ipv6"}}},
	"cidr":             {Format: "cidr"},
}

// named writes a format that a tag names.
func (w *schemaWriter) named(out *v1.JSONSchemaProps, name string) {
	if name == "" {
		return
	}
	f, ok := namedFormats[name]
	if !ok {
		w.fail("a schema cannot say that a string has the format %s", name)
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
