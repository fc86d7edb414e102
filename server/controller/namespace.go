package controller

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Content is a resource whose objects live in namespaces.
type Content struct {
	Resource meta.GroupResource
	Store    *registry.Store
}

// Namespace empties namespaces that are being deleted, and lets them go when nothing is left: it deletes what is in them,
// resource by resource, tells in the status what remains, and takes the finalizer "kubernetes" off at the end.
type Namespace struct {
	Namespaces, Status, Finalize *registry.Store
	// Contents returns the resources to empty, in order. It is called for each namespace, as resources come and go.
	Contents func() []Content
	Log      *zap.Logger
}

// retryRemaining is how soon a namespace is looked at again whose objects take their time to go.
const retryRemaining = time.Second

// Run works until ctx ends.
func (c *Namespace) Run(ctx context.Context) { newLoop(c.Namespaces, c.reconcile, c.Log).run(ctx) }

func (c *Namespace) reconcile(ctx context.Context, name Name) (time.Duration, error) {
	phase, err := c.Namespaces.Field(ctx, "", name.Name, "status.phase", "")
	if meta.IsNotFound(err) || err == nil && phase != string(corev1.NamespaceTerminating) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	left := c.empty(ctx, name.Name)
	if err := c.report(ctx, name.Name, left); err != nil {
		return 0, ignoreNotFound(err)
	}
	if len(left.errs) > 0 {
		return 0, left.errs[0]
	}
	if left.objects > 0 {
		return retryRemaining, nil
	}
	return 0, ignoreNotFound(c.release(ctx, name.Name))
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
	for _, content := range c.Contents() {
		req := &request.ListRequest{Namespace: namespace}
		background := meta.DeletePropagationBackground
		opts := &meta.DeleteOptions{PropagationPolicy: &background}
		_, err := content.Store.DeleteCollection(ctx, req, &request.Write{Options: opts}, opts)
		if err != nil {
			left.errs = append(left.errs, fmt.Errorf("delete %s: %w", content.Resource, err))
		} else if err := left.count(ctx, content, req); err != nil {
			left.errs = append(left.errs, fmt.Errorf("count %s: %w", content.Resource, err))
		}
		if content.Resource == pods && (left.objects > 0 || len(left.errs) > 0) {
			return left
		}
	}
	return left
}

// pods come first among the contents.
var pods = meta.GroupResource{Resource: "pods"}

// count adds what is left of one resource.
func (r *remains) count(ctx context.Context, content Content, req *request.ListRequest) error {
	list, err := content.Store.List(ctx, req)
	if err != nil {
		return err
	}
	for enc := range list.Items {
		obj, err := content.Store.Decode(ctx, enc)
		if err != nil {
			return err
		}
		r.objects++
		r.resources[content.Resource]++
		for _, f := range obj.GetObjectMeta().Finalizers {
			r.finalizers[f]++
		}
	}
	return nil
}

// report shows in the status what holds the namespace.
func (c *Namespace) report(ctx context.Context, name string, left *remains) error {
	conditions := left.conditions()
	return c.update(ctx, c.Status, name, func(ns *corev1.Namespace) {
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
func (c *Namespace) release(ctx context.Context, name string) error {
	return c.update(ctx, c.Finalize, name, func(ns *corev1.Namespace) {
		ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	})
}

// update changes a namespace through one of its doors.
func (c *Namespace) update(ctx context.Context, door *registry.Store, name string, change func(*corev1.Namespace)) error {
	_, _, err := door.Update(ctx, &request.Write{
		Name: name, Options: &meta.UpdateOptions{},
		Change: func(_ context.Context, cur request.Current) (meta.Typed, error) {
			obj, err := cur.Object()
			if err != nil {
				return nil, err
			}
			ns := obj.(*corev1.Namespace)
			if cur.Encoded == nil || ns.DeletionTimestamp == nil {
				return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
			}
			change(ns)
			return ns, nil
		},
	})
	return err
}
