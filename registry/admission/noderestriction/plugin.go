// Package noderestriction is the admission plugin NodeRestriction. It restricts a kubelet to its
// own Node and to the objects that belong to it.
//
// Words. A kubelet is a user of the group system:nodes; its node is the one that its user name
// names. A mirror pod is the object that shows a static pod, which the kubelet runs from a file.
//
// Laws:
//   - A compromised node can harm only itself.
//   - Users that are not nodes pass unchecked.
//   - The plugin changes nothing. Its messages are those of kube-apiserver.
//
// This is what somebody with the credentials of one kubelet could do otherwise, and the rule that
// prevents it:
//
//   - Read any secret: create a mirror pod that mounts it, because the authorizer lets a kubelet
//     read what the pods of its node refer to. Mirror pods must not refer to objects (refs.go).
//   - Act as any service account: request a token for it. A token must be bound to a pod that runs
//     on the node (token.go); registry/core checks that the pod uses the account.
//   - Attract pods and what they may read: set the label that their node selector names, or drop
//     the taint that keeps them away. Such labels (labels.go) and taints do not change.
//   - Disturb other nodes: delete their pods or nodes, or write their heartbeats. Names and
//     spec.nodeName must be those of the kubelet's own node (pod.go, plugin.go).
//   - Pass for another node: request a certificate with its name. The name must be the kubelet's
//     own (signingRequest).
//
// The plugin keeps no state and may be called concurrently.
//
// Not here: which resources a kubelet may write at all. The Node authorizer (filters/authz) decides
// that, by names only; this plugin sees the objects.
//
// Read: plugin.go; then pod.go with refs.go, labels.go, and token.go with driver.go, each for one
// sort of write.
package noderestriction

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin itself, which chooses the rule for a resource, and the rules for nodes,
// claims, leases, resource slices and signing requests. server/plugins makes the plugin.

// Plugin is the NodeRestriction plugin. It checks the writes of kubelets, which are the users of
// the group system:nodes, and no others.
type Plugin struct {
	objects Objects
	may     request.Authorizer
}

// Objects reads the objects that a kubelet's writes refer to, consistently. Errors are a
// *meta.StatusError. The results must not be changed.
type Objects interface {
	// Pod is for tokens and evictions, which name a pod. Node is for the owner of a mirror pod. The
	// other three lead from a volume of a pod to its CSI driver.
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	Driver(ctx context.Context, name string) (*storagev1.CSIDriver, error)
}

// New returns the plugin. The plugin asks may whether a kubelet may request tokens for an audience
// that no volume of the pod names.
func New(objects Objects, may request.Authorizer) *Plugin {
	return &Plugin{objects, may}
}

// Name is the plugin's name.
func (*Plugin) Name() string { return "NodeRestriction" }

// Handles is true for all operations but connects.
func (*Plugin) Handles(op admission.Operation) bool { return op != admission.Connect }

// nodeWrite is one write by the kubelet of node. Its methods are the rules: each returns nil if the
// write is allowed, and otherwise the answer to the kubelet, nearly always 403.
type nodeWrite struct {
	*admission.Attributes
	ctx  context.Context
	r    *Plugin
	node string
}

// Mutate refuses the write or does nothing. It changes nothing: it is a mutator, as in
// kube-apiserver, so that it runs before other work on the object.
func (r *Plugin) Mutate(ctx context.Context, a *admission.Attributes) error {
	node, ok := a.User.NodeName()
	if !ok {
		return nil
	}
	if node == "" {
		return a.Forbidden("could not determine node from user %q", a.User.Name)
	}
	w := nodeWrite{a, ctx, r, node}
	switch a.Resource.Group {
	case "":
		switch a.Resource.Resource {
		case "pods":
			return w.pod()
		case "nodes":
			return w.ownNode()
		case "persistentvolumeclaims":
			if a.Subresource != "status" {
				return a.Forbidden("may only update PVC status")
			}
			return w.claimStatus()
		case "serviceaccounts":
			return w.token()
		}
	case coordinationv1.GroupVersion.Group:
		if a.Resource.Resource == "leases" {
			return w.lease()
		}
	case storagev1.GroupVersion.Group:
		if a.Resource.Resource == "csinodes" && w.name() != node {
			return a.Forbidden("can only access CSINode with the same name as the requesting node")
		}
	case resourcev1.GroupVersion.Group:
		if a.Resource.Resource == "resourceslices" {
			return w.slice()
		}
	case certificatesv1.GroupVersion.Group:
		if a.Resource.Resource == "certificatesigningrequests" {
			return w.signingRequest()
		}
	}
	return nil
}

// name returns the name of the object. For a create it is the name in the object, because the path
// has none.
func (w *nodeWrite) name() string {
	if m := w.Meta(); w.Operation == admission.Create && m != nil {
		return m.Name
	}
	return w.Name
}

// unexpected returns the 403 for an object of a type that the resource does not have.
func (w *nodeWrite) unexpected(obj meta.Typed) error { return w.Forbidden("unexpected type %T", obj) }

// unfound returns the answer for an error of Objects: a 404 stays a 404, and any other error
// becomes a 403.
func (w *nodeWrite) unfound(err error) error {
	if meta.IsNotFound(err) {
		return err
	}
	return w.Forbidden("%w", err)
}

// claimStatus lets a kubelet change only the fields in the status of a claim that report how far a
// volume was resized: the kubelet grows the file system on the volume, and nobody else can tell
// when that is done. The message names two fields, as that of kube-apiserver does, although
// withoutGrowth allows four.
func (w *nodeWrite) claimStatus() error {
	if w.Operation != admission.Update {
		return w.Forbidden("unexpected operation %q", w.Operation)
	}
	old, ok := w.Old.(*corev1.PersistentVolumeClaim)
	if !ok {
		return w.unexpected(w.Old)
	}
	now, ok := w.Object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return w.unexpected(w.Object)
	}
	a, b := withoutGrowth(old), withoutGrowth(now)
	if !scheme.EqualObjects(a, b) {
		return w.Forbidden("node %q is not allowed to update fields other than status.quantity and status.conditions: %v",
			w.node, govalue.Diff(a, b))
	}
	return nil
}

// withoutGrowth returns a copy of a claim without the fields that a kubelet may change, and without
// resourceVersion and managedFields.
func withoutGrowth(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c := *claim
	c.ResourceVersion, c.ManagedFields = "", nil
	s := &c.Status
	s.Capacity, s.Conditions, s.AllocatedResources, s.AllocatedResourceStatuses = nil, nil, nil, nil
	return &c
}

// ownNode lets a kubelet write its own Node, except configSource and the labels that decide where
// pods run. A kubelet registers its Node with taints, but cannot change them afterwards: a pod that
// does not tolerate them would run there. It cannot change owner references either, because the
// garbage collector deletes a Node whose owners are gone.
func (w *nodeWrite) ownNode() error {
	if w.Name != w.node {
		return w.Forbidden("node %q is not allowed to modify node %q", w.node, w.Name)
	}
	if w.Operation == admission.Delete {
		return nil
	}
	node, ok := w.Object.(*corev1.Node)
	if !ok {
		return w.unexpected(w.Object)
	}
	if w.Operation == admission.Create {
		if node.Spec.ConfigSource != nil {
			return w.Forbidden("node %q is not allowed to create pods with a non-nil configSource", w.node)
		}
		if others := othersLabels(node.Labels, nil); len(others) > 0 {
			return w.Forbidden(
				"node %q is not allowed to set the following labels: %s", w.node, strings.Join(others, ", "),
			)
		}
		return nil
	}
	was, ok := w.Old.(*corev1.Node)
	if !ok {
		return w.unexpected(w.Old)
	}
	same := scheme.Equal[corev1.NodeConfigSource]
	if source, old := node.Spec.ConfigSource, was.Spec.ConfigSource; source != nil &&
		(old == nil || !same(source, old)) {
		return w.Forbidden("node %q is not allowed to update configSource to a new non-nil configSource", w.node)
	}
	if !scheme.Equal(&node.Spec.Taints, &was.Spec.Taints) {
		return w.Forbidden("node %q is not allowed to modify taints", w.node)
	}
	if !scheme.Equal(&node.OwnerReferences, &was.OwnerReferences) {
		return w.Forbidden("node %q is not allowed to modify ownerReferences", w.node)
	}
	if others := othersLabels(node.Labels, was.Labels); len(others) > 0 {
		return w.Forbidden("is not allowed to modify labels: %s", strings.Join(others, ", "))
	}
	return nil
}

// lease lets a kubelet write only its own heartbeat: the Lease of its name in kube-node-lease.
func (w *nodeWrite) lease() error {
	const namespace = "kube-node-lease"
	switch {
	case w.Namespace != namespace:
		return w.Forbidden("can only access leases in the %q system namespace", namespace)
	case w.name() != w.node:
		return w.Forbidden("can only access node lease with the same name as the requesting node")
	}
	return nil
}

// slice lets a kubelet create and delete ResourceSlices of its own node. The authorizer cannot
// check these: it does not see a new object, nor the objects of a deletecollection.
func (w *nodeWrite) slice() error {
	obj, verb := w.Object, "create"
	switch w.Operation {
	case admission.Create:
	case admission.Delete:
		obj, verb = w.Old, "delete"
	default:
		return nil
	}
	slice, ok := obj.(*resourcev1.ResourceSlice)
	if !ok {
		return w.unexpected(obj)
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != w.node {
		return w.Forbidden("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return nil
}

// signingRequest lets a kubelet request kubelet certificates only for its own user name. The two
// signers are those whose certificates make the holder a node: as a server that answers exec and
// logs, and as a client of this server. Requests to other signers pass.
func (w *nodeWrite) signingRequest() error {
	if w.Operation != admission.Create {
		return nil
	}
	csr, ok := w.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return w.unexpected(w.Object)
	}
	if name := csr.Spec.SignerName; name != certificatesv1.KubeletServingSignerName &&
		name != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	asked, err := certificatesv1.ParseRequest(csr.Spec.Request)
	if err != nil {
		return w.Forbidden("unable to parse csr: %w", err)
	}
	if asked.Subject.CommonName != w.User.Name {
		return w.Forbidden("can only create a node CSR with CN=%s", w.User.Name)
	}
	return nil
}
