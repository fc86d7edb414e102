// Package noderestriction is the admission plugin NodeRestriction. It keeps a kubelet to its own
// node.
//
// Read: plugin.go; then pod.go, refs.go, labels.go, driver.go and token.go, which judge one sort of
// write each.
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

// Plugin is the plugin. The Node authorizer lets a kubelet write nodes, pods and so on. The plugin
// lets it write only its own Node, the status of its own pods, and so on. It judges no other users.
type Plugin struct {
	objects Objects
	may     request.Authorizer
}

// Objects looks up what a kubelet's writes refer to. Errors are a *meta.StatusError.
type Objects interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	Driver(ctx context.Context, name string) (*storagev1.CSIDriver, error)
}

// New returns the plugin. It asks may whether a kubelet may have tokens for audiences that no
// volume of the pod names.
func New(objects Objects, may request.Authorizer) *Plugin {
	return &Plugin{objects, may}
}

// Name is the plugin's name.
func (*Plugin) Name() string { return "NodeRestriction" }

// Handles is true but for connects.
func (*Plugin) Handles(op admission.Operation) bool { return op != admission.Connect }

// nodeWrite is a write of a kubelet.
type nodeWrite struct {
	*admission.Attributes
	ctx  context.Context
	r    *Plugin
	node string
}

// Mutate changes nothing: it stands with the mutators because kube-apiserver's does, before what is
// costly.
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

// name is that of the object, also when it is about to be made.
func (w *nodeWrite) name() string {
	if m := w.Meta(); w.Operation == admission.Create && m != nil {
		return m.Name
	}
	return w.Name
}

// unexpected refuses an object of another type than a resource has.
func (w *nodeWrite) unexpected(obj meta.Typed) error { return w.Forbidden("unexpected type %T", obj) }

// unfound is the answer to who names an object that cannot be looked up.
func (w *nodeWrite) unfound(err error) error {
	if meta.IsNotFound(err) {
		return err
	}
	return w.Forbidden("%w", err)
}

// claimStatus lets a node say how far a volume has grown, and nothing else.
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

// withoutGrowth is a claim without what a node may change in it.
func withoutGrowth(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c := *claim
	c.ResourceVersion, c.ManagedFields = "", nil
	s := &c.Status
	s.Capacity, s.Conditions, s.AllocatedResources, s.AllocatedResourceStatuses = nil, nil, nil, nil
	return &c
}

// ownNode lets a kubelet write its own Node, but not where privileged pods may run.
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
			return w.Forbidden("node %q is not allowed to set the following labels: %s", w.node, strings.Join(others, ", "))
		}
		return nil
	}
	was, ok := w.Old.(*corev1.Node)
	if !ok {
		return w.unexpected(w.Old)
	}
	same := scheme.Equal[corev1.NodeConfigSource]
	if source, old := node.Spec.ConfigSource, was.Spec.ConfigSource; source != nil && (old == nil || !same(source, old)) {
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

// lease lets a kubelet say that it is alive.
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

// slice judges what the authorizer cannot see: what is about to be made, and each of many that are
// deleted.
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

// signingRequest lets a node ask for certificates of its own.
func (w *nodeWrite) signingRequest() error {
	if w.Operation != admission.Create {
		return nil
	}
	csr, ok := w.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return w.unexpected(w.Object)
	}
	if name := csr.Spec.SignerName; name != "kubernetes.io/kubelet-serving" && name != "kubernetes.io/kube-apiserver-client-kubelet" {
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
