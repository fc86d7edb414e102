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

// Namespace empties namespaces that are being deleted, and lets them go when nothing is left: it
// deletes what is in them, resource by resource, tells in the status what remains, and takes the
// finalizer "kubernetes" off at the end.
//
// What a namespace holds, the store says, each time: that is cheaper than to count along with every
// change there ever is, and nothing has to be loaded of resources that have nothing there. What is
// left looks again when something of it has gone.
type Namespace struct {
	Client *client.Client
	// Contents returns the resources whose objects live in namespaces and can be deleted, pods
	// first. It is called for each namespace, as resources come and go, and for several at once.
	Contents func() []meta.GroupVersionResource
	// Elsewhere returns what other servers keep in namespaces.
	Elsewhere func() Elsewhere
	// Holds asks the store whether a namespace has objects of a resource.
	Holds func(ctx context.Context, resource meta.GroupResource, namespace string) (bool, error)
	// Hidden returns what a namespace holds of resources about which nothing can be known: their
	// definitions cannot be read.
	Hidden func(ctx context.Context, namespace string) ([]Hidden, error)
	// Removals tells of everything that goes after the call.
	Removals func(ctx context.Context) (Removals, error)
	Log      *zap.Logger // of what fails; nil for none

	waiting waiting
}

// Hidden are the objects of a resource that nobody can look at, because of an error.
type Hidden struct {
	Resource meta.GroupResource
	Objects  int
	Why      error
}

// namespaceWorkers is how many namespaces are emptied at once, as many as in
// kube-controller-manager.
const namespaceWorkers = 10

// retryRemaining is how soon a namespace is looked at again whose objects take their time to go, if
// none of them goes: their finalizers may be others by then, which the status tells.
const retryRemaining = 8 * time.Second

// Run works until ctx ends.
func (c *Namespace) Run(ctx context.Context) {
	controller.Loop{Source: c.source, Reconcile: c.reconcile, Workers: namespaceWorkers, Log: c.Log}.Run(ctx)
	c.waiting.followers.Wait()
}

func (c *Namespace) namespaces() client.Resource[*corev1.Namespace] {
	return client.For[*corev1.Namespace](c.Client, corev1.GroupVersion.WithResource("namespaces"))
}

// source is the Source of the namespaces that are being deleted, and of those in which something
// that they wait for has gone.
func (c *Namespace) source(ctx context.Context, add func(controller.Name), failed func(error)) {
	c.waiting.open, c.waiting.wake = c.Removals, func(namespace string) { add(controller.Name{Name: namespace}) }
	c.waiting.followers.Go(func() { c.followElsewhere(ctx) })
	c.deletions(ctx, add, failed)
}

// deletion is what is kept of a namespace that is being deleted, and nothing of others.
type deletion struct {
	uid        meta.UID
	finalizers int
}

// deletions is the Source of the namespaces that are being deleted. It adds a name when the
// deletion begins, and again when other finalizers are in the spec or the namespace is gone. No
// other change is a reason to look again, least of all the status that c writes itself: that would
// end the pause after a failure.
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
	if err := c.waiting.add(ctx, name.Name); err != nil { // before looking: nothing goes unnoticed
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

// remains is what a pass over a namespace has left.
type remains struct {
	objects    int
	resources  map[meta.GroupResource]int // objects by resource
	finalizers map[string]int             // objects by finalizer
	unknown    []meta.GroupVersion        // which may hold more, sorted
	errs       []error
}

// empty deletes everything in a namespace and counts what stays. Pods go first: as long as any is
// left, nothing else is touched, so that they can still use it while they end. That nothing stays
// is true if the store had nothing to begin with.
func (c *Namespace) empty(ctx context.Context, namespace string) *remains {
	for {
		left, found := c.pass(ctx, namespace)
		if !found || left.objects > 0 || len(left.errs) > 0 {
			return left
		}
	}
}

// pass goes through the resources once. found says that the store had something.
func (c *Namespace) pass(ctx context.Context, namespace string) (left *remains, found bool) {
	elsewhere := c.Elsewhere()
	left = &remains{resources: map[meta.GroupResource]int{}, finalizers: map[string]int{}, unknown: elsewhere.Unknown}
	for _, gvr := range c.Contents() {
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
	hidden, err := c.Hidden(ctx, namespace)
	if err != nil {
		left.errs = append(left.errs, err)
	}
	for _, h := range hidden {
		left.objects += h.Objects
		left.resources[h.Resource] += h.Objects
		left.errs = append(left.errs, h.Why)
	}
	return left, c.emptyElsewhere(ctx, elsewhere.Resources, namespace, left) || found
}

// clear deletes the objects of one resource, and counts what is left of them. What nothing holds
// should be gone. An object that cannot be read cannot be deleted either: it stays, and the error
// names it.
func (c *Namespace) clear(ctx context.Context, gvr meta.GroupVersionResource, namespace string, left *remains) error {
	content := client.For[*meta.PartialObjectMetadata](c.Client, gvr).In(namespace)
	if err := deleteAll(meta.WithUnread(ctx), content); err != nil {
		return withUnread(err)
	}
	free, err := left.count(meta.WithUnread(ctx), gvr.GroupResource(), content)
	if err == nil && free {
		err = fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %s/%s, Resource=%s", namespace, gvr.Group, gvr.Version, gvr.Resource)
	}
	return err
}

// maxUnread is how many objects that cannot be read a condition names.
const maxUnread = 10

// withUnread adds to the error of a list which objects cannot be read: nothing of the resource goes
// before they do.
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

// pods come first among the contents.
var pods = meta.GroupResource{Resource: "pods"}

// deleteBatch is how many objects are deleted with one request, which has only so much time.
const deleteBatch = 500

// deleteAll deletes the objects of a resource, or marks them.
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

// count adds what is left of one resource. free says that nothing is known to hold them: neither
// finalizers nor the time that one of them has to end.
func (r *remains) count(ctx context.Context, resource meta.GroupResource, content client.Resource[*meta.PartialObjectMetadata]) (free bool, err error) {
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
	return false, meta.NewStoreReadError(fmt.Sprintf("failed to read one or more %s from the storage: %s", resource, strings.Join(unread, ", ")), nil)
}

// report shows in the status what holds the namespace, and returns it as it is then. It writes
// nothing if the status says so already.
func (c *Namespace) report(ctx context.Context, ns *corev1.Namespace, left *remains) (*corev1.Namespace, error) {
	conditions := left.conditions()
	if !slices.ContainsFunc(conditions, func(want corev1.NamespaceCondition) bool { return !hasCondition(ns, want) }) {
		return ns, nil
	}
	return c.update(ctx, ns, "status", func(ns *corev1.Namespace) {
		for _, want := range conditions {
			setCondition(ns, want)
		}
	})
}

// conditions describes what is left, in the words of Kubernetes. The second cannot fail here: the
// server knows its versions.
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
		failure.Message = fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(r.errs), texts(r.errs))
	}
	content := corev1.NamespaceCondition{
		Type: "NamespaceContentRemaining", Status: "False", Reason: "ContentRemoved",
		Message: "All content successfully removed",
	}
	if r.objects > 0 {
		content.Status, content.Reason = "True", "SomeResourcesRemain"
		content.Message = "Some resources are remaining: " + counts(r.resources, resourceName, "has %d resource instances")
	}
	finalizers := corev1.NamespaceCondition{
		Type: "NamespaceFinalizersRemaining", Status: "False", Reason: "ContentHasNoFinalizers",
		Message: "All content-preserving finalizers finished",
	}
	if len(r.finalizers) > 0 {
		finalizers.Status, finalizers.Reason = "True", "SomeFinalizersRemain"
		finalizers.Message = "Some content in the namespace has finalizers remaining: " + counts(r.finalizers, strings.Clone, "in %d resource instances")
	}
	return []corev1.NamespaceCondition{r.discovery(), parsing, failure, content, finalizers}
}

// texts lists errors, sorted.
func texts(errs []error) string {
	var list []string
	for _, err := range errs {
		list = append(list, err.Error())
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// resourceName spells a resource with its group, also if that is the legacy one: "pods.".
func resourceName(gr meta.GroupResource) string { return gr.Resource + "." + gr.Group }

// counts lists names with their numbers, sorted.
func counts[K comparable](m map[K]int, name func(K) string, format string) string {
	var parts []string
	for k, n := range m {
		parts = append(parts, name(k)+" "+fmt.Sprintf(format, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// hasCondition reports whether the status has a condition, whatever its time.
func hasCondition(ns *corev1.Namespace, want corev1.NamespaceCondition) bool {
	return slices.ContainsFunc(ns.Status.Conditions, func(have corev1.NamespaceCondition) bool {
		want.LastTransitionTime = have.LastTransitionTime
		return have == want
	})
}

// setCondition adds or replaces a condition. Its time changes only with its status.
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

// release takes the finalizer off, which ends the namespace unless somebody else has one there.
func (c *Namespace) release(ctx context.Context, ns *corev1.Namespace) error {
	_, err := c.update(ctx, ns, "finalize", func(ns *corev1.Namespace) {
		ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	})
	return err
}

// update changes a namespace through one of its subresources, again if it has changed meanwhile,
// and returns the result. One that has gone and come anew is left alone.
func (c *Namespace) update(ctx context.Context, ns *corev1.Namespace, door string, change func(*corev1.Namespace)) (*corev1.Namespace, error) {
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
