package core

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// families are the IP families that a cluster has addresses of. The first is that of services which
// name none.
type families []corev1.IPFamily

// familiesOf are those of the ranges that the cluster begins with.
func familiesOf(ranges []netip.Prefix) families {
	if len(ranges) == 0 {
		return families{corev1.IPv4Protocol}
	}
	var f families
	for _, r := range ranges {
		f = append(f, familyOf(r.Addr().Is4()))
	}
	return f
}

// complete sets how many families a service wants and which, as far as the client leaves that open.
// What this cluster does not have, or the client contradicts itself in, is wrong.
func (f families) complete(svc, old *corev1.Service) field.ErrorList {
	if !usesClusterIP(svc) || old != nil && keepsDualStack(svc, old) {
		return nil
	}
	spec := &svc.Spec
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = policyOf(svc, old)
	}
	if errs := checkClusterIPs(svc, old); len(errs) > 0 {
		return errs
	}
	var errs field.ErrorList
	if old != nil {
		errs = dropSecondary(svc, old)
	}
	errs = append(errs, checkSingleStack(spec)...)
	if errs = append(errs, f.inferFamilies(spec)...); len(errs) > 0 {
		return errs
	}
	if isHeadless(svc) && len(spec.Selector) == 0 { // somebody else manages the endpoints, and knows their families
		f.addFamilies(spec, 2)
		return nil
	}
	if errs := f.checkConfigured(spec); len(errs) > 0 {
		return errs
	}
	f.addFamilies(spec, len(f))
	return nil
}

// prefersAsBefore reports whether a service goes on to take two families if it can, and has the
// addresses that it had: it is not up- or downgraded because the cluster has changed.
func keepsDualStack(svc, old *corev1.Service) bool {
	now, was := svc.Spec.IPFamilyPolicy, old.Spec.IPFamilyPolicy
	return now != nil && *now == corev1.IPFamilyPolicyPreferDualStack && (was == nil || *was == *now) &&
		!lacksAddresses(old) && svc.Spec.Type == old.Spec.Type && sameAddresses(svc, old) &&
		slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies)
}

func sameAddresses(svc, old *corev1.Service) bool {
	return slices.Equal(svc.Spec.ClusterIPs, old.Spec.ClusterIPs)
}

// policyOf is the policy of a service that names none: as before, else one family, unless somebody
// else manages its endpoints.
func policyOf(svc, old *corev1.Service) *corev1.IPFamilyPolicy {
	if old != nil && old.Spec.IPFamilyPolicy != nil {
		return new(*old.Spec.IPFamilyPolicy)
	}
	if svc.Spec.ClusterIP == clusterIPNone && len(svc.Spec.Selector) == 0 {
		return new(corev1.IPFamilyPolicyRequireDualStack)
	}
	return new(corev1.IPFamilyPolicySingleStack)
}

// releaseSecond lets go of what a service with one family had of another, unless the client did so
// or changed it.
func dropSecondary(svc, old *corev1.Service) field.ErrorList {
	spec, was := &svc.Spec, &old.Spec
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		if len(spec.ClusterIPs) > 1 && sameAddresses(svc, old) {
			spec.ClusterIPs = spec.ClusterIPs[:1]
		}
		if len(spec.IPFamilies) > 1 && slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = spec.IPFamilies[:1]
		}
		return nil
	}
	var errs field.ErrorList
	if n := len(spec.ClusterIPs); n > 0 && n < len(was.ClusterIPs) {
		errs = append(errs, badPolicy(spec, "must be 'SingleStack' to release the secondary cluster IP"))
	}
	if n := len(spec.IPFamilies); n > 0 && n < len(was.IPFamilies) {
		errs = append(errs, badPolicy(spec, "must be 'SingleStack' to release the secondary IP family"))
	}
	return errs
}

// checkSingle finds a second family of a service that wants one.
func checkSingleStack(spec *corev1.ServiceSpec) field.ErrorList {
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	var errs field.ErrorList
	if len(spec.ClusterIPs) == 2 {
		errs = append(errs, badPolicy(spec,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"))
	}
	if len(spec.IPFamilies) == 2 {
		errs = append(errs, badPolicy(spec,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"))
	}
	return errs
}

func badPolicy(spec *corev1.ServiceSpec, what string) *field.Error {
	return field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), spec.IPFamilyPolicy, what)
}

// infer adds the families of the addresses that the client wants.
func (f families) inferFamilies(spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	for i := len(spec.IPFamilies); i < len(spec.ClusterIPs) && spec.ClusterIPs[i] != clusterIPNone; i++ {
		ip, _ := names.ParseIP(spec.ClusterIPs[i], false) // checked
		if family := familyOf(ip.Is4()); slices.Contains(f, family) {
			spec.IPFamilies = append(spec.IPFamilies, family)
		} else {
			errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", family)))
		}
	}
	return errs
}

// checkConfigured finds families that the cluster does not have.
func (f families) checkConfigured(spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(f) < 2 {
		errs = append(errs, badPolicy(spec, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range spec.IPFamilies {
		if !slices.Contains(f, family) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ipFamilies").Index(i), family,
				"not configured on this cluster"))
		}
	}
	return errs
}

// fill adds the families that the policy asks for and the client does not name, up to most.
func (f families) addFamilies(spec *corev1.ServiceSpec, most int) {
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{f[0]}
	}
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(spec.IPFamilies) < most {
		spec.IPFamilies = append(spec.IPFamilies, familyOf(spec.IPFamilies[0] != corev1.IPv4Protocol))
	}
}

func familyOf(is4 bool) corev1.IPFamily {
	if is4 {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// completeStored fills in what a stored service lacks if it was stored before a service had several
// addresses. It removes the internal traffic policy of an ExternalName, which was once a default.
func (f families) completeStored(svc *corev1.Service) {
	completeClusterIPs(svc, nil)
	dropInternalPolicy(svc)
	spec := &svc.Spec
	if !usesClusterIP(svc) || len(spec.IPFamilies) > 0 {
		return
	}
	if spec.ClusterIP == clusterIPNone {
		spec.IPFamilyPolicy = policyOf(svc, nil)
		f.addFamilies(spec, 2)
		return
	}
	for _, text := range spec.ClusterIPs {
		ip, _ := names.ParseIP(text, false)
		spec.IPFamilies = append(spec.IPFamilies, familyOf(!ip.Is6() || ip.Is4In6()))
	}
	switch len(spec.IPFamilies) {
	case 1:
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
	case 2:
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
	}
}
