package networking

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// ipAddresses declares the resource ipaddresses (KEP-1880). The name of an object is the address in
// canonical form, so the server refuses a second object for the same address: an object of that
// name exists.
func ipAddresses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*networkingv1.IPAddress]{
		GroupResource: resource("ipaddresses"),
		Kind:          "IPAddress", ShortNames: []string{"ip"},
		Strategy: registry.StrategyOf[*networkingv1.IPAddress]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             func(name string, _ bool) []string { return names.IsValidIP(name) },
			Validate:                 checkIPAddress,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*networkingv1.IPAddress]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn, registry.Column("ParentRef", "Object that owns the address.", 0),
			},
			Cells: func(a *networkingv1.IPAddress, _ time.Time) []any {
				return []any{a.Name, parentCell(a.Spec.ParentRef)}
			},
		},
	})
}

// parentCell names the owner of an address in the form resource.group/namespace/name.
func parentCell(r *networkingv1.ParentReference) string {
	if r == nil {
		return registry.None
	}
	parts := []string{strings.ToLower(meta.GroupResource{Group: r.Group, Resource: r.Resource}.String())}
	if r.Namespace != "" {
		parts = append(parts, r.Namespace)
	}
	return strings.Join(append(parts, r.Name), "/")
}

// checkIPAddress returns what is wrong with a new address, or with an update of old. Its owner
// never changes: an address is freed by deleting the object.
func checkIPAddress(a, old *networkingv1.IPAddress) field.ErrorList {
	p := field.NewPath("spec", "parentRef")
	errs := checkParent(p, a.Spec.ParentRef)
	if old != nil {
		errs = append(errs, check.Immutable(p, a.Spec.ParentRef, old.Spec.ParentRef)...)
	}
	return errs
}

// checkParent checks the reference at p to the object that owns the address, usually a Service. It
// is required.
func checkParent(p *field.Path, r *networkingv1.ParentReference) field.ErrorList {
	if r == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := check.Optional(p.Child("group"), r.Group, check.DNSSubdomain)
	errs = append(errs, check.Needed(p.Child("resource"), r.Resource, check.PathSegment)...)
	errs = append(errs, check.Needed(p.Child("name"), r.Name, check.PathSegment)...)
	return append(errs, check.Optional(p.Child("namespace"), r.Namespace, check.PathSegment)...)
}
