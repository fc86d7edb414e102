package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks amounts of resources: requests and limits of containers and of whole pods,
// overhead, and the names of resources wherever they occur (registry/core uses them for nodes,
// quotas and limit ranges).

// standardResources are the names without a domain that have a meaning, in containers or in quotas.
// Huge pages have a name for each page size and are not listed.
var standardResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceStorage, corev1.ResourceRequestsStorage,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
}

// countedResources are the resources that count objects, so that an amount must be a whole number.
var countedResources = []corev1.ResourceName{
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
}

// containerResources are the standard resources that a container can request, beside huge pages.
var containerResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
}

// IsStandardResource reports whether a name without a domain has a meaning, in containers or in
// quotas.
func IsStandardResource(name corev1.ResourceName) bool {
	of := corev1.ResourceName(strings.TrimPrefix(string(name), "requests."))
	return slices.Contains(standardResources, name) || corev1.IsHugePages(of)
}

// isWhole reports whether an amount is a whole number.
func isWhole(q meta.Quantity) bool { return q.RoundUp(0) == q }

// CanOvercommit reports whether the limit of a resource may exceed the request. Huge pages and
// extended resources are allocated whole, so their limit equals their request.
func CanOvercommit(name corev1.ResourceName) bool {
	return corev1.IsNativeResource(name) && !corev1.IsHugePages(name)
}

// ResourceName returns what is wrong with the name of a resource at p, whatever it is used for.
func ResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := check.Invalid(p, name, names.IsQualifiedName(string(name))); len(errs) > 0 {
		return errs
	}
	if !strings.Contains(string(name), "/") && !IsStandardResource(name) {
		return field.ErrorList{field.Invalid(p, name, "must be a standard resource type or fully qualified")}
	}
	return nil
}

// ContainerResourceName returns what is wrong with a name at p in the resources of a container:
// what ResourceName and ContainerResource report.
func ContainerResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	return append(ResourceName(p, name), ContainerResource(p, name)...)
}

// ContainerResource returns an error if a container cannot have the resource whose name is at p. It
// does not check the form of the name.
func ContainerResource(p *field.Path, name corev1.ResourceName) field.ErrorList {
	var errs field.ErrorList
	switch {
	case !strings.Contains(string(name), "/"):
		if !slices.Contains(containerResources, name) && !corev1.IsHugePages(name) {
			errs = append(errs, field.Invalid(p, name, "must be a standard resource for containers"))
		}
	case !corev1.IsNativeResource(name) && !corev1.IsExtendedResource(name):
		errs = append(errs, field.Invalid(p, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// ClaimResourceName returns what is wrong with the name at p of a resource in the status of a
// PersistentVolumeClaim: of Kubernetes' own resources only storage is allowed.
func ClaimResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := check.QualifiedName(p, string(name))
	if len(errs) == 0 && corev1.IsNativeResource(name) {
		errs = check.Supported(p, name, corev1.ResourceStorage)
	}
	return errs
}

// ResourceAmount returns what is wrong with the amount q at p of a resource: it is negative, or it
// is a fraction although the resource is counted in whole numbers.
func ResourceAmount(p *field.Path, name corev1.ResourceName, q meta.Quantity) field.ErrorList {
	errs := check.NonNegativeQuantity(p, q)
	if (slices.Contains(countedResources, name) || corev1.IsExtendedResource(name)) && !isWhole(q) {
		errs = append(errs, field.Invalid(p, q, "must be an integer"))
	}
	return errs
}

// BasicAmount returns an error if the amount q at p, rounded to a whole number, is negative. It is
// for the capacity of claims and volumes.
func BasicAmount(p *field.Path, q meta.Quantity) field.ErrorList {
	if n := q.Value(); n < 0 {
		return field.ErrorList{field.Invalid(p, n, "must be a valid resource quantity")}
	}
	return nil
}

// wholePages checks that an amount of huge pages is a multiple of the page size, which is in the
// name: hugepages-2Mi. An update may keep other amounts.
func (c requirements) wholePages(p *field.Path, name corev1.ResourceName, q meta.Quantity) field.ErrorList {
	if !corev1.IsHugePages(name) || areWholePages(name, q) || c.was.has(partialHugePages) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, q.String(),
		fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))}
}

// areWholePages reports whether an amount of huge pages is a multiple of the page size, which the
// name gives: 5Mi of hugepages-2Mi are not. A name whose page size is no positive whole quantity
// has no valid amount.
func areWholePages(name corev1.ResourceName, q meta.Quantity) bool {
	page, err := meta.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	return err == nil && page.Sign() > 0 && isWhole(page) && q.Value()%page.Value() == 0
}

// requirements checks the resources of a container or of a whole pod. nameRule checks the name of a
// resource, claims are the resource claims of the pod, and was is the spec before an update.
type requirements struct {
	nameRule func(*field.Path, corev1.ResourceName) field.ErrorList
	claims   claimNames
	was      *before
}

// claimNames are the names of the resource claims of a pod. list has them sorted and joined, cut to
// field.MaxText, since each error about an unknown claim repeats it.
type claimNames struct {
	names check.Duplicates
	list  string // for messages
}

// newClaimNames collects the names of claims, without empty ones.
func newClaimNames(claims []corev1.PodResourceClaim) claimNames {
	if len(claims) == 0 {
		return claimNames{}
	}
	c := claimNames{names: check.Duplicates{}}
	for i := range claims {
		if claims[i].Name != "" {
			c.names.Add(claims[i].Name)
		}
	}
	c.list = field.Cut(strings.Join(slices.Sorted(maps.Keys(c.names)), ", "), field.MaxText)
	return c
}

// check returns what is wrong with limits, requests and claims at p. A request is at most the
// limit, and equals it if the resource cannot be overcommitted. Huge pages need cpu or memory
// beside them, since a pod cannot run on huge pages alone.
func (c requirements) check(p *field.Path, r *corev1.ResourceRequirements) field.ErrorList {
	var errs field.ErrorList
	limits, requests := p.Child("limits"), p.Child("requests")
	var compute, huge bool
	each := func(p *field.Path, name corev1.ResourceName, q meta.Quantity) {
		errs = append(errs, check.Apply(p, name, c.nameRule)...)
		errs = append(errs, ResourceAmount(p, name, q)...)
		huge = huge || corev1.IsHugePages(name)
		compute = compute || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for name, q := range field.Entries(&errs, r.Limits) {
		at := limits.Key(string(name))
		each(at, name, q)
		errs = append(errs, c.wholePages(at, name, q)...)
	}
	for name, q := range field.Entries(&errs, r.Requests) {
		at := requests.Key(string(name))
		each(at, name, q)
		limit, ok := r.Limits[name]
		switch {
		case !ok && !CanOvercommit(name):
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case !ok:
		case q.Cmp(limit) != 0 && !CanOvercommit(name):
			errs = append(errs, field.Invalid(requests, q.String(),
				fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case q.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, q.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
		errs = append(errs, c.wholePages(at, name, q)...)
	}
	if huge && !compute {
		errs = append(errs, field.Forbidden(p, "HugePages require cpu or memory"))
	}
	return append(errs, c.checkClaims(p.Child("claims"), r.Claims)...)
}

// checkClaims checks the claims that a container uses, which are claims of the pod.
func (c requirements) checkClaims(p *field.Path, claims []corev1.ResourceClaim) field.ErrorList {
	var errs field.ErrorList
	seen := claimParts{}
	for i, claim := range field.Each(&errs, claims) {
		p := p.Index(i)
		if claim.Name == "" {
			errs = append(errs, field.Required(p, ""))
			continue
		}
		errs = append(errs, seen.check(p, claim)...)
		if !c.claims.names[claim.Name] {
			err := field.NotFound(p, claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(c.claims.names) == 0 {
				err.Detail += " which is empty"
			} else {
				err.Detail += ": " + c.claims.list
			}
			errs = append(errs, err)
		}
	}
	return errs
}

// claimParts are the claims that a container has named so far: for each claim the set of its
// requests. The empty request stands for the whole claim.
type claimParts map[string]check.Duplicates

// check refuses a claim that an earlier entry of the container covers: the whole claim beside
// anything of the same claim, or the same request twice.
func (seen claimParts) check(p *field.Path, claim *corev1.ResourceClaim) field.ErrorList {
	parts, request := seen[claim.Name], claim.Request
	if parts == nil {
		parts = check.Duplicates{}
		seen[claim.Name] = parts
	}
	if all := parts[""]; all || request == "" && len(parts) > 0 {
		parts.Add(request)
		return field.ErrorList{field.Duplicate(p, claim.Name)}
	}
	var errs field.ErrorList
	if request != "" {
		errs = check.DNSLabel(p.Child("request"), request)
	}
	if !parts.Add(request) {
		errs = append(errs, field.Duplicate(p, claim.Name+"/"+request))
	}
	return errs
}

// podResources checks the resources of the pod as a whole (KEP-2837), alone and against the
// containers: the pod requests at least what its containers request at the busiest moment, its
// limits of huge pages cover theirs, and no container's limit exceeds the pod's. Windows has no
// pod-level resources.
func (c *specCheck) podResources(p *field.Path) field.ErrorList {
	spec, r := c.spec, c.spec.Resources
	if r == nil {
		return nil
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(p, "may not be set for a windows pod")}
	}
	var errs field.ErrorList
	if r.Claims != nil {
		errs = append(errs, field.Forbidden(p.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	errs = append(errs, requirements{nameRule: podResourceName, claims: c.claims, was: c.was}.check(p, r)...)

	sums := corev1.ContainerRequests(spec)
	for name, q := range field.Entries(&errs, r.Requests) {
		if sum, ok := sums[name]; ok && sum.Cmp(q) > 0 {
			errs = append(errs, field.Invalid(p.Child("requests").Key(string(name)), q.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String()))
		}
	}
	huge := corev1.ContainerLimits(spec)
	for name, q := range field.Entries(&errs, r.Limits) {
		if sum, ok := huge[name]; ok && corev1.IsHugePages(name) && sum.Cmp(q) > 0 {
			errs = append(errs, field.Invalid(p.Child("limits").Key(string(name)), q.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String()))
		}
	}
	for i, ctr := range field.Each(&errs, spec.Containers) {
		for name, q := range field.Entries(&errs, ctr.Resources.Limits) {
			if limit, ok := r.Limits[name]; ok && q.Cmp(limit) > 0 {
				errs = append(errs, field.Invalid(p.Child("containers").Index(i).Key(string(name)).Child("limits"),
					q.String(),
					"must be less than or equal to pod limits of "+limit.String()))
			}
		}
	}
	return errs
}

// podResourceName checks the name of a pod-level resource.
func podResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := ResourceName(p, name); len(errs) > 0 || corev1.IsPodLevelResource(name) {
		return errs
	}
	return field.ErrorList{field.NotSupported(p, name,
		[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceHugePagesPrefix, corev1.ResourceMemory})}
}

// Overhead returns what is wrong with the resources at p that the sandbox of a pod takes in
// addition to its containers (RuntimeClass, KEP-688).
func (r Rules) Overhead(p *field.Path, list corev1.ResourceList) field.ErrorList {
	return requirements{nameRule: ContainerResourceName, was: r.was}.check(p,
		&corev1.ResourceRequirements{Limits: list})
}
