package core

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file decides how many IP families a service has and which (dual-stack, KEP-563).
// reserveService calls families.complete for each write before addresses are taken; completeStored
// runs on services that were loaded from the store.

// families are the IP families of the cluster: one or two, each once. The first is the family of
// services that name none.
type families []corev1.IPFamily

// familiesOf returns the families of the configured ranges, IPv4 if there are none.
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

// complete sets ipFamilyPolicy and ipFamilies as far as the client left them open. Steps:
//   - The policy: as before, else SingleStack.
//   - The client's addresses and families are checked against each other.
//   - A service that becomes SingleStack drops its second address and family.
//   - Families follow from the addresses that the client names.
//   - The policy adds the family that is still missing.
//
// The errors name values that contradict each other, and families that this cluster does not have.
// If there are errors, svc is only partly completed.
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
	// Somebody else manages the endpoints of such a service and knows their families, so the
	// cluster need not have them.
	if isHeadless(svc) && len(spec.Selector) == 0 {
		f.addFamilies(spec, 2)
		return nil
	}
	if errs := f.checkConfigured(spec); len(errs) > 0 {
		return errs
	}
	f.addFamilies(spec, len(f))
	return nil
}

// keepsDualStack reports whether a service with PreferDualStack stays exactly as it is. Such a
// service neither gets nor loses a family if the families of the cluster have changed since it was
// created.
func keepsDualStack(svc, old *corev1.Service) bool {
	now, was := svc.Spec.IPFamilyPolicy, old.Spec.IPFamilyPolicy
	return now != nil && *now == corev1.IPFamilyPolicyPreferDualStack && (was == nil || *was == *now) &&
		!lacksAddresses(old) && svc.Spec.Type == old.Spec.Type && sameAddresses(svc, old) &&
		slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies)
}

// sameAddresses reports whether an update leaves clusterIPs alone.
func sameAddresses(svc, old *corev1.Service) bool {
	return slices.Equal(svc.Spec.ClusterIPs, old.Spec.ClusterIPs)
}

// policyOf returns the policy of a service that names none: the old one, else SingleStack. A
// headless service without selector gets RequireDualStack, because its endpoints may be of both
// families.
func policyOf(svc, old *corev1.Service) *corev1.IPFamilyPolicy {
	if old != nil && old.Spec.IPFamilyPolicy != nil {
		return new(*old.Spec.IPFamilyPolicy)
	}
	if svc.Spec.ClusterIP == clusterIPNone && len(svc.Spec.Selector) == 0 {
		return new(corev1.IPFamilyPolicyRequireDualStack)
	}
	return new(corev1.IPFamilyPolicySingleStack)
}

// dropSecondary drops the second address and family of a service whose policy has become
// SingleStack, unless the client changed the lists. With any other policy it is an error to drop
// the second.
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

// checkSingleStack refuses two addresses or families for SingleStack.
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

// badPolicy returns an error of spec.ipFamilyPolicy.
func badPolicy(spec *corev1.ServiceSpec, what string) *field.Error {
	return field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), spec.IPFamilyPolicy, what)
}

// inferFamilies appends the families of the addresses that the client names. It refuses those that
// the cluster does not have.
func (f families) inferFamilies(spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	for i := len(spec.IPFamilies); i < len(spec.ClusterIPs) && spec.ClusterIPs[i] != clusterIPNone; i++ {
		ip, _ := names.ParseIP(spec.ClusterIPs[i], false) // checkClusterIPs has parsed it
		if family := familyOf(ip.Is4()); slices.Contains(f, family) {
			spec.IPFamilies = append(spec.IPFamilies, family)
		} else {
			errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", family)))
		}
	}
	return errs
}

// checkConfigured refuses families that the cluster does not have.
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

// addFamilies appends the family that the policy asks for and the client does not name, unless
// there are already most families: PreferDualStack gets one family in a cluster that has one.
func (f families) addFamilies(spec *corev1.ServiceSpec, most int) {
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{f[0]}
	}
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(spec.IPFamilies) < most {
		spec.IPFamilies = append(spec.IPFamilies, familyOf(spec.IPFamilies[0] != corev1.IPv4Protocol))
	}
}

// familyOf returns IPv4 if is4, else IPv6.
func familyOf(is4 bool) corev1.IPFamily {
	if is4 {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// completeStored fills in clusterIPs, ipFamilies and ipFamilyPolicy of a service that was stored
// before there was dual-stack. It removes the internal traffic policy of an ExternalName.
// CompleteNeeds in services says when it changes nothing.
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
