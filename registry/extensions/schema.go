package extensions

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/govalue"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	celrules "github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
)

// SchemaRules are the rules for schemas that a definition may break on an update because it broke
// them before. The zero SchemaRules holds a definition to none of them.
type SchemaRules struct {
	Structural     bool // schemas are structural
	Types          bool // types are those of OpenAPI
	PrunedDefaults bool // defaults have no field that the schema does not know
	AtomicSets     bool // elements of sets are atomic
	ListKeys       bool // list keys are always there, and never null
	RuleCost       bool // no rule costs too much by itself
}

// RulesFor returns the rules for the schemas of spec, which replaces old; nil says that it is new.
func RulesFor(spec, old *v1.CustomResourceDefinitionSpec) SchemaRules {
	rules := SchemaRules{Structural: true, Types: true, PrunedDefaults: true, AtomicSets: true, ListKeys: true,
		RuleCost: true}
	if old != nil {
		rules = SchemaRules{
			Structural:     !anySchema(old, isNotStructural),
			Types:          !anyPart(old, hasUnknownType),
			PrunedDefaults: !anySchema(old, hasUnprunedDefaults),
			AtomicSets:     !anyPart(old, isSetOfGranular),
			ListKeys: !anyPart(old, func(s *v1.JSONSchemaProps) bool {
				return len(validateListKeys(nil, s)) > 0
			}),
			RuleCost: true,
		}
	}
	// What prunes, sets defaults or says more than OpenAPI needs structure, whatever was there
	// before.
	if !spec.PreserveUnknownFields || anyPart(spec, needsStructure) {
		rules.Structural = true
	}
	return rules
}

// ValidateSchema judges the schema of a version, which stands at path: by the rules for structural
// schemas, whose defaults have to be valid by themselves, and by those for every schema. status
// says that the version has the subresource.
func ValidateSchema(ctx context.Context, path *field.Path, s *v1.JSONSchemaProps, status bool,
	rules SchemaRules) field.ErrorList {
	var errs field.ErrorList
	if status {
		errs = append(errs, validateRoot(path, s)...)
	}
	if s.Nullable {
		errs = append(errs, field.Forbidden(path.Child("nullable"), "nullable cannot be true at the root"))
	}
	foreign := ""
	var structured field.ErrorList
	if rules.Structural {
		if foreign = foreignField(s); foreign == "" {
			structured = validateStructure(ctx, path, s, rules.PrunedDefaults)
			errs = append(errs, structured...)
		}
	}
	c := schemaChecker{rules: rules}
	at := place{root: true, defaults: true}
	if rules.Structural && foreign == "" && structured == nil && anyIn(s, hasRules) {
		at.scope = celrules.In(CompileSchema(s))
	}
	c.check(path, s, at)
	errs = append(errs, c.errs...)
	errs = append(errs, c.ruleErrs...)
	if foreign != "" && len(errs) == 0 {
		errs = append(errs, field.Invalid(path, "", "OpenAPIV3Schema '"+foreign+"' is not supported"))
	}
	if at.scope != nil {
		errs = append(errs, at.scope.Total(path)...)
	}
	return errs
}

// validateStructure applies the rules for structural schemas, and then those for defaults.
func validateStructure(ctx context.Context, path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if errs := validateStructural(path, s); len(errs) > 0 {
		return errs
	}
	return validateDefaults(ctx, path, s, pruned)
}

// statusRoot are the fields, as Go names them, that the root of a schema may have if there is a
// subresource status: they say nothing that would be lost of the schema of the field status.
var statusRoot = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
	"ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items",
	"Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"}

// validateRoot judges the root of a schema in a version with a subresource status. One error is
// enough.
func validateRoot(path *field.Path, s *v1.JSONSchemaProps) field.ErrorList {
	for name, value := range reflect.ValueOf(s).Elem().Fields() {
		if name.Name == "Type" && s.Type != "" && s.Type != "object" {
			return field.ErrorList{field.Invalid(path.Child("type"), s.Type,
				`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)}
		}
		if !value.IsZero() && !slices.Contains(statusRoot, name.Name) {
			return field.ErrorList{field.Invalid(path, govalue.JSON(s), "only ["+strings.Join(statusRoot, " ")+
				"] fields are allowed at the root of the schema if the status subresource is enabled")}
		}
	}
	return nil
}

// foreignField names a field in a schema that structural schemas cannot have, "" if there is none.
func foreignField(s *v1.JSONSchemaProps) string {
	name := ""
	anyIn(s, func(s *v1.JSONSchemaProps) bool {
		switch {
		case s.ID != "":
			name = "id"
		case s.Schema != "":
			name = "schema"
		case s.Ref != nil && *s.Ref != "":
			name = "$ref"
		case len(s.PatternProperties) > 0:
			name = "patternProperties"
		case len(s.Dependencies) > 0:
			name = "dependencies"
		case s.AdditionalItems != nil:
			name = "additionalItems"
		case len(s.Definitions) > 0:
			name = "definitions"
		case s.Items != nil && len(s.Items.JSONSchemas) > 0:
			name = "items"
		case s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields:
			name = "x-kubernetes-preserve-unknown-fields"
		}
		return name != ""
	})
	return name
}

func isNotStructural(s *v1.JSONSchemaProps) bool {
	return foreignField(s) != "" || len(validateStructural(nil, s)) > 0
}

func hasUnknownType(s *v1.JSONSchemaProps) bool {
	return s.Type != "" && !slices.Contains(openAPITypes, s.Type)
}

// needsStructure reports whether a part of a schema says what only structural schemas may say.
func needsStructure(s *v1.JSONSchemaProps) bool {
	return s.Default != nil || s.XEmbeddedResource || s.XPreserveUnknownFields != nil || s.XIntOrString ||
		len(s.XListMapKeys) > 0 ||
		s.XListType != nil || len(s.XValidations) > 0
}
