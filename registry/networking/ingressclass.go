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

// ingressClasses makes the resource ingressclasses.
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
				registry.Column("Parameters", "The object with settings for the controller.", 0),
				registry.AgeColumn,
			},
			Cells: func(c *networkingv1.IngressClass, now time.Time) []any {
				name := c.Name
				if c.Annotations[networkingv1.IsDefaultIngressClassAnnotation] == "true" {
					name += " (default)"
				}
				return []any{name, c.Spec.Controller, parametersCell(c.Spec.Parameters), registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

// parametersCell names the object with the settings as kubectl takes names.
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

func checkIngressClass(c, old *networkingv1.IngressClass) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		errs = check.Immutable(p.Child("controller"), spec.Controller, old.Spec.Controller)
	}
	if len(spec.Controller) > maxController {
		errs = append(errs, field.TooLong(p.Child("controller"), spec.Controller, maxController))
	}
	errs = append(errs, check.Needed(p.Child("controller"), spec.Controller, checkController)...)
	if spec.Parameters != nil {
		errs = append(errs, checkParameters(p.Child("parameters"), spec.Parameters)...)
	}
	return errs
}

// pathPattern is what the path of a controller consists of: pathMarks, letters and digits.
const (
	pathPattern = `[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`
	pathMarks   = `/-._~%!$&'()*+,;=:`
)

// checkController checks a domain and a path.
func checkController(p *field.Path, name string) field.ErrorList {
	domain, path, _ := strings.Cut(name, "/")
	if domain == "" || path == "" {
		return field.ErrorList{field.Invalid(p, name, `must be a domain-prefixed path (such as "acme.io/foo")`)}
	}
	errs := check.DNSSubdomain(p, domain)
	if strings.ContainsFunc(path, func(r rune) bool { return !isPathRune(r) }) {
		errs = append(errs, field.Invalid(p, path, names.PatternError("Invalid path", pathPattern)))
	}
	return errs
}

func isPathRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(pathMarks, r)
}

// checkParameters checks what names an object in a namespace or outside of any, as its scope says.
func checkParameters(p *field.Path, r *networkingv1.IngressClassParametersReference) field.ErrorList {
	errs := checkReference(p, r.APIGroup, r.Kind, r.Name)
	if r.Scope == nil {
		return append(errs, field.Required(p.Child("scope"), ""))
	}
	errs = append(errs, check.Supported(p.Child("scope"), *r.Scope,
		networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace)...)
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
