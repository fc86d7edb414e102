package noderestriction

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the rules for pods: a kubelet may create mirror pods of its node, delete pods of
// its node, update their status and evict them. Mutate (plugin.go) calls pod.

// pod checks a write of a pod or of one of its subresources.
func (w *nodeWrite) pod() error {
	switch w.Subresource {
	case "":
	case "status":
		return w.podStatus()
	case "eviction":
		return w.eviction()
	default:
		return w.Forbidden("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", w.Subresource)
	}
	switch w.Operation {
	case admission.Create:
		return w.mirrorPod()
	case admission.Delete:
		pod, ok := w.Old.(*corev1.Pod)
		if !ok {
			return w.unexpected(w.Old)
		}
		if pod.Spec.NodeName != w.node {
			return w.Forbidden("node %q can only delete pods with spec.nodeName set to itself", w.node)
		}
		return nil
	}
	return w.Forbidden("unexpected operation %q, node %q can only create and delete mirror pods", w.Operation, w.node)
}

// mirrorPod lets a kubelet create mirror pods, which show the static pods that it runs. They must
// not refer to secrets or other objects: the authorizer would then let the kubelet read these
// objects.
func (w *nodeWrite) mirrorPod() error {
	pod, ok := w.Object.(*corev1.Pod)
	if !ok {
		return w.unexpected(w.Object)
	}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotation]; !mirror {
		return w.Forbidden(
			"pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotation, w.node,
		)
	}
	if pod.Spec.NodeName != w.node {
		return w.Forbidden("node %q can only create pods with spec.nodeName set to itself", w.node)
	}
	if err := w.owner(pod.OwnerReferences); err != nil {
		return err
	}
	what, err := refersTo(pod)
	if err != nil {
		return w.Forbidden("error checking mirror pod for API references: %w", err)
	}
	if what != "" {
		return w.Forbidden("node %q can not create pods that reference %s", w.node, what)
	}
	return nil
}

// owner demands that a mirror pod has one owner, the kubelet's Node with its current UID, so that
// the pod goes when the Node goes.
func (w *nodeWrite) owner(owners []meta.OwnerReference) error {
	if len(owners) > 1 {
		return w.Forbidden("node %q can only create pods with a single owner reference set to itself", w.node)
	}
	if len(owners) == 0 || owners[0].APIVersion != "v1" || owners[0].Kind != "Node" || owners[0].Name != w.node {
		return w.Forbidden("node %q can only create pods with an owner reference set to itself", w.node)
	}
	owner := &owners[0]
	if !scheme.OrZero(owner.Controller) {
		return w.Forbidden("node %q can only create pods with a controller owner reference set to itself", w.node)
	}
	if scheme.OrZero(owner.BlockOwnerDeletion) {
		return w.Forbidden("node %q must not set blockOwnerDeletion on an owner reference", w.node)
	}
	node, err := w.r.objects.Node(w.ctx, w.node)
	switch {
	case meta.IsNotFound(err):
		return err
	case err != nil:
		return w.Forbidden("error looking up node %s to verify uid: %v", w.node, err)
	case owner.UID != node.UID:
		return w.Forbidden("node %s UID mismatch: expected %s got %s", w.node, owner.UID, node.UID)
	}
	return nil
}

// podStatus lets a kubelet update the status of pods on its node, but not their labels, nor which
// resource claims they have.
func (w *nodeWrite) podStatus() error {
	if w.Operation != admission.Update {
		return w.Forbidden("unexpected operation %q", w.Operation)
	}
	was, ok := w.Old.(*corev1.Pod)
	if !ok {
		return w.unexpected(w.Old)
	}
	if was.Spec.NodeName != w.node {
		return w.Forbidden("node %q can only update pod status for pods with spec.nodeName set to itself", w.node)
	}
	pod, ok := w.Object.(*corev1.Pod)
	if !ok {
		return w.unexpected(w.Object)
	}
	switch {
	case !maps.Equal(was.Labels, pod.Labels):
		return w.Forbidden("node %q cannot update labels through pod status", w.node)
	case !slices.EqualFunc(was.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses, sameClaim):
		return w.Forbidden("node %q cannot update resource claim statues", w.node)
	case !sameExtendedClaim(was.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return w.Forbidden("node %q cannot update extended resource claim status", w.node)
	}
	return nil
}

// sameClaim reports whether two statuses name the same claim; no name differs from an empty name.
func sameClaim(a, b corev1.PodResourceClaimStatus) bool {
	return a.Name == b.Name && (a.ResourceClaimName == nil) == (b.ResourceClaimName == nil) &&
		scheme.OrZero(a.ResourceClaimName) == scheme.OrZero(b.ResourceClaimName)
}

func sameExtendedClaim(a, b *corev1.PodExtendedResourceClaimStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ResourceClaimName == b.ResourceClaimName && slices.Equal(a.RequestMappings, b.RequestMappings)
}

// eviction lets a kubelet evict pods of its node only. The path names the pod; if it does not, the
// Eviction does.
func (w *nodeWrite) eviction() error {
	if w.Operation != admission.Create {
		return w.Forbidden("unexpected operation %s", w.Operation)
	}
	eviction, ok := w.Object.(*policyv1.Eviction)
	if !ok {
		return w.unexpected(w.Object)
	}
	name := cmp.Or(w.Name, eviction.Name)
	if name == "" {
		return w.Forbidden("could not determine pod from request data")
	}
	pod, err := w.r.objects.Pod(w.ctx, w.Namespace, name)
	if err != nil {
		return w.unfound(err)
	}
	if pod.Spec.NodeName != w.node {
		return w.Forbidden("node %s can only evict pods with spec.nodeName set to itself", w.node)
	}
	return nil
}
