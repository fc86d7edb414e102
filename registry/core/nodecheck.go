package core

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// checkPodCIDRs checks the ranges of a node's pods: at most one for each IP family. With several
// ranges, the first that is invalid yields an internal error besides its own, as in Kubernetes.
func checkPodCIDRs(p *field.Path, cidrs []string) field.ErrorList {
	var errs field.ErrorList
	// families has bit 1 for IPv4 and bit 2 for IPv6; bad is the text of the internal error.
	families, bad := 0, ""
	for i, cidr := range field.Each(&errs, cidrs) {
		prefix, msgs := names.ParseCIDR(*cidr, true)
		errs = append(errs, check.Invalid(p.Index(i), *cidr, msgs)...)
		switch {
		case !prefix.IsValid() && bad == "":
			bad = fmt.Sprintf("invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[%d]: <nil> (invalid CIDR address: %s)", i, *cidr)
		case prefix.IsValid() && (prefix.Addr().Is4() || prefix.Addr().Is4In6()):
			families |= 1
		case prefix.IsValid():
			families |= 2
		}
	}
	if len(cidrs) > 1 && bad != "" {
		errs = append(errs, field.InternalError(p, errors.New(bad)))
	}
	if k := len(cidrs); k > 2 || k == 2 && families != 3 {
		errs = append(errs, field.Invalid(p, cidrs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

// declaredFeature is the form of names such as "MyFeature/mySubFeature".
var declaredFeature = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

// checkDeclaredFeatures checks the names of the features that a kubelet reports (KEP-5328). The
// list must be sorted, so each name is compared only with the name before it.
func checkDeclaredFeatures(p *field.Path, features []string) field.ErrorList {
	var errs field.ErrorList
	for i, feature := range field.Each(&errs, features) {
		name, p := *feature, p.Index(i)
		if i > 0 {
			switch before := features[i-1]; {
			case before == name:
				errs = append(errs, field.Duplicate(p, name))
			case before > name:
				errs = append(errs, field.Invalid(p, name, "list must be sorted alphabetically"))
			}
		}
		switch {
		case len(name) > names.DNS1123SubdomainMaxLength:
			errs = append(errs, field.Invalid(p, name,
				fmt.Sprintf("invalid feature name %q: must be no more than %d characters",
					name, names.DNS1123SubdomainMaxLength)))
		case !declaredFeature.MatchString(name):
			errs = append(errs, field.Invalid(p, name,
				fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, "+
					"with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name)))
		}
	}
	return errs
}

// checkNodeConfig checks the fields of dynamic kubelet configuration that an old node still has.
func checkNodeConfig(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	if source := n.Spec.ConfigSource; source != nil {
		errs = append(errs, checkConfigSource(field.NewPath("spec", "configSource"), source, false)...)
	}
	if status := n.Status.Config; status != nil {
		p := field.NewPath("status", "config")
		for _, s := range []struct {
			name   string
			source *corev1.NodeConfigSource
		}{{"assigned", status.Assigned}, {"active", status.Active}, {"lastKnownGood", status.LastKnownGood}} {
			if s.source != nil {
				errs = append(errs, checkConfigSource(p.Child(s.name), s.source, true)...)
			}
		}
	}
	return errs
}

// checkConfigSource checks the config map that holds a kubelet's configuration. used is true for
// the sources in the status: they name its UID and resourceVersion, which the spec must not.
func checkConfigSource(p *field.Path, source *corev1.NodeConfigSource, used bool) field.ErrorList {
	ref := source.ConfigMap
	if ref == nil {
		return field.ErrorList{field.Invalid(p, govalue.JSON(source), "exactly one reference subfield must be non-nil")}
	}
	var errs field.ErrorList
	p = p.Child("configMap")
	for _, f := range []struct{ name, value string }{
		{"uid", string(ref.UID)}, {"resourceVersion", ref.ResourceVersion},
	} {
		switch {
		case used:
			errs = append(errs, check.Required(p.Child(f.name), f.value)...)
		case f.value != "":
			errs = append(errs, field.Forbidden(p.Child(f.name), f.name+" must not be set in spec"))
		}
	}
	needed := func(name, value string, rule func(string) []string) {
		errs = append(errs, check.Needed(p.Child(name), value, func(p *field.Path, value string) field.ErrorList {
			return check.Invalid(p, value, rule(value))
		})...)
	}
	needed("namespace", ref.Namespace, names.IsDNS1123Label)
	needed("name", ref.Name, names.IsDNS1123Subdomain)
	needed("kubeletConfigKey", ref.KubeletConfigKey, names.IsConfigMapKey)
	return errs
}
