package ownership

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file empties namespaces that are being deleted. The server calls Run; waiting.go wakes a
// namespace when an object of it is removed, and namespaceremote.go has the part for servers
// behind this one.

// Namespace empties namespaces that are being deleted: it deletes their objects, resource by
// resource, writes into the status what remains, and removes the finalizer "kubernetes" when
// nothing does.
//
// Kubernetes' namespace-controller lists every resource of discovery in each namespace, and looks
// again after an estimated time. Here Holds asks the store whether a resource has objects in the
// namespace, so a resource without objects costs no request, and Removals says when to look again.
type Namespace struct {
	// Client reads and writes namespaces, and deletes the objects in them.
	Client *client.Client
	// NamespacedResources returns the namespaced resources whose objects can be deleted, pods
	// first. It is called for each pass over a namespace, because resources come and go, and by
	// several workers at once.
	NamespacedResources func() []meta.GroupVersionResource
	// RemoteResources returns the namespaced resources of servers behind this one.
	RemoteResources func() RemoteResources
	// Holds reports whether the store has an object of a resource in a namespace.
	Holds func(ctx context.Context, resource meta.GroupResource, namespace string) (bool, error)
	// UnservedObjects counts the objects in a namespace whose resources are not served, because the
	// definitions of the resources cannot be read. Clients cannot delete these objects.
	UnservedObjects func(ctx context.Context, namespace string) ([]UnservedObjects, error)
	// Removals begins a feed of all removals that happen after the call.
	Removals func(ctx context.Context) (Removals, error)
	Log      *zap.Logger // gets a line for each failure; nil logs nothing

	waiting waiting
}

// UnservedObjects is the number of objects that a namespace has of a resource that is not served.
// Clients can neither read nor delete these objects.
type UnservedObjects struct {
	Resource meta.GroupResource
	Objects  int   // the number of objects
	Why      error // why the resource is not served
}

// namespaceWorkers is the number of namespaces that are emptied at once, as many as in
// kube-controller-manager (--concurrent-namespace-syncs).
const namespaceWorkers = 10

// retryRemaining is the pause before the next look at a namespace in which objects remain. A
// removal of one of the objects ends the pause. The finalizers of the objects may have changed by
// then, and the status of the namespace lists them.
const retryRemaining = 8 * time.Second

// Run empties namespaces until ctx ends.
func (c *Namespace) Run(ctx context.Context) {
	controller.Loop{
		Name:   "namespace",
		Source: c.source, Reconcile: c.reconcile, Workers: namespaceWorkers, Log: c.Log,
	}.Run(ctx)
	c.waiting.followers.Wait()
}

func (c *Namespace) namespaces() client.Resource[*corev1.Namespace] {
	return client.For[*corev1.Namespace](c.Client, corev1.GroupVersion.WithResource("namespaces"))
}

// source is the Source of the namespaces that are being deleted. Their names come from deletions,
// from waiting when one of their objects was removed, and from followRemote when the resources
// of servers behind this one have changed.
func (c *Namespace) source(ctx context.Context, add func(controller.Name), failed func(error)) {
	c.waiting.open, c.waiting.wake = c.Removals, func(namespace string) { add(controller.Name{Name: namespace}) }
	c.waiting.followers.Go(func() { c.followRemote(ctx) })
	c.deletions(ctx, add, failed)
}

// deletion is the part of a namespace that deletions follows. It is zero if the namespace is not
// being deleted.
type deletion struct {
	uid        meta.UID
	finalizers int // number of spec.finalizers
}

// deletions adds the name of a namespace when its deletion begins, when the number of its
// spec.finalizers changes, and when it is gone. It does not add the name after other changes. One
// of these is the status that report writes: it would queue the namespace each time, and so end the
// pause after a failure.
func (c *Namespace) deletions(ctx context.Context, add func(controller.Name), failed func(error)) {
	states := follow.Map(c.namespaces().Source(meta.ListOptions{}), func(ns *corev1.Namespace) deletion {
		if ns.Status.Phase != corev1.NamespaceTerminating {
			return deletion{}
		}
		return deletion{meta.UID(strings.Clone(string(ns.UID))), len(ns.Spec.Finalizers)}
	})
	for b := range follow.Changes(ctx, states, follow.Options{Old: true, Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Unread == nil && ch.New != ch.Old {
				add(ch.Name)
			}
		}
	}
}

// reconcile makes one attempt to empty a namespace, writes the status, and removes the finalizer if
// nothing remains. It adds the namespace to c.waiting before it looks, so that no removal after the
// look is missed.
func (c *Namespace) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	ns, err := c.namespaces().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		c.waiting.remove(name.Name)
		return 0, controller.IgnoreNotFound(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating || len(ns.Spec.Finalizers) == 0 {
		c.waiting.remove(name.Name)
		return 0, nil
	}
	if err := c.waiting.add(ctx, name.Name); err != nil {
		return 0, err
	}
	left := c.empty(ctx, name.Name)
	if ns, err = c.report(ctx, ns, left); err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	if len(left.errs) > 0 {
		return 0, left.errs[0]
	}
	if err := left.unknownErr(); err != nil {
		return 0, err
	}
	if left.objects > 0 {
		return retryRemaining, nil
	}
	c.waiting.remove(name.Name)
	return 0, controller.IgnoreNotFound(c.release(ctx, ns))
}

// remains says what is in a namespace after a pass over it.
type remains struct {
	objects    int                        // number of objects
	resources  map[meta.GroupResource]int // number of objects by resource
	finalizers map[string]int             // number of objects by finalizer
	unknown    []meta.GroupVersion        // versions elsewhere whose resources are not known, sorted
	errs       []error                    // why more objects may be there than were counted
}

// empty deletes everything in a namespace and returns what remains. It makes passes until one finds
// nothing to delete, because during a pass an object may be created in a resource that the pass has
// already emptied. empty stops earlier when objects or errors remain.
func (c *Namespace) empty(ctx context.Context, namespace string) *remains {
	for {
		left, found := c.pass(ctx, namespace)
		if !found || left.objects > 0 || len(left.errs) > 0 {
			return left
		}
	}
}

// pass deletes the objects of each resource once. found says that some server had objects, even if
// all are gone after the pass. Pods are first: while a pod remains, pass touches nothing else, so
// that the pod can use its ConfigMaps, secrets and claims until it ends (as in Kubernetes).
func (c *Namespace) pass(ctx context.Context, namespace string) (left *remains, found bool) {
	elsewhere := c.RemoteResources()
	left = &remains{resources: map[meta.GroupResource]int{}, finalizers: map[string]int{}, unknown: elsewhere.Unknown}
	for _, gvr := range c.NamespacedResources() {
		held, err := c.Holds(ctx, gvr.GroupResource(), namespace)
		if err == nil && held {
			found = true
			err = c.clear(ctx, gvr, namespace, left)
		}
		if isPods := gvr.GroupResource() == pods; isPods && err != nil {
			err = fmt.Errorf("failed to delete pods for namespace: %s, err: %w", namespace, err)
		}
		if err != nil {
			left.errs = append(left.errs, err)
		}
		if gvr.GroupResource() == pods && (left.objects > 0 || len(left.errs) > 0) {
			return left, found
		}
	}
	hidden, err := c.UnservedObjects(ctx, namespace)
	if err != nil {
		left.errs = append(left.errs, err)
	}
	for _, h := range hidden {
		left.objects += h.Objects
		left.resources[h.Resource] += h.Objects
		left.errs = append(left.errs, h.Why)
	}
	return left, c.emptyRemote(ctx, elsewhere.Resources, namespace, left) || found
}

// clear deletes the objects of one resource in a namespace, and adds those that remain to left. It
// is an error if objects remain and nothing holds them. An object that cannot be read cannot be
// deleted either: it remains, and the error names it. The texts of errors are Kubernetes', because
// the status shows them.
func (c *Namespace) clear(ctx context.Context, gvr meta.GroupVersionResource, namespace string, left *remains) error {
	content := client.For[*meta.PartialObjectMetadata](c.Client, gvr).In(namespace)
	if err := deleteAll(meta.WithUnread(ctx), content); err != nil {
		return withUnread(err)
	}
	free, err := left.count(meta.WithUnread(ctx), gvr.GroupResource(), content)
	if err == nil && free {
		err = fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %s/%s, Resource=%s",
			namespace, gvr.Group, gvr.Version, gvr.Resource)
	}
	return err
}

// maxUnread is the number of unreadable objects that an error, and the condition with its text,
// names at most.
const maxUnread = 10

// withUnread adds to err the keys of the unreadable objects that are in its details. An
// administrator must remove these objects before the namespace can go.
func withUnread(err error) error {
	status := meta.StatusOf(err)
	if status.Reason != meta.StatusReasonStoreReadError || status.Details == nil {
		return err
	}
	var keys []string
	for _, cause := range status.Details.Causes {
		if len(keys) == maxUnread {
			keys = append(keys, "...")
			break
		}
		keys = append(keys, cause.Field)
	}
	return fmt.Errorf("%w: %s", err, strings.Join(keys, ", "))
}

// pods is the first resource of NamespacedResources.
var pods = meta.GroupResource{Resource: "pods"}

// deleteBatch is the number of objects that one request deletes. All in one request could take
// longer than the request timeout.
const deleteBatch = 500

// deleteAll deletes the objects of a resource in the background. An object with finalizers or a
// grace period remains, with a deletionTimestamp.
func deleteAll(ctx context.Context, content client.Resource[*meta.PartialObjectMetadata]) error {
	background := meta.DeletePropagationBackground
	page := meta.ListOptions{Limit: deleteBatch}
	for {
		deleted, err := content.DeleteCollection(ctx, meta.DeleteOptions{PropagationPolicy: &background}, page)
		if meta.IsMethodNotSupported(err) {
			return deleteEach(ctx, content)
		}
		if err != nil {
			return err
		}
		if page.Continue = deleted.Continue; page.Continue == "" {
			return nil
		}
	}
}

// count adds the objects of one resource to r. free says that the resource has objects and that
// nothing holds any of them: none has a finalizer, or a grace period that has not ended.
func (r *remains) count(
	ctx context.Context, resource meta.GroupResource, content client.Resource[*meta.PartialObjectMetadata],
) (free bool, err error) {
	some, held := false, false
	var unread []string
	for obj, err := range content.All(ctx, meta.ListOptions{}) {
		switch {
		case meta.IsUnreadable(err):
			unread = append(unread, err.Error())
		case err != nil:
			return false, err
		}
		r.objects++
		r.resources[resource]++
		for _, f := range obj.Finalizers {
			r.finalizers[f]++
		}
		ends := obj.DeletionTimestamp != nil && obj.DeletionTimestamp.After(time.Now())
		some, held = true, held || len(obj.Finalizers) > 0 || ends || err != nil
	}
	if len(unread) == 0 {
		return some && !held, nil
	}
	if len(unread) > maxUnread {
		unread = append(unread[:maxUnread], "...")
	}
	return false, meta.NewStoreReadError(fmt.Sprintf(
		"failed to read one or more %s from the storage: %s", resource, strings.Join(unread, ", ")), nil)
}

// report writes into the status why the namespace still exists, and returns the namespace as it is
// then. It writes nothing if the status has the conditions already.
func (c *Namespace) report(ctx context.Context, ns *corev1.Namespace, left *remains) (*corev1.Namespace, error) {
	conditions := left.conditions()
	if !slices.ContainsFunc(conditions, func(want corev1.NamespaceCondition) bool {
		return !hasCondition(ns, want)
	}) {
		return ns, nil
	}
	return c.update(ctx, ns, "status", func(ns *corev1.Namespace) {
		for _, want := range conditions {
			setCondition(ns, want)
		}
	})
}

// conditions returns the five conditions of a namespace that is being deleted, with Kubernetes'
// types, reasons and messages. NamespaceDeletionGroupVersionParsingFailure is always False, because
// this server does not have to parse the texts of group versions.
func (r *remains) conditions() []corev1.NamespaceCondition {
	parsing := corev1.NamespaceCondition{
		Type: "NamespaceDeletionGroupVersionParsingFailure", Status: "False", Reason: "ParsedGroupVersions",
		Message: "All legacy kube types successfully parsed",
	}
	failure := corev1.NamespaceCondition{
		Type: "NamespaceDeletionContentFailure", Status: "False", Reason: "ContentDeleted",
		Message: "All content successfully deleted, may be waiting on finalization",
	}
	if len(r.errs) > 0 {
		failure.Status, failure.Reason = "True", "ContentDeletionFailed"
		failure.Message = fmt.Sprintf(
			"Failed to delete all resource types, %d remaining: %s", len(r.errs), texts(r.errs))
	}
	content := corev1.NamespaceCondition{
		Type: "NamespaceContentRemaining", Status: "False", Reason: "ContentRemoved",
		Message: "All content successfully removed",
	}
	if r.objects > 0 {
		content.Status, content.Reason = "True", "SomeResourcesRemain"
		content.Message = "Some resources are remaining: " +
			counts(r.resources, resourceName, "has %d resource instances")
	}
	finalizers := corev1.NamespaceCondition{
		Type: "NamespaceFinalizersRemaining", Status: "False", Reason: "ContentHasNoFinalizers",
		Message: "All content-preserving finalizers finished",
	}
	if len(r.finalizers) > 0 {
		finalizers.Status, finalizers.Reason = "True", "SomeFinalizersRemain"
		finalizers.Message = "Some content in the namespace has finalizers remaining: " +
			counts(r.finalizers, strings.Clone, "in %d resource instances")
	}
	return []corev1.NamespaceCondition{r.discovery(), parsing, failure, content, finalizers}
}

// texts joins the texts of errors, sorted, so that the same errors give the same message.
func texts(errs []error) string {
	var list []string
	for _, err := range errs {
		list = append(list, err.Error())
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// resourceName spells a resource with its group as Kubernetes' message does: "jobs.batch", and
// "pods." for the legacy group.
func resourceName(gr meta.GroupResource) string { return gr.Resource + "." + gr.Group }

// counts lists keys with their numbers, sorted: "pods. has 2 resource instances, ...".
func counts[K comparable](m map[K]int, name func(K) string, format string) string {
	var parts []string
	for k, n := range m {
		parts = append(parts, name(k)+" "+fmt.Sprintf(format, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// hasCondition reports whether the status has a condition that equals want, apart from the time.
func hasCondition(ns *corev1.Namespace, want corev1.NamespaceCondition) bool {
	return slices.ContainsFunc(ns.Status.Conditions, func(have corev1.NamespaceCondition) bool {
		want.LastTransitionTime = have.LastTransitionTime
		return have == want
	})
}

// setCondition adds or replaces a condition. lastTransitionTime changes only if the status of the
// condition does, as the API conventions ask.
func setCondition(ns *corev1.Namespace, want corev1.NamespaceCondition) {
	want.LastTransitionTime = meta.Now()
	for i := range ns.Status.Conditions {
		if have := &ns.Status.Conditions[i]; have.Type == want.Type {
			if have.Status == want.Status {
				want.LastTransitionTime = have.LastTransitionTime
			}
			*have = want
			return
		}
	}
	ns.Status.Conditions = append(ns.Status.Conditions, want)
}

// release removes the finalizer "kubernetes" from the spec. The server then deletes the namespace,
// unless another finalizer is there.
func (c *Namespace) release(ctx context.Context, ns *corev1.Namespace) error {
	_, err := c.update(ctx, ns, "finalize", func(ns *corev1.Namespace) {
		ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool {
			return f == corev1.FinalizerKubernetes
		})
	})
	return err
}

// update changes a namespace through the subresource whose name is door, and returns the result.
// After a conflict it reads the namespace and tries again. It returns a NotFound error if the
// namespace is gone, or if another namespace has its name.
func (c *Namespace) update(
	ctx context.Context, ns *corev1.Namespace, door string, change func(*corev1.Namespace),
) (*corev1.Namespace, error) {
	uid := ns.UID
	for {
		change(ns)
		updated, err := c.namespaces().Sub(door).Update(ctx, ns, meta.UpdateOptions{})
		if !meta.IsConflict(err) {
			return updated, err
		}
		if ns, err = c.namespaces().Get(ctx, ns.Name, meta.GetOptions{}); err != nil {
			return nil, err
		}
		if ns.UID != uid {
			return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, ns.Name)
		}
	}
}
