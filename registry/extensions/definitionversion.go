package extensions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
)

// Validation of the parts of a definition that belong to a version: its deprecation warning,
// schema, subresources, columns and selectable fields. checkSpec (definitionspec.go) calls
// checkVersion for each version, and checkCommon for the parts that all versions share.

// maxSelectableFields is the number of selectable fields that a version may have (KEP-4358).
const maxSelectableFields = 8

// checkVersion validates the parts of a version that differ from another version's. The parts that
// are equal in all versions are nil in v, and checkCommon validates them. status says whether the
// version has the subresource status, which restricts the root of its schema.
func checkVersion(ctx context.Context, p *field.Path, v *apiextensionsv1.CustomResourceDefinitionVersion, status bool,
	rules definitionRules) field.ErrorList {
	errs := checkWarning(p.Child("deprecationWarning"), v)
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		errs = append(errs, ValidateSchema(ctx, p.Child("schema", "openAPIV3Schema"), v.Schema.OpenAPIV3Schema, status,
			rules.schemasOf(v.Name))...)
	}
	errs = append(errs, checkSubresources(p.Child("subresources", "scale"), v.Subresources)...)
	errs = append(errs, checkColumns(p.Child("additionalPrinterColumns"), v.AdditionalPrinterColumns)...)
	switch {
	case len(v.SelectableFields) == 0:
	case lacksSchema(*v):
		errs = append(errs, field.Invalid(p.Child("selectableFields"), "",
			"may only be set when `version.schema.openAPIV3Schema` is not included"))
	default:
		errs = append(errs, checkSelectableFields(p, v, rules)...)
	}
	return errs
}

// checkCommon validates the parts that are equal in all versions. Its errors name fields of the
// internal version, such as spec.validation.openAPIV3Schema, which v1 does not have.
func checkCommon(ctx context.Context, p *field.Path, v *apiextensionsv1.CustomResourceDefinitionVersion, status bool,
	rules definitionRules) field.ErrorList {
	var errs field.ErrorList
	if !lacksSchema(*v) {
		errs = append(errs, ValidateSchema(ctx, p.Child("validation", "openAPIV3Schema"), v.Schema.OpenAPIV3Schema,
			status, rules.schemasOf(v.Name))...)
	}
	errs = append(errs, checkSubresources(p.Child("subresources", "scale"), v.Subresources)...)
	errs = append(errs, checkColumns(p.Child("additionalPrinterColumns"), v.AdditionalPrinterColumns)...)
	switch {
	case len(v.SelectableFields) == 0:
	case v.Schema == nil:
		errs = append(errs, field.Invalid(p.Child("selectableFields"), "",
			"may only be set when validations.schema is included"))
	default:
		errs = append(errs, checkSelectableFields(p, v, rules)...)
	}
	return errs
}

// checkWarning validates the text that clients of a deprecated version get in the header Warning.
// Control characters would not be valid there.
func checkWarning(p *field.Path, v *apiextensionsv1.CustomResourceDefinitionVersion) field.ErrorList {
	text := v.DeprecationWarning
	switch {
	case text == nil:
		return nil
	case !v.Deprecated:
		return field.ErrorList{field.Invalid(p, text, "can only be set for deprecated versions")}
	}
	var msgs []string
	if len(*text) > 256 {
		msgs = append(msgs, "must be <= 256 characters long")
	}
	if *text == "" {
		msgs = append(msgs, "must not be an empty string")
	}
	if i := strings.IndexFunc(*text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		msgs = append(msgs, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
	}
	if !utf8.ValidString(*text) {
		msgs = append(msgs, "must only contain printable UTF-8 characters")
	}
	return check.Invalid(p, text, msgs)
}

// checkSubresources validates the paths to the fields that the subresource scale shows. The path of
// the selector may be empty.
func checkSubresources(p *field.Path, s *apiextensionsv1.CustomResourceSubresources) field.ErrorList {
	if s == nil || s.Scale == nil {
		return nil
	}
	errs := checkScalePath(p.Child("specReplicasPath"), s.Scale.SpecReplicasPath, "should be a json path under .spec",
		".spec.")
	errs = append(errs, checkScalePath(p.Child("statusReplicasPath"), s.Scale.StatusReplicasPath,
		"should be a json path under .status", ".status.")...)
	path, at := s.Scale.LabelSelectorPath, p.Child("labelSelectorPath")
	if path == nil || *path == "" {
		return errs
	}
	if wrong := checkSimplePath(at, *path); wrong != nil {
		return append(errs, wrong...)
	}
	if !strings.HasPrefix(*path, ".spec.") && !strings.HasPrefix(*path, ".status.") {
		errs = append(errs, field.Invalid(at, path, "should be a json path under either .spec or .status"))
	}
	return errs
}

// checkScalePath requires a path that begins with below, such as ".spec.". msg is the error if it
// does not.
func checkScalePath(p *field.Path, path, msg, below string) field.ErrorList {
	if path == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	if errs := checkSimplePath(p, path); errs != nil {
		return errs
	}
	if !strings.HasPrefix(path, below) {
		return field.ErrorList{field.Invalid(p, path, msg)}
	}
	return nil
}

// checkSimplePath requires a non-empty path to begin at the root of the object, which means with a
// dot.
func checkSimplePath(p *field.Path, path string) field.ErrorList {
	if path[0] == '.' {
		return nil
	}
	return field.ErrorList{field.Invalid(p, path, "must be a simple json path starting with .")}
}

// The types of columns, and the formats. Both lists are in the order in which the errors name them.
// An empty format is allowed.
var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

func checkColumns(p *field.Path, columns []apiextensionsv1.CustomResourceColumnDefinition) field.ErrorList {
	var errs field.ErrorList
	for i, c := range field.Each(&errs, columns) {
		errs = append(errs, checkColumn(p.Index(i), c)...)
	}
	return errs
}

func checkColumn(p *field.Path, c *apiextensionsv1.CustomResourceColumnDefinition) field.ErrorList {
	errs := check.Required(p.Child("name"), c.Name)
	oneOf := "must be one of " + strings.Join(columnTypes, ",")
	if c.Type == "" {
		errs = append(errs, field.Required(p.Child("type"), oneOf))
	} else if !slices.Contains(columnTypes, c.Type) {
		errs = append(errs, field.Invalid(p.Child("type"), c.Type, oneOf))
	}
	if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
		errs = append(errs, field.Invalid(p.Child("format"), c.Format,
			"must be one of "+strings.Join(columnFormats, ",")))
	}
	if c.JSONPath == "" {
		return append(errs, field.Required(p.Child("JSONPath"), ""))
	}
	return append(errs, checkSimplePath(p.Child("JSONPath"), c.JSONPath)...)
}

// checkSelectableFields requires each path to lead to a string, boolean or integer field of the
// schema, outside of metadata, and each field to be listed once. Arrays have no selectable fields.
// There may be maxSelectableFields of them, unless rules say that the stored definition had more.
func checkSelectableFields(p *field.Path, v *apiextensionsv1.CustomResourceDefinitionVersion,
	rules definitionRules) field.ErrorList {
	var errs field.ErrorList
	root := v.Schema.OpenAPIV3Schema
	if name := foreignField(root); name != "" {
		errs = append(errs, field.Invalid(p.Child("schema", "openAPIV3Schema"), "",
			"OpenAPIV3Schema '"+name+"' is not supported"))
		root = nil
	}
	fields := p.Child("selectableFields")
	seen := check.Duplicates{}
	for i, f := range field.Each(&errs, v.SelectableFields) {
		at := fields.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		path, found, err := selectable(root, f.JSONPath)
		if err != nil {
			errs = append(errs, field.Invalid(at, f.JSONPath, "is an invalid path: "+err.Error()))
			continue
		}
		if path[0] == "metadata" {
			errs = append(errs, field.Invalid(at, f.JSONPath, "must not point to fields in metadata"))
		}
		if !slices.Contains([]string{"string", "boolean", "integer"}, found.Type) {
			errs = append(errs, field.Invalid(at, f.JSONPath,
				"must point to a field of type string, boolean or integer. "+
					"Enum string fields and strings with formats are allowed."))
		}
		if !seen.Add(strings.Join(path, ".")) {
			errs = append(errs, field.Duplicate(at, f.JSONPath))
		}
	}
	if len(seen) > maxSelectableFields && !rules.manyFields[v.Name] {
		errs = append(errs, field.TooMany(fields, len(seen), maxSelectableFields))
	}
	return errs
}

// selectable returns the names on a path, and the schema of the field that it leads to.
// ".spec.color" gives the names spec and color. A key of a map (additionalProperties) counts as a
// field.
func selectable(s *apiextensionsv1.JSONSchemaProps, path string) (
	steps []string, _ *apiextensionsv1.JSONSchemaProps, err error) {
	for path != "" {
		if path[0] == '[' {
			return nil, nil, errors.New("array notation is not allowed")
		}
		if path[0] != '.' {
			token, _, _ := rules.Name(path)
			return nil, nil, fmt.Errorf("expected [ or . but got: %s", token)
		}
		var step string
		if step, path, err = rules.Name(path[1:]); err != nil {
			return nil, nil, err
		}
		if s = fieldOf(s, step); s == nil {
			return nil, nil, rules.ErrNoField
		}
		steps = append(steps, step)
	}
	return steps, s, nil
}

// fieldOf returns the schema of the field called name, nil if s does not describe it. s may be nil.
func fieldOf(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	switch {
	case s == nil:
	case len(s.Properties) > 0:
		if p, ok := s.Properties[name]; ok {
			return &p
		}
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}
