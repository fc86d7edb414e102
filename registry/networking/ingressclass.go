package networking

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ingressClasses declares the resource ingressclasses, which is not namespaced. The table marks the
// default class.
func ingressClasses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*networkingv1.IngressClass]{
		GroupResource: resource("ingressclasses"),
		Kind:          "IngressClass",
		Strategy: registry.StrategyOf[*networkingv1.IngressClass]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkIngressClass,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*networkingv1.IngressClass]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Controller", "Name of the controller that serves the ingresses of the class.", 0),
				registry.Column("Parameters", "Object with parameters for the controller.", 0),
				registry.AgeColumn,
			},
			Cells: func(c *networkingv1.IngressClass, now time.Time) []any {
				name := c.Name
				if c.IsDefault() {
					name += " (default)"
				}
				return []any{name, c.Spec.Controller, parametersCell(c.Spec.Parameters),
					registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

// parametersCell names the object with the parameters in the form kind.group/name, which kubectl
// accepts.
func parametersCell(r *networkingv1.IngressClassParametersReference) string {
	switch {
	case r == nil:
		return registry.None
	case r.APIGroup == nil:
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "." + *r.APIGroup + "/" + r.Name
}

// maxController is the longest name of a controller, in bytes.
const maxController = 250

// checkIngressClass returns what is wrong with a new class, or with an update of old. The
// controller of a class never changes: ingresses of the class would move from one controller to
// another.
func checkIngressClass(c, old *networkingv1.IngressClass) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		errs = check.Immutable(p.Child("controller"), &spec.Controller, &old.Spec.Controller)
	}
	if len(spec.Controller) > maxController {
		errs = append(errs, field.TooLong(p.Child("controller"), spec.Controller, maxController))
	}
	errs = append(errs, check.Needed(p.Child("controller"), spec.Controller, check.DomainPath)...)
	if spec.Parameters != nil {
		errs = append(errs, checkParameters(p.Child("parameters"), spec.Parameters)...)
	}
	return errs
}

// checkParameters checks the reference at p to an object with parameters. Its scope is required
// (defaults set it) and decides whether a namespace must be set or must not be.
func checkParameters(p *field.Path, r *networkingv1.IngressClassParametersReference) field.ErrorList {
	errs := checkReference(p, r.APIGroup, r.Kind, r.Name)
	if r.Scope == nil {
		return append(errs, field.Required(p.Child("scope"), ""))
	}
	errs = append(errs, check.Supported(p.Child("scope"), *r.Scope,
		networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace)...)
	namespace := p.Child("namespace")
	switch *r.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if r.Namespace == nil {
			return append(errs, field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
		}
		return append(errs, check.DNSLabel(namespace, *r.Namespace)...)
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if r.Namespace != nil {
			return append(errs, field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
		}
	}
	return errs
}
