// Package quota decides what a write takes from the ResourceQuotas of its namespace. It is the
// algorithm of the admission plugin ResourceQuota.
//
// Words. A quota limits resources in a namespace: its status has the limits (hard) and what is
// used. The usage of an object is the amount that it uses of each resource. A quota tracks the
// resources of an object that are among its limits, if the object is in all scopes of the quota. A
// charge is what a write adds to the used amounts of one quota. A limited resource is one that
// objects may use only if a quota limits it (LimitedResource).
//
// Laws:
//   - A new object is charged with its usage, an update with what the object uses beyond the old
//     one. Only amounts above zero are charged.
//   - A write is admitted if each quota that tracks the object has room for the charge. It is
//     charged to all of them or to none. A write of a status is charged even if there is no room:
//     it reports a fact.
//   - The usage of an object is that of Kubernetes 1.36 with its default feature gates, and so are
//     the messages of refusals.
//
// Nothing here reads a store, a clock or the network, and nothing is kept between calls. All
// functions may be called concurrently. A Request belongs to one goroutine at a time, and its
// objects must not change while Check runs. Objects and quotas are only read.
//
// A plugin handles a write like this:
//
//	if !quota.Handles(a) { return }       // no allocation
//	quotas := ...                         // of a.Namespace; return if they and limited are empty
//	r := quota.Measure(a, surroundings)   // once for a write
//	charges, err := r.Check(quotas, limited)
//
// To decide several waiting writes together, the plugin copies the quotas once, calls Check for one
// write after another, adds the charges of each to the copies (Amounts.AddTo), and then writes the
// copies that have changed.
//
// Not here: where quotas come from, how charges are written, what happens when a write fails
// (Amounts.TakeFrom gives back), and the recount of used amounts. A recount uses Sources,
// CountsOnly, Standalone, Selects and Usage.
//
// Read: quota.go, request.go, amounts.go, scopes.go; then pod.go with tally.go, service.go,
// claim.go and devices.go, each for the usage of one kind; configuration.go.
package quota

import (
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Surroundings are the facts outside an object on which its usage depends. A nil function means
// that there are no such objects. Only the usage of ResourceClaims needs the functions.
type Surroundings struct {
	// Now is the present time. A pod that should have ended before Now uses no compute resources.
	Now time.Time
	// Classes returns all DeviceClasses.
	Classes func() []*resourcev1.DeviceClass
	// Pod returns a pod; nil if it does not exist or cannot be read.
	Pod func(namespace, name string) *corev1.Pod
	// Claims returns the ResourceClaims of a namespace that the pod with a UID controls; it may
	// return others as well. It reports false if they cannot be read.
	Claims func(namespace string, pod meta.UID) ([]*resourcev1.ResourceClaim, bool)
}

// classes returns all DeviceClasses.
func (s Surroundings) classes() []*resourcev1.DeviceClass {
	if s.Classes == nil {
		return nil
	}
	return s.Classes()
}

// Handles reports whether quotas can matter for a write: it is in a namespace, and it is a create,
// or an update that can raise the usage of its object.
func Handles(a *admission.Attributes) bool {
	if a.Namespace == "" || a.Operation != admission.Create && a.Operation != admission.Update {
		return false
	}
	gr := a.Resource.GroupResource()
	if a.Operation == admission.Create && gr == (meta.GroupResource{Resource: "namespaces"}) {
		return false
	}
	if Ignored(gr) {
		return false
	}
	if e := special(gr); e != nil {
		return e.handles(a)
	}
	return counter(gr).handles(a) // not as an evaluator, which would allocate
}

// Ignored reports whether quotas never count the objects of a resource: events, and resources whose
// objects are not stored.
func Ignored(resource meta.GroupResource) bool {
	switch resource.Group {
	case "":
		return resource.Resource == "bindings" || resource.Resource == "componentstatuses" ||
			resource.Resource == "events"
	case "events.k8s.io":
		return resource.Resource == "events"
	case "authentication.k8s.io":
		return resource.Resource == "tokenreviews" || resource.Resource == "selfsubjectreviews"
	case "authorization.k8s.io":
		return slices.Contains(reviews, resource.Resource)
	}
	return false
}

// reviews are the resources of authorization.k8s.io, none of which is stored.
var reviews = []string{
	"subjectaccessreviews", "selfsubjectaccessreviews", "localsubjectaccessreviews", "selfsubjectrulesreviews",
}

// Usage returns the usage of obj, an object of a resource in the hub version. The result may have
// amounts of 0.
func Usage(resource meta.GroupResource, obj meta.Typed, s Surroundings) Amounts {
	return evaluatorOf(resource).usage(obj, s)
}

// CountsOnly reports whether only the number of a resource's objects counts. Usage and Selects then
// do not look at obj, which may be nil.
func CountsOnly(resource meta.GroupResource) bool { return special(resource) == nil }

// Standalone reports whether the usage of a resource's objects depends on the object alone. While
// an object is being deleted, its usage also depends on the time.
func Standalone(resource meta.GroupResource) bool { return resource != resourceClaims }

// Tracks reports whether objects of a resource can use the limited resource of a name. For
// ResourceClaims, this depends on the DeviceClasses; classes must have all of them.
func Tracks(resource meta.GroupResource, name corev1.ResourceName, classes []*resourcev1.DeviceClass) bool {
	return evaluatorOf(resource).tracks(name, classes)
}

// Selects reports whether obj, an object of a resource, is in all scopes of a quota. The error says
// which scope of the quota is malformed.
func Selects(q *corev1.ResourceQuota, resource meta.GroupResource, obj meta.Typed) (bool, error) {
	in := true
	of := evaluatorOf(resource)
	err := eachScope(q, func(r *corev1.ScopedResourceSelectorRequirement) error {
		matched, err := of.inScope(r, obj)
		in = in && matched
		return err
	})
	return in && err == nil, err
}

// Sources returns the resources whose objects can use the limited resource of a name: those for
// which Tracks can be true. The result is empty if nothing is counted under the name. For the name
// count/x the result is the resource x, even if there is no such resource.
func Sources(name corev1.ResourceName) []meta.GroupResource {
	if object, ok := strings.CutPrefix(string(name), countPrefix); ok {
		resource, group, _ := strings.Cut(object, ".")
		gr := meta.GroupResource{Group: group, Resource: resource}
		if resource == "" || Ignored(gr) || string(countName(gr)) != string(name) {
			return nil
		}
		return []meta.GroupResource{gr}
	}
	var list []meta.GroupResource
	if (podEvaluator{}).tracks(name, nil) {
		list = append(list, pods)
	}
	if mayBeDevices(name) {
		list = append(list, resourceClaims)
	}
	for _, gr := range named {
		if evaluatorOf(gr).tracks(name, nil) {
			list = append(list, gr)
		}
	}
	return list
}

// The resources whose usage has other names than count/x.
var (
	pods           = meta.GroupResource{Resource: "pods"}
	services       = meta.GroupResource{Resource: "services"}
	volumeClaims   = meta.GroupResource{Resource: "persistentvolumeclaims"}
	resourceClaims = meta.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}

	// named are the resources that Sources asks one after another.
	named = []meta.GroupResource{
		services, volumeClaims, {Resource: "configmaps"}, {Resource: "resourcequotas"},
		{Resource: "replicationcontrollers"}, {Resource: "secrets"},
	}
)

// evaluator computes the usage of the objects of one resource, and says which scopes they are in.
type evaluator interface {
	// handles reports whether a write can raise the usage. It is a create or an update.
	handles(a *admission.Attributes) bool
	// tracks does for the resource what Tracks does.
	tracks(name corev1.ResourceName, classes []*resourcev1.DeviceClass) bool
	// usage does for the resource what Usage does.
	usage(obj meta.Typed, s Surroundings) Amounts
	// inScope reports whether an object is in a scope. The error says what is wrong with the scope.
	inScope(r *corev1.ScopedResourceSelectorRequirement, obj meta.Typed) (bool, error)
	// lacks returns an error if the object must state its amount of a limited resource but does not
	// state it.
	lacks(hard corev1.ResourceList, obj meta.Typed) error
}

// evaluatorOf returns the evaluator of a resource.
func evaluatorOf(resource meta.GroupResource) evaluator {
	if e := special(resource); e != nil {
		return e
	}
	return counter(resource)
}

// special returns the evaluator of a resource whose objects use more than a count; nil for all
// other resources.
func special(resource meta.GroupResource) evaluator {
	switch resource {
	case pods:
		return podEvaluator{}
	case services:
		return serviceEvaluator{}
	case volumeClaims:
		return volumeClaimEvaluator{}
	case resourceClaims:
		return deviceEvaluator{}
	}
	return nil
}

// unscoped is the part of an evaluator whose objects are in no scope and need not state any amount.
type unscoped struct{}

func (unscoped) inScope(*corev1.ScopedResourceSelectorRequirement, meta.Typed) (bool, error) {
	return false, nil
}

func (unscoped) lacks(corev1.ResourceList, meta.Typed) error { return nil }

// counter is the evaluator of a resource whose objects use only a count.
type counter meta.GroupResource

func (counter) handles(a *admission.Attributes) bool {
	return a.Subresource == "" && a.Operation == admission.Create
}

func (c counter) tracks(name corev1.ResourceName, _ []*resourcev1.DeviceClass) bool {
	if alias := c.alias(); alias != "" && name == alias {
		return true
	}
	return isCountOf(name, meta.GroupResource(c))
}

func (c counter) usage(meta.Typed, Surroundings) Amounts {
	list := Amounts{{countName(meta.GroupResource(c)), one}}
	if alias := c.alias(); alias != "" {
		list = append(list, Amount{alias, one})
	}
	return list
}

func (counter) inScope(r *corev1.ScopedResourceSelectorRequirement, obj meta.Typed) (bool, error) {
	return unscoped{}.inScope(r, obj)
}

func (counter) lacks(corev1.ResourceList, meta.Typed) error { return nil }

// alias returns the older name of the count of a resource, "" if it has none.
func (c counter) alias() corev1.ResourceName {
	if c.Group != "" {
		return ""
	}
	switch c.Resource {
	case "configmaps":
		return corev1.ResourceConfigMaps
	case "resourcequotas":
		return corev1.ResourceQuotas
	case "replicationcontrollers":
		return corev1.ResourceReplicationControllers
	case "secrets":
		return corev1.ResourceSecrets
	}
	return ""
}

const countPrefix = "count/"

// countName returns the name under which quotas count the objects of a resource.
func countName(gr meta.GroupResource) corev1.ResourceName {
	if gr.Group == "" {
		return corev1.ResourceName(countPrefix + gr.Resource)
	}
	return corev1.ResourceName(countPrefix + gr.Resource + "." + gr.Group)
}

// isCountOf reports whether name equals countName(gr). It does not allocate.
func isCountOf(name corev1.ResourceName, gr meta.GroupResource) bool {
	rest, ok := strings.CutPrefix(string(name), countPrefix)
	if !ok {
		return false
	}
	rest, ok = strings.CutPrefix(rest, gr.Resource)
	if !ok || gr.Group == "" {
		return ok && rest == ""
	}
	return len(rest) > 0 && rest[0] == '.' && rest[1:] == gr.Group
}
