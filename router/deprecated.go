package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Deprecated says of a resource in a version that clients should turn away from it.
type Deprecated struct {
	Warning string // to the client, with each answer
	Removed string // the release that no longer serves it; may be ""
}

// warned serves a verb of something deprecated: it warns the client, and tells Config.DeprecatedUse, before it goes on.
type warned struct {
	warning string
	used    func()
	next    http.Handler
}

// newWarned returns next, a verb of e, with the warning if there is one.
func newWarned(e *endpoint, next http.Handler) http.Handler {
	d := e.res.Deprecated
	if d == nil {
		return next
	}
	h := &warned{warning: d.Warning, used: func() {}, next: next}
	if used := e.cfg.DeprecatedUse; used != nil {
		_, subresource, _ := strings.Cut(e.res.Name, "/")
		gvr := meta.GroupVersionResource{Group: e.gr.Group, Version: e.gv.Version, Resource: e.gr.Resource}
		h.used = func() { used(gvr, subresource, d.Removed) }
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *warned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request.From(r.Context()).Warn(h.warning)
	h.used()
	h.next.ServeHTTP(w, r)
}
