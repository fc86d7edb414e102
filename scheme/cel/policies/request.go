package policies

import (
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Request is the variable request: what an AdmissionReview says about a request, without the
// objects. The fields are those of AdmissionRequest in Kubernetes, and so are their JSON names.
type Request struct {
	// UID is always empty: only reviews that leave the server have one.
	UID string `json:"uid"`
	// Kind is that of the object as expressions see it.
	Kind Kind `json:"kind"`
	// Resource is the resource that a rule of the policy has matched; for match conditions, it is
	// the resource of the request.
	Resource Resource `json:"resource"`
	// SubResource is the subresource that a rule of the policy has matched.
	SubResource string `json:"subResource,omitempty"`
	// RequestKind, RequestResource and RequestSubResource are those of the request itself.
	RequestKind        Kind     `json:"requestKind"`
	RequestResource    Resource `json:"requestResource"`
	RequestSubResource string   `json:"requestSubResource,omitempty"`
	Name               string   `json:"name,omitempty"`
	Namespace          string   `json:"namespace,omitempty"`
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	// UserInfo is the user who sent the request.
	UserInfo UserInfo `json:"userInfo"`
	// Object and OldObject are always nil: expressions see null.
	Object    any `json:"object"`
	OldObject any `json:"oldObject"`
	// DryRun says that the request stores nothing.
	DryRun bool `json:"dryRun"`
	// Options are the options of the request, nil for a connect. It holds a meta.Typed.
	Options any `json:"options"`
}

// Kind names a kind.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Resource names a resource.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// UserInfo describes a user.
type UserInfo struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// KindOf returns the Kind of gvk.
func KindOf(gvk meta.GroupVersionKind) Kind { return Kind{gvk.Group, gvk.Version, gvk.Kind} }

// ResourceOf returns the Resource of gvr.
func ResourceOf(gvr meta.GroupVersionResource) Resource {
	return Resource{gvr.Group, gvr.Version, gvr.Resource}
}

// access returns what authorizer.requestResource asks about.
func (r *Request) access() cel.Access {
	return cel.Access{
		Group: r.RequestResource.Group, Resource: r.RequestResource.Resource, Subresource: r.RequestSubResource,
		Namespace: r.Namespace, Name: r.Name,
	}
}
