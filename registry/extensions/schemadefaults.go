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

// validateDefaults judges the defaults in a structural schema.
func validateDefaults(ctx context.Context, path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if !anyIn(s, hasDefault) {
		return nil
	}
	errs := compile(s, schema.ParseLiteral).ValidateDefaults(meter.New(ctx), path, pruned)
	if anyIn(s, hasRules) {
		d := defaultRules{ctx: ctx, known: errs, budget: cel.ObjectBudget}
		d.schema(path, s, CompileSchema(s), true)
		errs = append(errs, d.errs...)
	}
	return errs
}

// defaultRules judges defaults by the rules in their schemas.
type defaultRules struct {
	ctx    context.Context
	known  field.ErrorList // what is wrong with defaults otherwise
	budget cel.Budget      // for all of them
	errs   field.ErrorList
}

// schema judges the default of a schema, and those below it. Rules that ask what was before have to
// hold if it was the same, and if there was nothing.
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

// isWrong reports whether something is wrong with the default at a path, more than that it has
// fields which nobody knows.
func (d *defaultRules) isWrong(path string) bool {
	return slices.ContainsFunc(d.known, func(err *field.Error) bool {
		return strings.HasPrefix(err.Field, path) &&
			!(err.Field == path && err.Detail == "must not have unknown fields")
	})
}

func hasDefault(s *v1.JSONSchemaProps) bool { return s.Default != nil }

// hasUnprunedDefaults reports whether a structural schema has defaults with fields that it does not
// know.
func hasUnprunedDefaults(s *v1.JSONSchemaProps) bool {
	if !anyIn(s, hasDefault) || isNotStructural(s) {
		return false
	}
	if _, ok := treeOf(s.Default).(map[string]any); s.Default != nil && !ok { // Kubernetes cannot tell then
		return false
	}
	return hasUnprunedDefault(s, compile(s, schema.ParseLiteral), false)
}

// hasUnprunedDefault judges the default of a schema, and those below it. keep says that the schema
// is of the elements of a list which preserves unknown fields in them. compiled is s, with its
// defaults as they are.
//
// It is asked of a definition that was stored, and carries no Meter: each default, of all that the
// definition has, is decoded and visited once, which takes no longer than decoding the definition
// did.
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
