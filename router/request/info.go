// Package request holds everything that the server knows about one request: what path and query ask
// for, who sends it, whether that user may, and what was answered.
//
// Words: an Info is all facts about a request; Attributes are those that authorization needs; a
// Record is the body and the answer, kept for audit; a Span is a part of the work on a request,
// with its time; a Write is what a client wants of one object; Encoded is one object as bytes, and
// a form is one encoding of it (kind, version and media type).
//
// Laws: path and query are parsed once, by Parse, and nowhere else. An Info belongs to the
// goroutine that serves its request and has no lock. Its spans are the exception: every goroutine
// that works for the request may add some. Filters write to the Info; the code behind them reads
// it, and adds only warnings, annotations, spans and the record.
//
// Filters, router, registry and server all use this package. The interfaces Authenticator and
// Authorizer stand here because all of them call one; the implementations are in filters/authn and
// filters/authz. Not here: routing, negotiation of media types, and anything that reads a body.
//
// Read info.go, then parse.go, query.go, warnings.go, record.go, span.go, story.go and context.go.
// authn.go and authz.go hold the interfaces about users and rights. rest.go has the types that
// router and registry exchange.
package request

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
)

// Info is everything the server knows about one request. From finds it in the request's context.
type Info struct {
	// Attributes are what authorizers see: path and query as Parse found them, and the user, which
	// is nil until Authenticate. Path is as sent, without the query. For a resource request Verb is
	// get, list, watch, create, update, patch, delete, deletecollection or proxy, and "" for any
	// other method. For every other request only Path and Verb are set, and Verb is the method in
	// lower case.
	Attributes

	APIPrefix   string   // "api" or "apis"
	Parts       []string // path segments behind the version and the namespace: resource, name, subresource, rest
	parts       [maxParts]string
	Query       Query // the parsed parameters (query.go)
	InNamespace bool  // the path has namespaces/NAME/ before the resource; NAME may be empty

	// The fields below are filled by filters.

	// Decision and Reason are the authorizer's answer about the request as it was sent. They are
	// valid once Decided is true. Reason may name roles and bindings and is only for the audit
	// record; see AuthorizationAnnotations.
	Decision Decision
	Decided  bool
	Reason   string

	AuditID  string
	Received time.Time // when the filters got the request, before its body was read
	// Impersonator is the user who sent the request if it is served as another one, User; otherwise
	// nil. Constraint is the verb impersonate:MODE that allowed a constrained impersonation
	// (KEP-5284), and "" if the plain verb impersonate did.
	Impersonator *User
	Constraint   string
	Rights       Rights // answers about further verbs of the same request; nil until authorized
	UserAgent    string
	// Warnings are sent as Warning headers, in this order. Only Warn adds to them.
	Warnings     []string
	warningState *warningState // the state of Warn; nil until the first warning
	// Annotations are added to the audit record of the request. Only Annotate and AnnotateRequest
	// add to them.
	Annotations map[string]Annotation
	// Status and Written (bytes) describe the response. Status is set when the response begins;
	// Written grows with each write.
	Status  int
	Written int64
	// Record receives the body of the request and of its answer; nil if nobody asked for them.
	Record *Record
	spans  atomic.Pointer[spans] // see span.go; nil until the first noticeable span
}

// User is the authenticated subject of a request. A User is shared between requests and is never
// changed after it was made.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// IsAPIServer reports whether the user is the server itself. A nil user is not.
func (u *User) IsAPIServer() bool { return u != nil && u.Name == APIServerUser }

// InGroup reports whether the user is a member of group.
func (u *User) InGroup(group string) bool {
	for _, g := range u.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// NodeName returns the node whose kubelet the user is. ok is true if the user is a member of
// system:nodes and the name begins with "system:node:"; name is what follows and may be "". A nil
// user is no node.
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

// Annotation is a text for the audit record of a request. A text with Body set shows parts of the
// body of the request, so only records with that body have it (level Request and above).
type Annotation struct {
	Text string
	Body bool
}

// Annotate adds an annotation to the audit record. The first one of a key stays; later ones are
// dropped.
func (i *Info) Annotate(key, text string) { i.annotate(key, Annotation{Text: text}) }

// AnnotateRequest adds an annotation that shows parts of the body of the request.
func (i *Info) AnnotateRequest(key, text string) { i.annotate(key, Annotation{Text: text, Body: true}) }

func (i *Info) annotate(key string, a Annotation) {
	if _, said := i.Annotations[key]; said {
		return
	}
	if i.Annotations == nil {
		i.Annotations = map[string]Annotation{}
	}
	i.Annotations[key] = a
}

// contextKey is the key of the Info in a context.
type contextKey struct{}

// NewContext returns a context that carries info. The filters use Context instead; NewContext is
// for callers outside their chain.
func NewContext(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, contextKey{}, info)
}

// From returns the Info that ctx carries. It returns nil outside of requests.
func From(ctx context.Context) *Info {
	info, _ := ctx.Value(contextKey{}).(*Info)
	return info
}
