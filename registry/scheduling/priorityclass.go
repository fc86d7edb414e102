package scheduling

import (
	"fmt"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// priorityClasses declares priorityclasses, which are cluster-wide. The generation counts changes
// of the value, which is immutable, so it is always 1.
func priorityClasses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*schedulingv1.PriorityClass]{
		GroupResource: meta.GroupResource{Group: schedulingv1.GroupVersion.Group, Resource: "priorityclasses"},
		Kind:          "PriorityClass", ShortNames: []string{"pc"},
		Strategy: registry.StrategyOf[*schedulingv1.PriorityClass]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkPriorityClass,
			AllowUnconditionalUpdate: true,
			Permanent:                whyPermanent,
		},
		Generation: []string{"value"},
		Table: &registry.TableOf[*schedulingv1.PriorityClass]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Value", "The priority.", 0),
				registry.BooleanColumn("Global-Default", "Whether pods that name no class are of this one.", 0),
				registry.AgeColumn,
				registry.Column("PreemptionPolicy",
					"Whether pods of the class may take the place of less important ones.", 0),
			},
			Cells: func(c *schedulingv1.PriorityClass, now time.Time) []any {
				policy := string(scheme.OrZero(c.PreemptionPolicy))
				return []any{c.Name, int64(c.Value), c.GlobalDefault, registry.Age(&c.ObjectMeta, now), policy}
			},
		},
	})
}

// systemPrefix begins the names that only the classes of the system may have.
const systemPrefix = "system-"

// whyPermanent says why the class of a name cannot be deleted, "" if it can.
func whyPermanent(name string) string {
	if _, ok := schedulingv1.SystemClasses[name]; ok {
		return "this is a system priority class and cannot be deleted"
	}
	return ""
}

// checkPriorityClass checks a class. A user's class may be at most HighestPriority, so that pods of
// the system can always preempt its pods.
func checkPriorityClass(c, old *schedulingv1.PriorityClass) field.ErrorList {
	if old != nil {
		return checkPriorityClassUpdate(c, old)
	}
	var errs field.ErrorList
	if strings.HasPrefix(c.Name, systemPrefix) {
		if wrong := notSystemClass(c); wrong != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+wrong))
		}
	} else if c.Value > schedulingv1.HighestPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %d", schedulingv1.HighestPriority)))
	}
	if policy := c.PreemptionPolicy; policy != nil {
		errs = append(errs, check.OneOf(field.NewPath("preemptionPolicy"), *policy, corev1.PreemptLowerPriority,
			corev1.PreemptNever)...)
	}
	return errs
}

// notSystemClass says how a class differs from the class of the system with its name, "" if it does
// not.
func notSystemClass(c *schedulingv1.PriorityClass) string {
	value, ok := schedulingv1.SystemClasses[c.Name]
	switch {
	case !ok:
		return c.Name + " is not a known system priority class"
	case c.Value != value:
		return fmt.Sprintf("value of %s PriorityClass must be %d", c.Name, value)
	case c.GlobalDefault:
		return fmt.Sprintf("globalDefault of %s PriorityClass must be false", c.Name)
	}
	return ""
}

// checkPriorityClassUpdate keeps value and preemption policy (KEP-902): pods have copied them, and
// would differ from their class. Labels, description and globalDefault may change.
func checkPriorityClassUpdate(c, old *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if c.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, check.Immutable(field.NewPath("preemptionPolicy"), c.PreemptionPolicy, old.PreemptionPolicy)...)
}
