package coordination

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// leases declares the resource leases. It has no status: the spec is what holders write.
func leases() registry.Resource {
	return registry.Typed(registry.ResourceOf[*coordinationv1.Lease]{
		GroupResource: meta.GroupResource{Group: coordinationv1.GroupVersion.Group, Resource: "leases"},
		Kind:          "Lease",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*coordinationv1.Lease]{
			Metadata:            registry.MetaCompare,
			Prepare:             prepareLease,
			Validate:            checkLease,
			AllowCreateOnUpdate: true,
		},
		Table: &registry.TableOf[*coordinationv1.Lease]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn, registry.Column("Holder", "Identity of the holder.", 0), registry.AgeColumn,
			},
			Cells: func(l *coordinationv1.Lease, now time.Time) []any {
				return []any{l.Name, scheme.OrZero(l.Spec.HolderIdentity), registry.Age(&l.ObjectMeta, now)}
			},
		},
	})
}

// prepareLease clears the fields of coordinated leader election (KEP-4355), which is not served,
// unless the old lease has one of them.
func prepareLease(_ *registry.Request, l, old *coordinationv1.Lease) {
	if old == nil || old.Spec.Strategy == nil && old.Spec.PreferredHolder == nil {
		l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil
	}
}

// checkLease checks a lease. The duration is in seconds and positive. A preferred holder has a
// meaning only with a strategy by which holders are chosen.
func checkLease(l, _ *coordinationv1.Lease) field.ErrorList {
	spec, p := &l.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if d := spec.LeaseDurationSeconds; d != nil && *d <= 0 {
		errs = append(errs, field.Invalid(p.Child("leaseDurationSeconds"), *d, "must be greater than 0"))
	}
	errs = append(errs, check.NotNegative(p, check.Count("leaseTransitions", spec.LeaseTransitions))...)
	if spec.Strategy != nil {
		errs = append(errs, checkStrategy(p.Child("strategy", "strategy"), *spec.Strategy)...)
	}
	if scheme.OrZero(spec.PreferredHolder) != "" && scheme.OrZero(spec.Strategy) == "" {
		errs = append(errs, field.Forbidden(p.Child("preferredHolder"),
			"may only be specified if `strategy` is defined"))
	}
	return errs
}

// checkStrategy checks the name of a strategy by which a leader is elected: one of Kubernetes, or a
// name with a domain.
func checkStrategy(p *field.Path, strategy coordinationv1.CoordinatedLeaseStrategy) field.ErrorList {
	if strings.Contains(string(strategy), "/") {
		return check.Invalid(p, strategy, names.IsQualifiedName(string(strategy)))
	}
	return check.Supported(p, strategy, coordinationv1.OldestEmulationVersion)
}
