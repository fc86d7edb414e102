package main

import (
	"time"

	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// flunders declares the resource flunders. It is namespaced and has a status subresource.
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

// target returns the kind and name of the object that a Flunder refers to, as KIND/NAME, or "" if
// there is none.
func target(spec *hub.FlunderSpec) string {
	if name := spec.FlunderReference + spec.FischerReference; name != "" { // at most one is set
		return string(spec.ReferenceType) + "/" + name
	}
	return ""
}

// checkFlunder checks how the fields depend on each other, which tags cannot express. The tag enum
// already reports an unknown referenceType.
func checkFlunder(f, _ *hub.Flunder) field.ErrorList {
	var errs field.ErrorList
	spec := &f.Spec
	flunder, fischer := field.NewPath("spec", "flunderReference"), field.NewPath("spec", "fischerReference")
	switch {
	case spec.FlunderReference != "" && spec.FischerReference != "":
		errs = append(errs,
			field.Invalid(fischer, spec.FischerReference, "cannot be set with flunderReference at the same time"))
	case spec.ReferenceType == hub.FlunderReference && spec.FlunderReference == "":
		errs = append(errs, field.Required(flunder, "referenceType is Flunder"))
	case spec.ReferenceType == hub.FischerReference && spec.FischerReference == "":
		errs = append(errs, field.Required(fischer, "referenceType is Fischer"))
	}
	return errs
}
