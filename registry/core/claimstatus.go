package core

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// claimStatuses checks which ResourceClaims were made for the entries of spec.resourceClaims: each
// status belongs to an entry, and no two to the same.
func claimStatuses(
	p *field.Path, statuses []corev1.PodResourceClaimStatus, claims []corev1.PodResourceClaim,
) field.ErrorList {
	if len(statuses) == 0 {
		return nil
	}
	var errs field.ErrorList
	claimNames, seen := check.Duplicates{}, check.Duplicates{}
	for i := range claims {
		claimNames.Add(claims[i].Name)
	}
	for i, status := range field.Each(&errs, statuses) {
		p := p.Index(i)
		if !claimNames[status.Name] {
			errs = append(errs, field.Invalid(p.Child("name"), status.Name,
				"must match the name of an entry in `spec.resourceClaims`"))
		}
		if !seen.Add(status.Name) {
			errs = append(errs, field.Duplicate(p.Child("name"), status.Name))
		}
		if status.ResourceClaimName != nil {
			errs = append(errs, check.DNSSubdomain(p.Child("resourceClaimName"), *status.ResourceClaimName)...)
		}
	}
	return errs
}

// extendedClaim checks the ResourceClaim that the scheduler made for the extended resources of a
// pod (KEP-5004): each mapping is for a resource that a container requests. As in Kubernetes, the
// path of an invalid requestName is not below the mapping, and a repeated mapping is reported once
// for each of its fields. A nil status is valid.
func extendedClaim(p *field.Path, status *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec) field.ErrorList {
	if status == nil {
		return nil
	}
	var errs field.ErrorList
	at := p.Child("requestMappings")
	if len(status.RequestMappings) == 0 {
		errs = append(errs, field.Required(at, "at least one request mapping is required"))
	}
	byName := make(map[string]*corev1.Container)
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			byName[list[i].Name] = &list[i]
		}
	}
	seen := make(map[corev1.ContainerExtendedResourceRequest]bool)
	for i, m := range field.Each(&errs, status.RequestMappings) {
		at := at.Index(i)
		if ctr := byName[m.ContainerName]; ctr == nil {
			errs = append(errs, field.Invalid(at.Child("containerName"), m.ContainerName,
				"must match the name of an entry in spec.initContainers.name or spec.containers.name"))
		} else if _, ok := ctr.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
			errs = append(errs, field.Invalid(at.Child("resourceName"), m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"))
		}
		errs = append(errs, check.DNSLabel(p.Child("requestName"), m.RequestName)...)
		if seen[*m] {
			errs = append(errs,
				field.Duplicate(at.Child("containerName"), m.ContainerName),
				field.Duplicate(at.Child("resourceName"), m.ResourceName),
				field.Duplicate(at.Child("requestName"), m.RequestName))
		}
		seen[*m] = true
	}
	return append(errs, check.Needed(p.Child("resourceClaimName"), status.ResourceClaimName, check.DNSSubdomain)...)
}
