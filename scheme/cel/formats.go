package cel

import (
	"net/url"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/scheme/schema"
)

// A format is a named rule for strings.
type format struct {
	// title is Kubernetes' name, by which formats are compared.
	title string
	// check returns what is wrong with a string, nothing if it has the format.
	check func(string) []string
	// pattern is the length of a regular expression that would check the same; the cost follows
	// from it.
	pattern int
}

// formatType is the type of formats.
var formatType = &valueType[*format]{
	Type:  cel.ObjectType("kubernetes.NamedFormat"),
	short: "Format",
	equal: func(a, b *format) bool { return a.title == b.title },
}

// named maps the names that expressions use to formats.
var named = map[string]*format{
	"dns1123Label":           {"DNS1123Label", names.IsDNS1123Label, 30},
	"dns1123Subdomain":       {"DNS1123Subdomain", names.IsDNS1123Subdomain, 60},
	"dns1035Label":           {"DNS1035Label", names.IsDNS1035Label, 30},
	"dns1123LabelPrefix":     {"DNS1123LabelPrefix", prefixOf(names.IsDNS1123Label), 30},
	"dns1123SubdomainPrefix": {"DNS1123SubdomainPrefix", prefixOf(names.IsDNS1123Subdomain), 60},
	"dns1035LabelPrefix":     {"DNS1035LabelPrefix", prefixOf(names.IsDNS1035Label), 30},
	"qualifiedName":          {"QualifiedName", names.IsQualifiedName, 60},
	"labelValue":             {"LabelValue", names.IsValidLabelValue, 40},
	"uri":                    {"URI", checkURI, 1103},
	"uuid":                   {"uuid", has("uuid", "does not match the UUID format"), 70},
	"byte":                   {"byte", has("byte", "invalid base64"), 84},
	"date":                   {"date", has("date", "invalid date"), 71},
	"datetime":               {"datetime", has("datetime", "invalid datetime"), 71},
}

// formats returns the declarations of the format library: format.named(), one function for each
// format, and validate().
func formats() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType},
			cel.OptionalType(formatType.Type), cel.UnaryBinding(on(formatNamed)))),
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{formatType.Type, cel.StringType},
			cel.OptionalType(cel.ListType(cel.StringType)), cel.BinaryBinding(on2(validate)))),
	}
	for name, f := range named {
		name = "format." + name
		options = append(options, cel.Function(name, cel.Overload(name, nil, formatType.Type,
			cel.FunctionBinding(func(...ref.Val) ref.Val { return formatType.of(f) }))))
	}
	return options
}

// formatNamed implements format.named(): an optional format.
func formatNamed(name string) ref.Val {
	if f := named[name]; f != nil {
		return types.OptionalOf(formatType.of(f))
	}
	return types.OptionalNone
}

// validate returns an optional list of what is wrong with s; it has no value if nothing is.
func validate(f *format, s string) ref.Val {
	if errs := f.check(s); len(errs) > 0 {
		return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, errs))
	}
	return types.OptionalNone
}

// prefixOf turns the rule for a name into the rule for generateName, the part before a generated
// suffix, which may end in a dash.
func prefixOf(check func(string) []string) func(string) []string {
	return func(s string) []string {
		if len(s) > 1 && strings.HasSuffix(s, "-") {
			s = s[:len(s)-2] + "a"
		}
		return check(s)
	}
}

// checkURI checks the format uri.
func checkURI(s string) []string {
	if _, err := url.ParseRequestURI(s); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// has returns a rule that checks a format of schemas by its name (schema.HasFormat).
func has(name, message string) func(string) []string {
	return func(s string) []string {
		if schema.HasFormat(name, s) {
			return nil
		}
		return []string{message}
	}
}
