// Package request holds what is known of a request. One Info travels in the request's context; filters fill it in
// as they learn, everything behind them reads it.
//
// An Info belongs to the goroutine that serves the request. Authenticator and Authorizer stand here too, because filters,
// registries and servers all ask them; what implements them does not.
//
// Read: info.go, then parse.go, query.go, warnings.go, record.go and context.go; authn.go and
// authz.go say who may do what; rest.go has the data that routers and registries exchange.
package request

import (
	"context"
	"strings"
	"time"
)

// Info is everything the server knows about one request.
type Info struct {
	// Attributes are what authorizers are shown: what path and query say, parsed once (parse.go), and the user, nil until authenticated.
	// Path is as sent, without query, and of what is no resource only Path and Verb are set. Verb is get, list, watch, create, update,
	// patch, delete, deletecollection or proxy; "" for another method; of what is no resource, the method in lower case.
	Attributes

	APIPrefix   string   // "api" or "apis"
	InNamespace bool     // the path names a namespace, maybe an empty one, and the resource inside it
	Parts       []string // path segments behind the version, namespace ones left out: resource, name, subresource, ...
	parts       [maxParts]string

	Query Query // parsed once (query.go)

	// Filled in by filters.

	AuditID  string
	Received time.Time
	// Impersonator is who asked to be User instead; nil if nobody did. Constraint is the verb by which that was allowed, "" if it was
	// the right to be that user for whatever purpose.
	Impersonator *User
	Constraint   string
	Rights       Rights // nil until authorized
	// Decision and Reason are what the authorizer said of the request as it came, once it is Decided; Reason may name roles and
	// bindings. They are for the audit record: see Authorization.
	Decision  Decision
	Decided   bool
	Reason    string
	UserAgent string
	// Warnings are sent as Warning headers, in order. Warn adds to them.
	Warnings []string
	warned   *warned // nil as long as there is none
	// Annotations are what admission has to say for the audit record of the request.
	Annotations map[string]string
	// Status and Written (bytes) are filled in when the response has begun or ended.
	Status  int
	Written int64
	// Record is what the router fills with the body of the request and its answer; nil if nobody wants
	// that.
	Record *Record
}

// User is the authenticated subject of a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// InGroup reports whether the user is a member of group.
func (u *User) InGroup(group string) bool {
	for _, g := range u.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// NodeName is the name of the node that the user is the kubelet of, and whether the user is one: a member of system:nodes whose
// own name begins as that of one does. It is "" if nothing follows. A nil user is none.
func (u *User) NodeName() (name string, ok bool) {
	if u == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(u.Name, nodePrefix)
	if !ok || !u.InGroup(GroupNodes) {
		return "", false
	}
	return name, true
}

// Annotate adds to the audit record. What has been said once stays.
func (i *Info) Annotate(key, value string) {
	if _, said := i.Annotations[key]; said {
		return
	}
	if i.Annotations == nil {
		i.Annotations = map[string]string{}
	}
	i.Annotations[key] = value
}

type contextKey struct{}

// NewContext returns a context that carries info.
func NewContext(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, contextKey{}, info)
}

// From returns the request's Info, or nil where there is none: outside of requests.
func From(ctx context.Context) *Info {
	info, _ := ctx.Value(contextKey{}).(*Info)
	return info
}
