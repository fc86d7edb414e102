package main

import (
	"time"

	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// flunders declares the resource flunders: namespaced, with a status of its own.
func flunders() registry.Resource {
	return registry.Typed(registry.ResourceOf[*hub.Flunder]{
		GroupResource: flunderResource,
		Kind:          "Flunder", ShortNames: []string{"fl"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy:   registry.StrategyOf[*hub.Flunder]{Validate: checkFlunder},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*hub.Flunder]{},
		Table: &registry.TableOf[*hub.Flunder]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Refers to", "Kind and name of what the Flunder refers to.", 0),
				registry.Column("Phase", "What the Flunder is doing.", 0),
				registry.AgeColumn,
			},
			Cells: func(f *hub.Flunder, now time.Time) []any {
				return []any{f.Name, target(&f.Spec), f.Status.Phase, registry.Age(&f.ObjectMeta, now)}
			},
		},
	})
}

// target is kind/name of what a Flunder refers to, "" for nothing.
func target(spec *hub.FlunderSpec) string {
	if name := spec.FlunderReference + spec.FischerReference; name != "" { // one of them is empty
		return string(spec.ReferenceType) + "/" + name
	}
	return ""
}

// checkFlunder says what the tags cannot: how the fields depend on each other. Unknown types are
// reported by the tags.
func checkFlunder(f, _ *hub.Flunder) field.ErrorList {
	var errs field.ErrorList
	spec := &f.Spec
	flunder, fischer := field.NewPath("spec", "flunderReference"), field.NewPath("spec", "fischerReference")
	switch {
	case spec.FlunderReference != "" && spec.FischerReference != "":
		errs = append(errs, field.Invalid(fischer, spec.FischerReference, "cannot be set with flunderReference at the same time"))
	case spec.ReferenceType == hub.FlunderReference && spec.FlunderReference == "":
		errs = append(errs, field.Required(flunder, "referenceType is Flunder"))
	case spec.ReferenceType == hub.FischerReference && spec.FischerReference == "":
		errs = append(errs, field.Required(fischer, "referenceType is Fischer"))
	}
	return errs
}
