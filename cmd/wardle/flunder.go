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
		Kind:          "Flunder", Singular: "flunder", ShortNames: []string{"fl"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*hub.Flunder]{
			Prepare: func(_ *registry.Request, f *hub.Flunder) {
				f.Status, f.Generation = hub.FlunderStatus{}, 1
			},
			PrepareUpdate: func(_ *registry.Request, f, old *hub.Flunder) {
				if f.Spec != old.Spec {
					f.Generation++
				}
			},
			Validate:       func(_ *registry.Request, f *hub.Flunder) field.ErrorList { return checkSpec(&f.Spec) },
			ValidateUpdate: func(_ *registry.Request, f, _ *hub.Flunder) field.ErrorList { return checkSpec(&f.Spec) },
		},
		Subresources: []registry.SubresourceOf[*hub.Flunder]{{
			Name: "status", Owns: []string{"status"},
		}},
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

// checkSpec says what the tags cannot: how the fields depend on each other. Unknown types are reported by the tags.
func checkSpec(spec *hub.FlunderSpec) field.ErrorList {
	var errs field.ErrorList
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
