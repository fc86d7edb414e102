package admission

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin LimitRanger. The chain calls Mutate, which sets defaults (completePod),
// and Validate, which checks bounds (breaches). resourceUse compares one resource with its bound.

// LimitRanger is the plugin of that name. It completes the requests and limits of containers from
// the limit ranges of their namespace, and refuses pods and claims that are outside of a range.
//
// LimitRanger acts on new pods, on resizes of pods, and on new and updated claims. Other updates of
// a pod cannot change its resources. Objects that are being deleted are exempt.
type LimitRanger struct {
	ranges LimitRanges
}

// LimitRanges returns the limit ranges of a namespace, sorted by name. They must not be changed.
// The error is a *meta.StatusError.
type LimitRanges func(ctx context.Context, namespace string, fresh request.Freshness) ([]*corev1.LimitRange, error)

// NewLimitRanger returns the plugin. It reads the limit ranges through r.
func NewLimitRanger(r LimitRanges) LimitRanger { return LimitRanger{r} }

// Name is the plugin's name.
func (LimitRanger) Name() string { return "LimitRanger" }

// Handles is true for creates and updates.
func (LimitRanger) Handles(op Operation) bool { return op == Create || op == Update }

// limited returns the pod or the claim of a write that limit ranges bound; both are nil for all
// other writes.
func limited(a *Attributes) (*corev1.Pod, *corev1.PersistentVolumeClaim) {
	if a.Resource.Group != "" || a.Old != nil && a.Old.GetObjectMeta().DeletionTimestamp != nil {
		return nil, nil
	}
	create, resize := a.Operation == Create && a.Subresource == "", a.Operation == Update && a.Subresource == "resize"
	switch obj := a.Object.(type) {
	case *corev1.Pod:
		if a.Resource.Resource == "pods" && (create || resize) {
			return obj, nil
		}
	case *corev1.PersistentVolumeClaim:
		if a.Resource.Resource == "persistentvolumeclaims" && a.Subresource == "" {
			return nil, obj
		}
	}
	return nil, nil
}

// Mutate completes the resources of a pod. If several limit ranges give a default, the first one by
// name counts. The annotation names only the defaults of the last limit range that gave any.
func (l LimitRanger) Mutate(ctx context.Context, a *Attributes) error {
	pod, _ := limited(a)
	if pod == nil {
		return nil
	}
	ranges, err := l.of(ctx, a)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		for i := range r.Spec.Limits { // validation allows one item of each type
			if item := &r.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
				completePod(pod, item)
			}
		}
	}
	return nil
}

// Validate refuses a pod or claim that is outside of a limit range. The message lists all mistakes
// by the first such range.
func (l LimitRanger) Validate(ctx context.Context, a *Attributes) error {
	pod, claim := limited(a)
	if pod == nil && claim == nil {
		return nil
	}
	ranges, err := l.of(ctx, a)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		var found breaches
		for i := range r.Spec.Limits {
			if item := &r.Spec.Limits[i]; pod != nil {
				found.checkPod(item, &pod.Spec)
			} else {
				found.checkClaim(item, claim.Spec.Resources.Requests)
			}
		}
		if len(found.texts) > 0 {
			return a.Forbidden("%s", found.text())
		}
	}
	return nil
}

// of returns the limit ranges of the namespace of a write. If the cache has none, another server
// may just have created one, so of asks the store. It need not ask if a plugin has read the
// namespace consistently in this run: the caches of all resources are then as new as that read.
func (l LimitRanger) of(ctx context.Context, a *Attributes) ([]*corev1.LimitRange, error) {
	ranges, err := l.ranges(ctx, a.Namespace, request.Cached)
	if err != nil {
		return nil, a.Forbidden("unable to %s %s/%s, Resource=%s at this time because there was an error enforcing "+
			"limit ranges", a.Operation, a.Resource.Group, a.Resource.Version, a.Resource.Resource)
	}
	if len(ranges) > 0 || a.within.read && a.within.fresh == request.Consistent {
		return ranges, nil
	}
	ranges, err = l.ranges(ctx, a.Namespace, request.Consistent)
	if err != nil {
		return nil, a.Forbidden("%s", err)
	}
	return ranges, nil
}

// limitRangerAnnotation says what LimitRanger has set in a pod.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// completePod gives the containers of a pod the limits and requests that item has as defaults, and
// notes in the annotation what it has set.
func completePod(pod *corev1.Pod, item *corev1.LimitRangeItem) {
	done := completeContainers(nil, "container", pod.Spec.Containers, item)
	done = completeContainers(done, "init container", pod.Spec.InitContainers, item)
	if len(done) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(done, "; ")
}

// completeContainers completes containers from item, and appends to done what it has set. what is
// the annotation's word for the containers.
func completeContainers(
	done []string, what string, containers []corev1.Container, item *corev1.LimitRangeItem,
) []string {
	for i := range containers {
		c := &containers[i]
		if names := completeList(&c.Resources.Requests, item.DefaultRequest); names != "" {
			done = append(done, names+" request for "+what+" "+c.Name)
		}
		if names := completeList(&c.Resources.Limits, item.Default); names != "" {
			done = append(done, names+" limit for "+what+" "+c.Name)
		}
	}
	return done
}

// completeList adds the amounts of resources that a list lacks. It returns the names of those
// resources, sorted and joined by commas.
func completeList(list *corev1.ResourceList, more corev1.ResourceList) string {
	var added []string
	for name, q := range more {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = make(corev1.ResourceList, len(more))
		}
		(*list)[name] = q
		added = append(added, string(name))
	}
	slices.Sort(added)
	return strings.Join(added, ", ")
}

// breaches collects messages about amounts outside the bounds of one limit range, each message
// once. It stops when it has more than field.MaxErrors.
type breaches struct {
	texts []string
	seen  map[string]bool // those in texts
}

// checkPod checks each container of a pod, or the pod as a whole, as the type of item says.
func (b *breaches) checkPod(item *corev1.LimitRangeItem, spec *corev1.PodSpec) {
	switch item.Type {
	case corev1.LimitTypeContainer:
		for i := range spec.Containers {
			r := &spec.Containers[i].Resources
			b.check(item, r.Requests, r.Limits)
		}
		for i := range spec.InitContainers {
			r := &spec.InitContainers[i].Resources
			b.check(item, r.Requests, r.Limits)
		}
	case corev1.LimitTypePod:
		requests, limits := corev1.ContainerRequests(spec), corev1.ContainerLimits(spec)
		if r := spec.Resources; r != nil {
			overrideSums(requests, r.Requests)
			overrideSums(limits, r.Limits)
		}
		b.check(item, requests, limits)
	}
}

// overrideSums replaces the sums of containers by the amounts of the pod as a whole. As in
// Kubernetes, it does so only for CPU and memory: limit ranges ignore huge pages of the pod as a
// whole.
func overrideSums(sums, whole corev1.ResourceList) {
	for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := whole[name]; ok {
			sums[name] = q
		}
	}
}

// check checks requests and limits against the minimum, the maximum and the ratio of item, in this
// order.
func (b *breaches) check(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) {
	b.each(item, item.Min, requests, limits, resourceUse.belowMin)
	b.each(item, item.Max, requests, limits, resourceUse.aboveMax)
	b.each(item, item.MaxLimitRequestRatio, requests, limits, resourceUse.aboveRatio)
}

// checkClaim checks the requests of a claim. The limits of claims do not count.
func (b *breaches) checkClaim(item *corev1.LimitRangeItem, requests corev1.ResourceList) {
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		b.each(item, item.Min, requests, nil, resourceUse.belowMin)
		b.each(item, item.Max, requests, nil, resourceUse.requestAboveMax)
	}
}

// each calls wrong with the use of each resource that has a bound in item, and keeps the messages.
func (b *breaches) each(
	item *corev1.LimitRangeItem, bounds, requests, limits corev1.ResourceList, wrong func(resourceUse) string,
) {
	first := len(b.texts)
	if first > field.MaxErrors {
		return
	}
	for name, bound := range bounds {
		text := wrong(useOf(item.Type, name, bound, requests, limits))
		if text == "" || b.seen[text] {
			continue
		}
		if b.seen == nil {
			b.seen = map[string]bool{}
		}
		b.seen[text] = true
		b.texts = append(b.texts, text)
	}
	slices.Sort(b.texts[first:]) // by resource, because the texts in front of its name are equal
}

// text returns the messages as one: a single one as it is, several in brackets. Beyond
// field.MaxErrors, it says how many more there are at least.
func (b *breaches) text() string {
	texts := b.texts
	if len(texts) == 1 {
		return texts[0]
	}
	if more := len(texts) - field.MaxErrors; more > 0 {
		texts = append(texts[:field.MaxErrors], fmt.Sprintf("and at least %d more", more))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// resourceUse has the request and the limit of a container, a pod or a claim for one resource, and
// the bound that a limit range sets for it. The integers are the three amounts in one unit.
type resourceUse struct {
	of                       corev1.LimitType // what uses the resource
	name                     corev1.ResourceName
	request, limit, bound    meta.Quantity
	requested, limited       bool // request and limit are given
	requestN, limitN, boundN int64
}

// maxMilli is the largest amount whose thousandths fit into an int64.
const maxMilli = math.MaxInt64 / 1000

// useOf returns the use of a resource. The unit is a thousandth if the three amounts allow it.
// Otherwise it is one, and fractions are rounded up.
func useOf(
	of corev1.LimitType, name corev1.ResourceName, bound meta.Quantity, requests, limits corev1.ResourceList,
) resourceUse {
	u := resourceUse{of: of, name: name, bound: bound}
	u.request, u.requested = requests[name]
	u.limit, u.limited = limits[name]
	u.requestN, u.limitN, u.boundN = u.request.Value(), u.limit.Value(), bound.Value()
	if max(u.requestN, u.limitN, u.boundN) <= maxMilli {
		u.requestN, u.limitN, u.boundN = u.request.MilliValue(), u.limit.MilliValue(), bound.MilliValue()
	}
	return u
}

// belowMin returns the message if the use is below the minimum u.bound, else "".
func (u resourceUse) belowMin() string {
	switch {
	case !u.requested:
		return u.says("minimum", ".  No request is specified")
	case u.requestN < u.boundN:
		return u.says("minimum", ", but request is "+u.request.String())
	case u.limited && u.limitN < u.boundN:
		return u.says("minimum", ", but limit is "+u.limit.String())
	}
	return ""
}

// aboveMax returns the message if the use is above the maximum u.bound, else "".
func (u resourceUse) aboveMax() string {
	switch {
	case !u.limited:
		return u.says("maximum", ".  No limit is specified")
	case u.limitN > u.boundN:
		return u.says("maximum", ", but limit is "+u.limit.String())
	case u.requested && u.requestN > u.boundN:
		return u.says("maximum", ", but request is "+u.request.String())
	}
	return ""
}

// requestAboveMax returns the message if the request is above the maximum u.bound, else "". It
// ignores the limit.
func (u resourceUse) requestAboveMax() string {
	switch {
	case !u.requested:
		return u.says("maximum", ".  No request is specified")
	case u.requestN > u.boundN:
		return u.says("maximum", ", but request is "+u.request.String())
	}
	return ""
}

// says returns the message about a bound that is broken.
func (u resourceUse) says(bound, why string) string {
	return fmt.Sprintf("%s %s usage per %s is %s%s", bound, u.name, u.of, u.bound.String(), why)
}

// aboveRatio returns the message if the ratio of limit to request is above the maximum u.bound,
// else "".
func (u resourceUse) aboveRatio() string {
	why := ""
	switch ratio := float64(u.limitN) / float64(u.requestN); {
	case !u.requested || u.requestN == 0:
		why = "no request is specified or request is 0"
	case !u.limited || u.limitN == 0:
		why = "no limit is specified or limit is 0"
	case u.exceeds(ratio):
		why = fmt.Sprintf("provided ratio is %f", ratio)
	default:
		return ""
	}
	return fmt.Sprintf("%s max limit to request ratio per %s is %s, but %s", u.name, u.of, u.bound.String(), why)
}

// exceeds reports whether a ratio is greater than u.bound. It compares thousandths if the bound
// allows that. The floating-point operations are those of Kubernetes, so that both round alike.
func (u resourceUse) exceeds(ratio float64) bool {
	if u.bound.Value() <= maxMilli {
		return ratio*1000 > float64(u.bound.MilliValue())
	}
	return ratio > float64(u.bound.Value())
}
