package core

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// maxHealthMessage is the longest message about the health of a resource, in bytes.
const maxHealthMessage = 1024

// containerStatuses checks users (KEP-3619) and the health of allocated devices (KEP-4680) in the
// statuses of all containers. p is the path of the pod's status.
func containerStatuses(p *field.Path, pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	s := &pod.Status
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	errs = append(errs, statusUsers(p.Child("containerStatuses"), s.ContainerStatuses, windows)...)
	errs = append(errs, statusUsers(p.Child("initContainerStatuses"), s.InitContainerStatuses, windows)...)
	errs = append(errs, statusUsers(p.Child("ephemeralContainerStatuses"), s.EphemeralContainerStatuses, windows)...)
	errs = append(errs, allocatedStatuses(p.Child("containerStatuses"), s.ContainerStatuses, pod.Spec.Containers)...)
	errs = append(errs, allocatedStatuses(p.Child("initContainerStatuses"), s.InitContainerStatuses,
		pod.Spec.InitContainers)...)
	for i, c := range field.Each(&errs, s.EphemeralContainerStatuses) {
		if len(c.AllocatedResourcesStatus) > 0 {
			errs = append(errs, field.Forbidden(
				p.Child("ephemeralContainerStatuses").Index(i).Child("allocatedResourcesStatus"),
				"must not be specified in container status"))
		}
	}
	return errs
}

// statusUsers checks the numbers of the user and the groups that containers run as. A Windows pod
// must have none.
func statusUsers(p *field.Path, statuses []corev1.ContainerStatus, windows bool) field.ErrorList {
	var errs field.ErrorList
	for i, c := range field.Each(&errs, statuses) {
		if c.User == nil || c.User.Linux == nil {
			continue
		}
		p, user := p.Index(i).Child("user", "linux"), c.User.Linux
		if windows {
			errs = append(errs, field.Forbidden(p, "cannot be set for a windows pod"))
			continue
		}
		errs = append(errs, check.UserID(p.Child("uid"), &user.UID)...)
		errs = append(errs, check.GroupID(p.Child("gid"), &user.GID)...)
		for i, group := range field.Each(&errs, user.SupplementalGroups) {
			errs = append(errs, check.GroupID(p.Child("supplementalGroups").Index(i), group)...)
		}
	}
	return errs
}

// allocatedStatuses checks the health of the resources that containers were allocated. Each must be
// one that its container in list requests. The status of a container that is not in list is not
// compared.
func allocatedStatuses(p *field.Path, statuses []corev1.ContainerStatus, list []corev1.Container) field.ErrorList {
	if !slices.ContainsFunc(statuses,
		func(c corev1.ContainerStatus) bool { return len(c.AllocatedResourcesStatus) > 0 }) {
		return nil // the usual case, and no map is made
	}
	var errs field.ErrorList
	byName := make(map[string]*corev1.Container, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	for i, c := range field.Each(&errs, statuses) {
		ctr, p := byName[c.Name], p.Index(i).Child("allocatedResourcesStatus")
		for j, allocated := range field.Each(&errs, c.AllocatedResourcesStatus) {
			p := p.Index(j)
			if ctr != nil {
				errs = append(errs, askedFor(p.Child("name"), ctr, allocated.Name)...)
			}
			errs = append(errs, checkHealth(p.Child("resources"), allocated.Resources)...)
		}
	}
	return errs
}

// askedFor checks that a container requests a resource: by its name, or as "claim:<claim>" or
// "claim:<claim>/<request>".
func askedFor(p *field.Path, ctr *corev1.Container, name corev1.ResourceName) field.ErrorList {
	claimed, ok := strings.CutPrefix(string(name), "claim:")
	if !ok {
		if _, ok := ctr.Resources.Requests[name]; ok {
			return nil
		}
		return field.ErrorList{field.Invalid(p, name, "must match one of the container's resource requests")}
	}
	for _, claim := range ctr.Resources.Claims {
		if claimed == claim.Name && claim.Request == "" ||
			claim.Request != "" && claimed == claim.Name+"/"+claim.Request {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(p, name,
		"must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty")}
}

// checkHealth checks the health of the devices of one resource. Each device occurs once.
func checkHealth(p *field.Path, list []corev1.ResourceHealth) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, r := range field.Each(&errs, list) {
		p := p.Index(i)
		errs = append(errs, check.Supported(p.Child("health"), r.Health,
			corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy,
			corev1.ResourceHealthStatusUnknown)...)
		switch {
		case r.Message == nil:
		case *r.Message == "":
			errs = append(errs, field.Required(p.Child("message"), "must be non-empty if specified"))
		case len(*r.Message) > maxHealthMessage:
			errs = append(errs, field.TooLong(p.Child("message"), *r.Message, maxHealthMessage))
		}
		if !seen.Add(string(r.ResourceID)) {
			errs = append(errs, field.Duplicate(p.Child("resourceID"), r.ResourceID))
		}
	}
	return errs
}
