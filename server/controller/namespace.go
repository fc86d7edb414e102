package controller

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Namespace empties namespaces that are being deleted, and lets them go when nothing is left: it deletes what is in them,
// resource by resource, tells in the status what remains, and takes the finalizer "kubernetes" off at the end.
type Namespace struct {
	Client *client.Client
	// Contents returns the resources whose objects live in namespaces and can be deleted, pods first. It is called for each
	// namespace, as resources come and go, and for several at once.
	Contents func() []meta.GroupVersionResource
	Log      *zap.Logger
}

// namespaceWorkers is how many namespaces are emptied at once, as many as in kube-controller-manager.
const namespaceWorkers = 10

// retryRemaining is how soon a namespace is looked at again whose objects take their time to go.
const retryRemaining = time.Second

// Run works until ctx ends.
func (c *Namespace) Run(ctx context.Context) {
	Loop{Source: Watch(c.namespaces(), meta.ListOptions{}), Reconcile: c.reconcile, Workers: namespaceWorkers, Log: c.Log}.Run(ctx)
}

func (c *Namespace) namespaces() client.Resource[*corev1.Namespace] {
	return client.For[*corev1.Namespace](c.Client, corev1.GroupVersion.WithResource("namespaces"))
}

func (c *Namespace) reconcile(ctx context.Context, name Name) (time.Duration, error) {
	ns, err := c.namespaces().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, ignoreNotFound(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return 0, nil
	}
	left := c.empty(ctx, name.Name)
	if ns, err = c.report(ctx, ns, left); err != nil {
		return 0, ignoreNotFound(err)
	}
	if len(left.errs) > 0 {
		return 0, left.errs[0]
	}
	if left.objects > 0 {
		return retryRemaining, nil
	}
	return 0, ignoreNotFound(c.release(ctx, ns))
}

func ignoreNotFound(err error) error {
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}

// remains is what a pass over a namespace has left.
type remains struct {
	objects    int
	resources  map[meta.GroupResource]int // objects by resource
	finalizers map[string]int             // objects by finalizer
	errs       []error
}

// empty deletes everything in a namespace and counts what stays. Pods go first: as long as any is left, nothing else is
// touched, so that they can still use it while they end.
func (c *Namespace) empty(ctx context.Context, namespace string) *remains {
	left := &remains{resources: map[meta.GroupResource]int{}, finalizers: map[string]int{}}
	for _, gvr := range c.Contents() {
		resource := gvr.GroupResource()
		content := client.For[*meta.PartialObjectMetadata](c.Client, gvr).In(namespace)
		some, err := deleteAll(ctx, content)
		if err != nil {
			left.errs = append(left.errs, fmt.Errorf("delete %s: %w", resource, withUnread(err)))
		} else if some {
			if err := left.count(ctx, resource, content); err != nil {
				left.errs = append(left.errs, fmt.Errorf("count %s: %w", resource, err))
			}
		}
		if resource == pods && (left.objects > 0 || len(left.errs) > 0) {
			return left
		}
	}
	return left
}

// maxUnread is how many objects that cannot be read a condition names.
const maxUnread = 10

// withUnread adds to the error of a list which objects cannot be read: nothing of the resource goes before they do.
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

// deleteAll deletes the objects of a resource, or marks them. It reports whether there were any.
func deleteAll(ctx context.Context, content client.Resource[*meta.PartialObjectMetadata]) (some bool, err error) {
	background := meta.DeletePropagationBackground
	page := meta.ListOptions{Limit: deleteBatch}
	for {
		deleted, err := content.DeleteCollection(ctx, meta.DeleteOptions{PropagationPolicy: &background}, page)
		if err != nil {
			return some, err
		}
		some = some || len(deleted.Items) > 0
		if page.Continue = deleted.Continue; page.Continue == "" {
			return some, nil
		}
	}
}

// count adds what is left of one resource.
func (r *remains) count(ctx context.Context, resource meta.GroupResource, content client.Resource[*meta.PartialObjectMetadata]) error {
	for obj, err := range content.All(ctx, meta.ListOptions{}) {
		if err != nil {
			return err
		}
		r.objects++
		r.resources[resource]++
		for _, f := range obj.Finalizers {
			r.finalizers[f]++
		}
	}
	return nil
}

// report shows in the status what holds the namespace, and returns it as it is then.
func (c *Namespace) report(ctx context.Context, ns *corev1.Namespace, left *remains) (*corev1.Namespace, error) {
	conditions := left.conditions()
	return c.update(ctx, ns, "status", func(ns *corev1.Namespace) {
		for _, want := range conditions {
			setCondition(ns, want)
		}
	})
}

// conditions describes what is left, in the words of Kubernetes. The first two cannot fail here: the server knows its
// resources.
func (r *remains) conditions() []corev1.NamespaceCondition {
	discovery := corev1.NamespaceCondition{
		Type: "NamespaceDeletionDiscoveryFailure", Status: "False", Reason: "ResourcesDiscovered",
		Message: "All resources successfully discovered",
	}
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
		failure.Message = fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(r.errs), r.errs[0])
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
	return []corev1.NamespaceCondition{discovery, parsing, failure, content, finalizers}
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

// update changes a namespace through one of its subresources, again if it has changed meanwhile, and returns the result.
// One that has gone and come anew is left alone.
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
