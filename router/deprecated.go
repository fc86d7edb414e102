package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Deprecated marks a resource in a version that clients should stop using.
type Deprecated struct {
	Warning string // sent to the client with each response
	Removed string // the release that no longer serves it, such as "1.32"; "" if that is not decided
}

// deprecatedHandler wraps the handler of a verb of a deprecated resource. It warns the client and
// calls Config.DeprecatedUse before the handler runs, and annotates the audit record afterwards.
type deprecatedHandler struct {
	warning, removed string
	used             func()
	next             http.Handler
}

// The annotations of an audit record about a deprecated version.
const (
	deprecatedAnnotation = "k8s.io/deprecated"
	removedAnnotation    = "k8s.io/removed-release"
)

// warnDeprecated wraps next, the handler of a verb of e, if e is deprecated. Otherwise it returns
// next.
func warnDeprecated(e *endpoint, next http.Handler) http.Handler {
	d := e.res.Deprecated
	if d == nil {
		return next
	}
	h := &deprecatedHandler{warning: d.Warning, removed: d.Removed, used: func() {}, next: next}
	if used := e.cfg.DeprecatedUse; used != nil {
		_, subresource, _ := strings.Cut(e.res.Name, "/")
		gvr := meta.GroupVersionResource{Group: e.gr.Group, Version: e.gv.Version, Resource: e.gr.Resource}
		h.used = func() { used(gvr, subresource, d.Removed) }
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *deprecatedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	info.Warn(h.warning)
	h.used()
	h.next.ServeHTTP(w, r)
	info.Annotate(deprecatedAnnotation, "true")
	if h.removed != "" {
		info.Annotate(removedAnnotation, h.removed)
	}
}
