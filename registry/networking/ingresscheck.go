package networking

import (
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks the spec of ingresses. checkIngress is the Validate of the resource in
// ingress.go; ingressclass.go uses checkReference, too.

// ingressCheck is the check of one ingress. Each field is true if the check leaves out a rule that
// older servers did not have. If the old ingress breaks such a rule anywhere, the new one may break
// it everywhere.
type ingressCheck struct {
	anySecretName   bool // a secret with a certificate may have any name
	anyWildcardRule bool // the paths of a wildcard host are not checked
}

// checkIngress returns what is wrong with a new ingress, or with an update of old. The class of a
// new ingress may be in an annotation, the field or both. An update does not compare them, because
// in older ingresses they may differ.
func checkIngress(ing, old *networkingv1.Ingress) field.ErrorList {
	p := field.NewPath("spec")
	if old != nil {
		c := &ingressCheck{
			anySecretName:   hasInvalidSecretName(&old.Spec),
			anyWildcardRule: hasInvalidWildcardRule(&old.Spec),
		}
		return c.spec(p, &ing.Spec)
	}
	errs := (&ingressCheck{}).spec(p, &ing.Spec)
	class, ok := ing.Annotations[networkingv1.IngressClassAnnotation]
	if ok && ing.Spec.IngressClassName != nil && class != *ing.Spec.IngressClassName {
		errs = append(errs, field.Invalid(field.NewPath("annotations", networkingv1.IngressClassAnnotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

// hasInvalidSecretName reports whether a secret for TLS in spec has an invalid name.
func hasInvalidSecretName(spec *networkingv1.IngressSpec) bool {
	for i := range spec.TLS {
		if len(check.Optional(nil, spec.TLS[i].SecretName, check.DNSSubdomain)) > 0 {
			return true
		}
	}
	return false
}

// hasInvalidWildcardRule reports whether a rule in spec for a wildcard host has invalid paths.
func hasInvalidWildcardRule(spec *networkingv1.IngressSpec) bool {
	for i := range spec.Rules {
		if rule := &spec.Rules[i]; isWildcard(rule.Host) && len(checkPaths(nil, rule.HTTP)) > 0 {
			return true
		}
	}
	return false
}

// isWildcard reports whether host is a wildcard, such as *.example.com.
func isWildcard(host string) bool { return strings.Contains(host, "*") }

// spec returns what is wrong with a spec at p. It needs rules or a default backend.
func (c *ingressCheck) spec(p *field.Path, spec *networkingv1.IngressSpec) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(p, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, checkBackend(p.Child("defaultBackend"), spec.DefaultBackend)...)
	}
	for i, rule := range field.Each(&errs, spec.Rules) {
		p := p.Child("rules").Index(i)
		if rule.Host != "" {
			errs = append(errs, check.NoIP(p.Child("host"), rule.Host)...)
			errs = append(errs, checkHost(p.Child("host"), rule.Host)...)
		}
		if !isWildcard(rule.Host) || !c.anyWildcardRule {
			errs = append(errs, checkPaths(p.Child("http"), rule.HTTP)...)
		}
	}
	for i, tls := range field.Each(&errs, spec.TLS) {
		errs = append(errs, c.tls(p.Child("tls").Index(i), tls)...)
	}
	if spec.IngressClassName != nil {
		errs = append(errs, check.DNSSubdomain(p.Child("ingressClassName"), *spec.IngressClassName)...)
	}
	return errs
}

// tls returns what is wrong with an entry of TLS at p: its hosts and the name of its secret. If the
// name is empty, the controller of the ingress chooses the certificate.
func (c *ingressCheck) tls(p *field.Path, tls *networkingv1.IngressTLS) field.ErrorList {
	var errs field.ErrorList
	for i, host := range field.Each(&errs, tls.Hosts) {
		errs = append(errs, checkHost(p.Child("hosts").Index(i), *host)...)
	}
	if !c.anySecretName {
		errs = append(errs, check.Optional(p.Child("secretName"), tls.SecretName, check.DNSSubdomain)...)
	}
	return errs
}

// checkHost checks a DNS name whose first label may be "*".
func checkHost(p *field.Path, host string) field.ErrorList {
	if isWildcard(host) {
		return check.Invalid(p, host, names.IsWildcardDNS1123Subdomain(host))
	}
	return check.DNSSubdomain(p, host)
}

// checkPaths checks the paths of a rule. A rule without http sends all requests to the default
// backend.
func checkPaths(p *field.Path, http *networkingv1.HTTPIngressRuleValue) field.ErrorList {
	if http == nil {
		return nil
	}
	if len(http.Paths) == 0 {
		return field.ErrorList{field.Required(p.Child("paths"), "")}
	}
	var errs field.ErrorList
	for i, path := range field.Each(&errs, http.Paths) {
		errs = append(errs, checkPath(p.Child("paths").Index(i), path)...)
	}
	return errs
}

// checkPath checks one path. Its type decides what the path may be. A path of type Exact or Prefix
// is compared literally and must be plain (checkPlainPath). A path of type ImplementationSpecific
// is for the controller of the class to interpret; it is empty or begins with a slash.
func checkPath(p *field.Path, path *networkingv1.HTTPIngressPath) field.ErrorList {
	if path.PathType == nil {
		return field.ErrorList{field.Required(p.Child("pathType"), "pathType must be specified")}
	}
	var errs field.ErrorList
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		errs = checkPlainPath(p.Child("path"), path.Path)
	case networkingv1.PathTypeImplementationSpecific:
		errs = check.Optional(p.Child("path"), path.Path, checkAbsolute)
	default:
		errs = field.ErrorList{field.NotSupported(p.Child("pathType"), *path.PathType, []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix})}
	}
	return append(errs, checkBackend(p.Child("backend"), &path.Backend)...)
}

// checkAbsolute reports a path that does not begin with a slash.
func checkAbsolute(p *field.Path, path string) field.ErrorList {
	if strings.HasPrefix(path, "/") {
		return nil
	}
	return field.ErrorList{field.Invalid(p, path, "must be an absolute path")}
}

// checkPlainPath checks a path that proxies compare literally. The path must have only one
// spelling, since proxies treat "..", "//" and an encoded slash in different ways.
func checkPlainPath(p *field.Path, path string) field.ErrorList {
	errs := checkAbsolute(p, path)
	for _, part := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, part) {
			errs = append(errs, field.Invalid(p, path, "must not contain '"+part+"'"))
		}
	}
	for _, end := range [...]string{"/..", "/."} {
		if strings.HasSuffix(path, end) {
			errs = append(errs, field.Invalid(p, path, "cannot end with '"+end+"'"))
		}
	}
	return errs
}

// checkBackend checks where requests are sent: a port of a Service by name or number, or another
// object.
func checkBackend(p *field.Path, b *networkingv1.IngressBackend) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(p, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return checkReference(p.Child("resource"), b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name)
	case b.Service == nil:
		return field.ErrorList{field.Invalid(p, "", "resource or service backend is required")}
	}
	service, port := p.Child("service"), b.Service.Port
	errs := check.Needed(service.Child("name"), b.Service.Name, check.DNSLabel)
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(p, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, check.Invalid(service.Child("port", "name"), port.Name,
			names.IsValidPortName(port.Name))...)
	case port.Number != 0:
		errs = append(errs, check.PortNumber(service.Child("port", "number"), port.Number)...)
	default:
		errs = append(errs, field.Required(p, "port name or number is required"))
	}
	return errs
}

// checkReference checks a reference to an object of any kind. A nil group is the core group.
func checkReference(p *field.Path, group *string, kind, name string) field.ErrorList {
	var errs field.ErrorList
	if group != nil {
		errs = check.DNSSubdomain(p.Child("apiGroup"), *group)
	}
	errs = append(errs, check.Needed(p.Child("kind"), kind, check.PathSegment)...)
	return append(errs, check.Needed(p.Child("name"), name, check.PathSegment)...)
}
