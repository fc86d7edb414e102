package resource

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// claims declares the resource resourceclaims.
func claims() registry.Resource {
	return registry.Typed(registry.ResourceOf[*resourcev1.ResourceClaim]{
		GroupResource: resource("resourceclaims"),
		Kind:          "ResourceClaim",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*resourcev1.ResourceClaim]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkClaim,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*resourcev1.ResourceClaim]{
			Prepare: func(r *registry.Request, c, old *resourcev1.ResourceClaim) {
				registry.KeepMeta(r, c, old)
				dropDeallocated(&c.Status, &old.Status)
			},
			Validate:    checkClaimStatus,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*resourcev1.ResourceClaim]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("State", "Whether devices are allocated, and reserved for somebody.", 0),
				registry.AgeColumn,
			},
			Cells: func(c *resourcev1.ResourceClaim, now time.Time) []any {
				return []any{c.Name, stateCell(c), registry.Age(&c.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// stateCell returns the state of a claim for tables: "deleted", "pending", "allocated", "reserved",
// or several with commas between them.
func stateCell(c *resourcev1.ResourceClaim) string {
	var states []string
	deleted := c.DeletionTimestamp != nil
	if deleted {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation == nil && !deleted:
		states = append(states, "pending")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	}
	return strings.Join(states, ",")
}

// checkClaim validates a claim. On update it only checks that the spec is the same, so a claim that
// older rules accepted can still be updated.
func checkClaim(c, old *resourcev1.ResourceClaim) field.ErrorList {
	p := field.NewPath("spec")
	if old != nil {
		return check.Immutable(p, &c.Spec, &old.Spec)
	}
	return checkRequests(p.Child("devices"), &c.Spec.Devices)
}

// claimTemplates declares the resource resourceclaimtemplates.
func claimTemplates() registry.Resource {
	return registry.Typed(registry.ResourceOf[*resourcev1.ResourceClaimTemplate]{
		GroupResource: resource("resourceclaimtemplates"),
		Kind:          "ResourceClaimTemplate",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*resourcev1.ResourceClaimTemplate]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkClaimTemplate,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*resourcev1.ResourceClaimTemplate]{
			Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.AgeColumn},
			Cells: func(t *resourcev1.ResourceClaimTemplate, now time.Time) []any {
				return []any{t.Name, registry.Age(&t.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// checkClaimTemplate validates a template. The metadata for its claims may hold labels and
// annotations only. Unlike a claim, a template is checked whole on update.
func checkClaimTemplate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	p := field.NewPath("spec")
	errs := podspec.ClaimTemplateMeta(p.Child("metadata"), &t.Spec.ObjectMeta)
	errs = append(errs, checkRequests(p.Child("spec", "devices"), &t.Spec.Spec.Devices)...)
	if old != nil {
		errs = append(errs, check.Immutable(p, &t.Spec, &old.Spec)...)
	}
	return errs
}
