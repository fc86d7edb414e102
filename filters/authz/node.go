package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file authorizes kubelets: the mode Node of Kubernetes. Rules that depend only on the request
// are here; which objects belong to a node is answered by NodeGraph.

// nodeLeases is the namespace of the leases that kubelets renew.
const nodeLeases = "kube-node-lease"

// Node is the authorizer for kubelets. A kubelet may use the resources that it needs, and read
// those objects that NodeGraph relates to its node. Node has no opinion on other users, and never
// denies. What a kubelet may write into an object is checked by admission (NodeRestriction).
type Node struct{ graph *NodeGraph }

// NewNode returns a Node. As long as g has not been told of a pod, the pod's node may not read the
// pod's objects.
func NewNode(g *NodeGraph) *Node { return &Node{g} }

// Authorize implements request.Authorizer. Its reasons are in kube-apiserver's words.
func (n *Node) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	name, ok := a.User.NodeName()
	switch {
	case !ok:
		return request.NoOpinion, "", nil
	case name == "":
		return request.NoOpinion, fmt.Sprintf("unknown node for user %q", a.User.Name), nil
	case !a.IsResource:
		return request.NoOpinion, "", nil
	}
	allowed, reason := n.decide(name, a)
	if allowed {
		return request.Allow, "", nil
	}
	return request.NoOpinion, reason, nil
}

// RulesFor implements request.RuleResolver. It has no rules and says so by an error, because a
// node's rights depend on its pods.
func (n *Node) RulesFor(_ context.Context, user *request.User, _ string) ([]rbacv1.PolicyRule, bool, error) {
	if _, ok := user.NodeName(); ok {
		return nil, true, errors.New("node authorizer does not support user rule resolution")
	}
	return nil, false, nil
}

// decide reports whether a node may do what it asks to do with a resource. node is the name of the
// node. reason says why it may not, if there is more to say than that no rule allows it.
func (n *Node) decide(node string, a *request.Attributes) (allowed bool, reason string) {
	switch a.Group {
	case "":
		switch a.Resource {
		case "secrets":
			return n.read(node, secretSort, a)
		case "configmaps":
			return n.read(node, configMapSort, a)
		case "persistentvolumeclaims":
			if a.Subresource == "status" {
				return n.writeStatus(node, claimSort, a)
			}
			return n.get(node, claimSort, a)
		case "persistentvolumes":
			return n.get(node, volumeSort, a)
		case "serviceaccounts":
			return n.serviceAccount(node, a)
		case "nodes":
			return ownNode(node, a)
		case "pods":
			return n.pod(node, a)
		}
	case "storage.k8s.io":
		switch a.Resource {
		case "volumeattachments":
			return n.get(node, attachmentSort, a)
		case "csinodes":
			return ownCSINode(node, a)
		}
	case "resource.k8s.io":
		switch a.Resource {
		case "resourceclaims":
			return n.get(node, resourceClaimSort, a)
		case "resourceslices":
			return n.slice(node, a)
		}
	case "coordination.k8s.io":
		if a.Resource == "leases" {
			return ownLease(node, a)
		}
	}
	for _, rule := range nodeRules {
		if rule.group == a.Group && rule.resource == a.Resource && a.Subresource == "" {
			return slices.Contains(rule.verbs, a.Verb), ""
		}
	}
	return false, ""
}

// nodeRules are the rights of all nodes on resources whose objects are not related to nodes.
var nodeRules = []struct {
	group, resource string
	verbs           []string
}{
	{"", "services", []string{"get", "list", "watch"}},
	{"", "endpoints", []string{"get"}},
	{"", "events", []string{"create", "update", "patch"}},
	{"events.k8s.io", "events", []string{"create", "update", "patch"}},
	{"authentication.k8s.io", "tokenreviews", []string{"create"}},
	{"authorization.k8s.io", "subjectaccessreviews", []string{"create"}},
	{"authorization.k8s.io", "localsubjectaccessreviews", []string{"create"}},
	{"certificates.k8s.io", "certificatesigningrequests", []string{"create", "get", "list", "watch"}},
	{"storage.k8s.io", "csidrivers", []string{"get", "list", "watch"}},
	{"node.k8s.io", "runtimeclasses", []string{"get", "list", "watch"}},
}

// related allows a request if the graph relates the object to the node.
func (n *Node) related(node string, s objectSort, a *request.Attributes) (bool, string) {
	if a.Name == "" {
		return false, "No Object name found"
	}
	if !n.graph.reaches(node, s, a.Namespace, a.Name) {
		return false, "no relationship found between node '" + node + "' and this object"
	}
	return true, ""
}

// get decides about resources that a node may only get, one object at a time.
func (n *Node) get(node string, s objectSort, a *request.Attributes) (bool, string) {
	switch {
	case a.Verb != "get":
		return false, "can only get individual resources of this type"
	case a.Subresource != "":
		return false, "cannot get subresource"
	}
	return n.related(node, s, a)
}

// read decides about resources that a node may get, list and watch, one object at a time.
func (n *Node) read(node string, s objectSort, a *request.Attributes) (bool, string) {
	switch {
	case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
		return false, "can only read resources of this type"
	case a.Subresource != "":
		return false, "cannot read subresource"
	case a.Namespace == "":
		return false, "can only read namespaced object of this type"
	}
	return n.related(node, s, a)
}

// writeStatus decides about the status of an object that belongs to the node.
func (n *Node) writeStatus(node string, s objectSort, a *request.Attributes) (bool, string) {
	if a.Verb != "update" && a.Verb != "patch" {
		return false, "can only get/update/patch this type"
	}
	return n.related(node, s, a)
}

// serviceAccount decides about service accounts of the node's pods: reading them and requesting
// their tokens.
func (n *Node) serviceAccount(node string, a *request.Attributes) (bool, string) {
	switch {
	case a.Verb == "get" && a.Subresource == "":
		return n.read(node, serviceAccountSort, a)
	case a.Verb != "create" || a.Name == "":
		return false, "can only create tokens for individual service accounts"
	case a.Subresource != "token":
		return false, "can only create token subresource of serviceaccount"
	}
	return n.related(node, serviceAccountSort, a)
}

// pod decides about pods: a node reads and watches its own, and may create (mirror pods) and
// delete; NodeRestriction checks which.
func (n *Node) pod(node string, a *request.Attributes) (bool, string) {
	switch a.Subresource {
	case "":
		switch a.Verb {
		case "get":
			return n.get(node, podSort, a)
		case "list", "watch":
			switch {
			case selects(a, "spec.nodeName", node):
				return true, ""
			case a.Name != "":
				return n.related(node, podSort, a)
			}
			return false, "can only list/watch pods with spec.nodeName field selector"
		case "create", "delete":
			return true, ""
		}
	case "status":
		return a.Verb == "update" || a.Verb == "patch", ""
	case "eviction":
		return a.Verb == "create", ""
	}
	return false, ""
}

// slice decides about resource slices: a node uses its own, and lists only with a field selector
// for itself.
func (n *Node) slice(node string, a *request.Attributes) (bool, string) {
	if a.Subresource != "" {
		return false, "cannot authorize ResourceSlice subresources"
	}
	switch a.Verb {
	case "create":
		return true, ""
	case "get", "update", "patch", "delete":
		return n.related(node, sliceSort, a)
	case "watch", "list", "deletecollection":
		if selects(a, "spec.nodeName", node) {
			return true, ""
		}
		return false, "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return false, "only the following verbs are allowed for a ResourceSlice: " +
		"get, watch, list, create, update, patch, delete, deletecollection"
}

// ownNode decides about the Node object by its name alone, because a kubelet asks for its Node
// before the object exists.
func ownNode(node string, a *request.Attributes) (bool, string) {
	switch a.Subresource {
	case "":
		switch a.Verb {
		case "create", "update", "patch":
			return true, ""
		case "get", "list", "watch":
			switch a.Name {
			case node:
				return true, ""
			case "":
				return false, "node '" + node + "' cannot read all nodes, only its own Node object"
			}
			return false, "node '" + node + "' cannot read '" + a.Name + "', only its own Node object"
		}
	case "status":
		return a.Verb == "update" || a.Verb == "patch", ""
	}
	return false, ""
}

// ownVerbs are the verbs that a node may use on its own lease and CSINode. For create, the name of
// the object is not known yet.
var ownVerbs = []string{"get", "create", "update", "patch", "delete"}

// ownLease decides about the node's lease, which has the node's name.
func ownLease(node string, a *request.Attributes) (bool, string) {
	switch {
	case !slices.Contains(ownVerbs, a.Verb):
		return false, "can only get, create, update, patch, or delete a node lease"
	case a.Namespace != nodeLeases:
		return false, `can only access leases in the "` + nodeLeases + `" system namespace`
	case a.Verb != "create" && a.Name != node:
		return false, "can only access node lease with the same name as the requesting node"
	}
	return true, ""
}

// ownCSINode decides about the node's CSINode, which has the node's name.
func ownCSINode(node string, a *request.Attributes) (bool, string) {
	switch {
	case !slices.Contains(ownVerbs, a.Verb):
		return false, "can only get, create, update, patch, or delete a CSINode"
	case a.Subresource != "":
		return false, "cannot authorize CSINode subresources"
	case a.Verb != "create" && a.Name != node:
		return false, "can only access CSINode with the same name as the requesting node"
	}
	return true, ""
}

// selects reports whether the request's field selector requires field to be value.
func selects(a *request.Attributes, field, value string) bool {
	if a.Selected == nil && !strings.Contains(a.FieldSelector, field) {
		return false
	}
	requirements, err := a.Fields()
	return err == nil && slices.Contains(requirements, meta.FieldRequirement{Field: field, Value: value})
}
