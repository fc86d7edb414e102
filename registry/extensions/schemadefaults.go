package extensions

import (
	"context"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// validateDefaults validates the defaults in a structural schema: each is valid by the schema that
// it belongs to, and by the rules there. pruned says that a default must not have fields that the
// schema does not describe. The server sets defaults also in objects that it reads from the store
// and does not validate again, so the defaults themselves have to be valid. Defaults below
// additionalProperties are not examined.
func validateDefaults(ctx context.Context, path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if !anyIn(s, hasDefault) {
		return nil
	}
	errs := compile(s, schema.ParseLiteral).ValidateDefaults(meter.New(ctx), path, pruned)
	if anyIn(s, hasRules) {
		d := defaultRules{ctx: ctx, schemaErrs: errs, budget: cel.ObjectBudget}
		d.schema(path, s, CompileSchema(s), true)
		errs = append(errs, d.errs...)
	}
	return errs
}

// defaultRules runs the rules of a schema on its defaults.
type defaultRules struct {
	ctx        context.Context
	schemaErrs field.ErrorList // errors of the same defaults that validation by the schema found
	budget     cel.Budget      // CEL cost that is left for all defaults together
	errs       field.ErrorList
}

// schema runs the rules on the default of a schema, and on the defaults below it. props is the
// schema as the definition has it, s the same schema compiled. Transition rules are run twice: with
// oldSelf equal to the default, and without an oldSelf. Only the dearer of both runs is charged to
// the budget.
func (d *defaultRules) schema(p *field.Path, props *v1.JSONSchemaProps, s *schema.Schema, root bool) {
	if s == nil || d.errs.Full() || d.budget < 0 {
		return
	}
	if v, at := treeOf(props.Default), p.Child("default"); v != nil && !d.isWrong(at.String()) {
		of := rules.Of(s, root || s.EmbeddedResource)
		first, second := d.budget, d.budget
		errs := of.ValidateWithin(d.ctx, &first, at, v, v, nil)
		if len(errs) == 0 {
			errs = of.ValidateWithin(d.ctx, &second, at, v, nil, nil)
		}
		d.errs, d.budget = append(d.errs, errs...), min(first, second) // the dearer counts
	}
	d.schema(p.Child("items"), elementSchema(props), s.Items, false)
	for _, name := range jsontext.Keys(s.Properties) {
		below := props.Properties[name]
		d.schema(p.Child("properties").Key(name), &below, s.Properties[name], false)
	}
}

// isWrong reports whether validation by the schema found an error in the default at path. The rules
// are then not run. Unknown fields do not count: the rules do not see them.
func (d *defaultRules) isWrong(path string) bool {
	return slices.ContainsFunc(d.schemaErrs, func(err *field.Error) bool {
		return strings.HasPrefix(err.Field, path) &&
			!(err.Field == path && err.Detail == "must not have unknown fields")
	})
}

// hasDefault reports whether s itself has a default.
func hasDefault(s *v1.JSONSchemaProps) bool { return s.Default != nil }

// hasUnprunedDefaults reports whether a structural schema has defaults with fields that it does not
// describe. If the default of the root is no object, kube-apiserver's check fails, which counts as
// no.
func hasUnprunedDefaults(s *v1.JSONSchemaProps) bool {
	if !anyIn(s, hasDefault) || isNotStructural(s) {
		return false
	}
	if _, ok := treeOf(s.Default).(map[string]any); s.Default != nil && !ok { // Kubernetes cannot tell then
		return false
	}
	return hasUnprunedDefault(s, compile(s, schema.ParseLiteral), false)
}

// hasUnprunedDefault examines the default of s and those below it. compiled is s, compiled with its
// defaults unchanged. keep says that s is the schema of the elements of a list whose own schema
// preserves unknown fields: such elements keep unknown fields, too.
//
// There is no Meter, because s comes from a stored definition: each default is decoded and visited
// once, which takes no longer than decoding the definition.
func hasUnprunedDefault(s *v1.JSONSchemaProps, compiled *schema.Schema, keep bool) bool {
	if s == nil || compiled == nil {
		return false
	}
	if s.Default != nil {
		literal := *compiled
		literal.Resource, literal.PreserveUnknown = false, literal.PreserveUnknown || keep
		if len(literal.Prune(nil, treeOf(s.Default))) > 0 {
			return true
		}
	}
	keep = keep || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	if hasUnprunedDefault(elementSchema(s), compiled.Items, keep) ||
		s.AdditionalProperties != nil &&
			hasUnprunedDefault(s.AdditionalProperties.Schema, compiled.AdditionalProperties, false) {
		return true
	}
	for name, below := range s.Properties {
		if hasUnprunedDefault(&below, compiled.Properties[name], false) {
			return true
		}
	}
	return false
}
