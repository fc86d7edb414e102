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

// standardResources are the names without a domain that mean something, in containers or in quotas.
var standardResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceStorage, corev1.ResourceRequestsStorage,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
}

// countedResources are objects that quotas count.
var countedResources = []corev1.ResourceName{
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
}

var containerResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
}

// IsNativeResource reports whether a resource name belongs to Kubernetes: it has no domain, or one
// of ours.
func IsNativeResource(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

// IsExtendedResource reports whether a resource name belongs to somebody else, such as a device
// plugin.
func IsExtendedResource(name corev1.ResourceName) bool {
	return !IsNativeResource(name) && !strings.HasPrefix(string(name), "requests.") &&
		len(names.IsQualifiedName("requests."+string(name))) == 0
}

// IsStandardResource reports whether a name without a domain means something, in containers or in
// quotas.
func IsStandardResource(name corev1.ResourceName) bool {
	of := corev1.ResourceName(strings.TrimPrefix(string(name), "requests."))
	return slices.Contains(standardResources, name) || corev1.IsHugePages(of)
}

// isWhole reports whether an amount is a whole number.
func isWhole(q meta.Quantity) bool { return q.RoundUp(0) == q }

// CanOvercommit reports whether more of a resource may be limited than requested.
func CanOvercommit(name corev1.ResourceName) bool {
	return IsNativeResource(name) && !corev1.IsHugePages(name)
}

// ResourceName checks a name wherever resources are named.
func ResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := check.Invalid(p, name, names.IsQualifiedName(string(name))); len(errs) > 0 {
		return errs
	}
	if !strings.Contains(string(name), "/") && !IsStandardResource(name) {
		return field.ErrorList{field.Invalid(p, name, "must be a standard resource type or fully qualified")}
	}
	return nil
}

// ContainerResourceName checks a name in the resources of a container.
func ContainerResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	return append(ResourceName(p, name), ContainerResource(p, name)...)
}

// ContainerResource checks that containers can have a resource.
func ContainerResource(p *field.Path, name corev1.ResourceName) field.ErrorList {
	var errs field.ErrorList
	switch {
	case !strings.Contains(string(name), "/"):
		if !slices.Contains(containerResources, name) && !corev1.IsHugePages(name) {
			errs = append(errs, field.Invalid(p, name, "must be a standard resource for containers"))
		}
	case !IsNativeResource(name) && !IsExtendedResource(name):
		errs = append(errs, field.Invalid(p, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// ClaimResourceName checks the name of a resource in the status of a claim: of Kubernetes' own
// there is storage.
func ClaimResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := check.QualifiedName(p, string(name))
	if len(errs) == 0 && IsNativeResource(name) {
		errs = check.Supported(p, name, corev1.ResourceStorage)
	}
	return errs
}

// ResourceAmount checks the amount of a resource.
func ResourceAmount(p *field.Path, name corev1.ResourceName, q meta.Quantity) field.ErrorList {
	errs := check.NonNegativeQuantity(p, q)
	if (slices.Contains(countedResources, name) || IsExtendedResource(name)) && !isWhole(q) {
		errs = append(errs, field.Invalid(p, q, "must be an integer"))
	}
	return errs
}

// BasicAmount checks an amount that a status or a volume tells of.
func BasicAmount(p *field.Path, q meta.Quantity) field.ErrorList {
	if n := q.Value(); n < 0 {
		return field.ErrorList{field.Invalid(p, n, "must be a valid resource quantity")}
	}
	return nil
}

// wholePages checks that an amount of huge pages is a number of pages.
func (c requirements) wholePages(p *field.Path, name corev1.ResourceName, q meta.Quantity) field.ErrorList {
	if !corev1.IsHugePages(name) || areWholePages(name, q) || c.was.has(oddPages) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, q.String(),
		fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))}
}

func areWholePages(name corev1.ResourceName, q meta.Quantity) bool {
	page, err := meta.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	return err == nil && page.Sign() > 0 && isWhole(page) && q.Value()%page.Value() == 0
}

// requirements checks the resources of a container, or of a pod if nameRule says so. claims are the
// names of the pod's resource claims.
type requirements struct {
	nameRule func(*field.Path, corev1.ResourceName) field.ErrorList
	claims   claimNames
	was      *before
}

// claimNames are the names of the resource claims of a pod.
type claimNames struct {
	known check.Duplicates
	list  string // as messages show it
}

func newClaimNames(claims []corev1.PodResourceClaim) claimNames {
	if len(claims) == 0 {
		return claimNames{}
	}
	c := claimNames{known: check.Duplicates{}}
	for i := range claims {
		if claims[i].Name != "" {
			c.known.Add(claims[i].Name)
		}
	}
	c.list = field.Cut(strings.Join(slices.Sorted(maps.Keys(c.known)), ", "), field.MaxText)
	return c
}

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
		if !c.claims.known[claim.Name] {
			err := field.NotFound(p, claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(c.claims.known) == 0 {
				err.Detail += " which is empty"
			} else {
				err.Detail += ": " + c.claims.list
			}
			errs = append(errs, err)
		}
	}
	return errs
}

// claimParts are the claims that a container has named so far: of each the requests, "" for all of
// them.
type claimParts map[string]check.Duplicates

// check refuses what overlaps with an earlier claim.
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

// podResources checks resources given for a pod as a whole, also against those of its containers.
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

func podResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := ResourceName(p, name); len(errs) > 0 || corev1.IsPodLevelResource(name) {
		return errs
	}
	return field.ErrorList{field.NotSupported(p, name,
		[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceHugePagesPrefix, corev1.ResourceMemory})}
}

// Overhead checks what running a pod takes beside its containers.
func (r Rules) Overhead(p *field.Path, list corev1.ResourceList) field.ErrorList {
	return requirements{nameRule: ContainerResourceName, was: r.was}.check(p,
		&corev1.ResourceRequirements{Limits: list})
}
