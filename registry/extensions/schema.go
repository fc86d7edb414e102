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

// Validation of the schema of a version, called from checkVersion and checkCommon
// (definitionversion.go). The rules for structural schemas are in schemastructural.go, for defaults
// in schemadefaults.go, for schemas of any form in schemaopenapi.go and schemalists.go, and for
// x-kubernetes-validations in schemarules.go.

// SchemaRules are the rules for schemas that an update may break if a schema of the stored
// definition breaks them already. A field that is true applies its rule to all schemas of the
// definition. The zero SchemaRules applies none of them; rules that are not listed here always
// apply.
type SchemaRules struct {
	Structural     bool // schemas are structural
	Types          bool // types are those of OpenAPI
	PrunedDefaults bool // defaults have no fields that the schema does not describe
	AtomicSets     bool // elements of lists of type set are scalars or atomic
	ListKeys       bool // keys of lists of type map are required or have a default, and are not nullable
	RuleCost       bool // the estimated cost of each single rule is within its limit
}

// RulesFor returns the rules for the schemas of spec, which replaces old. If old is nil, spec is
// new and every rule applies. RuleCost is always true: the caller sets it to false for a version
// whose schema did not change.
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
	// Pruning, defaults and extensions need structural schemas, so a violation in old does not
	// excuse them.
	if !spec.PreserveUnknownFields || anyPart(spec, needsStructure) {
		rules.Structural = true
	}
	return rules
}

// ValidateSchema validates the schema of a version, which stands at path in the definition. status
// says that the version has the subresource status. The work on defaults and rules ends with ctx.
//
// The errors come in this order, as in kube-apiserver: the root, structure and defaults, then
// everything else, then the rules that do not compile or cost too much, then the cost of all rules
// together. Rules are compiled only if the schema is structural, because their types follow from
// the structure.
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
	at := position{root: true, defaults: true}
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

// validateStructure applies the rules for structural schemas, and if none is broken those for
// defaults. pruned is SchemaRules.PrunedDefaults.
func validateStructure(ctx context.Context, path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if errs := validateStructural(path, s); len(errs) > 0 {
		return errs
	}
	return validateDefaults(ctx, path, s, pruned)
}

// statusRoot are the fields that the root of a schema may have if the version has the subresource
// status, under their Go names because the error lists these. Other fields, such as allOf, could
// say something about the status that a write to the status would not validate.
var statusRoot = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
	"ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf",
	"Required", "Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"}

// validateRoot applies statusRoot. It returns at most one error.
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

// foreignField returns the name of a field in s, or in a schema inside s, that structural schemas
// do not have, "" if there is none. A schema with such a field has no structural form that could be
// validated further.
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

// isNotStructural reports whether s has a foreign field or breaks a rule for structural schemas.
func isNotStructural(s *v1.JSONSchemaProps) bool {
	return foreignField(s) != "" || len(validateStructural(nil, s)) > 0
}

// hasUnknownType reports whether s itself has a type that OpenAPI does not know.
func hasUnknownType(s *v1.JSONSchemaProps) bool {
	return s.Type != "" && !slices.Contains(openAPITypes, s.Type)
}

// needsStructure reports whether s itself has a field that works only in structural schemas.
func needsStructure(s *v1.JSONSchemaProps) bool {
	return s.Default != nil || s.XEmbeddedResource || s.XPreserveUnknownFields != nil || s.XIntOrString ||
		len(s.XListMapKeys) > 0 ||
		s.XListType != nil || len(s.XValidations) > 0
}
