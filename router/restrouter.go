package router

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// RESTRouter finds the endpoint of a resource request. It is one gorilla/mux router with one route
// for each form of path. The routes match on the request's Info, so that the path is not parsed
// again and the cost does not grow with the number of resources.
//
// Resources may be added and removed while it serves. A request loads one state without a lock. A
// change copies the map of group versions and the maps of those that it touches, but not their
// endpoints.
type RESTRouter struct {
	cfg    *Config
	mux    *mux.Router
	mu     sync.Mutex // serializes changes
	routes atomic.Pointer[routes]
}

// routes is one state of the router: resources by group version and plural name. It is immutable.
type routes map[meta.GroupVersion]map[string]*resourceRoutes

// resourceRoutes are the endpoints of a resource and its subresources in one version.
type resourceRoutes struct {
	uses *uses                // counts the requests inside
	main *endpoint            // nil if only subresources are served
	subs map[string]*endpoint // by the name behind the slash; nil without subresources
}

// NewRESTRouter returns a router without resources.
func NewRESTRouter(cfg *Config) *RESTRouter {
	cfg.complete()
	rr := &RESTRouter{cfg: cfg, mux: mux.NewRouter()}
	rr.routes.Store(&routes{})
	rr.mux.NewRoute().MatcherFunc(rr.matchItem)
	rr.mux.NewRoute().MatcherFunc(rr.matchCollection)
	return rr
}

// Change removes the resources of out and adds those of in, each with its subresources, in one
// step: no request sees a state in between. It reads only names from out. A resource in in replaces
// the one of the same name. The result are the removed and replaced resources.
func (rr *RESTRouter) Change(out, in []GroupVersion) Retired {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	change := newRouteChange(rr)
	for i := range out {
		change.remove(&out[i])
	}
	for i := range in {
		change.add(&in[i])
	}
	rr.routes.Store(&change.next)
	for _, u := range change.retired {
		u.retire()
	}
	return change.retired
}

// routeChange builds the next state of a router.
type routeChange struct {
	router  *RESTRouter
	next    routes
	touched map[meta.GroupVersion]bool // group versions whose map in next has been copied and may be changed
	dropped map[resourceKey]*uses      // removed in this change, by place: a new resource there takes over the watches
	retired Retired
}

// resourceKey is where a resource is served: its group version and plural name.
type resourceKey struct {
	meta.GroupVersion
	plural string
}

// newRouteChange begins a change of rr. The caller holds rr.mu.
func newRouteChange(rr *RESTRouter) *routeChange {
	now := *rr.routes.Load()
	c := &routeChange{router: rr, next: make(routes, len(now)+1), touched: map[meta.GroupVersion]bool{},
		dropped: map[resourceKey]*uses{}}
	for gv, resources := range now {
		c.next[gv] = resources
	}
	return c
}

// resources returns the map of a group version for changing, and copies it at the first call.
func (c *routeChange) resources(gv meta.GroupVersion) map[string]*resourceRoutes {
	now := c.next[gv]
	if c.touched[gv] && now != nil {
		return now
	}
	own := make(map[string]*resourceRoutes, len(now)+1)
	for plural, r := range now {
		own[plural] = r
	}
	c.next[gv], c.touched[gv] = own, true
	return own
}

// remove removes the resources that gv names.
func (c *routeChange) remove(gv *GroupVersion) {
	resources := c.resources(gv.GroupVersion)
	for i := range gv.Resources {
		c.drop(gv.GroupVersion, resources, gv.Resources[i].plural())
	}
	if len(resources) == 0 {
		delete(c.next, gv.GroupVersion)
	}
}

// drop removes one resource and retires it.
func (c *routeChange) drop(gv meta.GroupVersion, resources map[string]*resourceRoutes, plural string) {
	if r := resources[plural]; r != nil {
		delete(resources, plural)
		c.dropped[resourceKey{gv, plural}] = r.uses
		c.retired = append(c.retired, r.uses)
	}
}

// add adds the resources of gv. They replace those of the same names.
func (c *routeChange) add(gv *GroupVersion) {
	resources := c.resources(gv.GroupVersion)
	for plural, list := range byPlural(gv.Resources) {
		c.drop(gv.GroupVersion, resources, plural)
		r := &resourceRoutes{uses: newUses(c.dropped[resourceKey{gv.GroupVersion, plural}])}
		for i := range list {
			r.add(c.router.endpoint(gv.GroupVersion, list[i], r.uses))
		}
		resources[plural] = r
	}
}

// add makes e the endpoint of the resource or of one of its subresources.
func (r *resourceRoutes) add(e *endpoint) {
	_, sub, ok := strings.Cut(e.res.Name, "/")
	if !ok {
		r.main = e
		return
	}
	if r.subs == nil {
		r.subs = map[string]*endpoint{}
	}
	r.subs[sub] = e
}

// endpoint makes the endpoint of a resource. Its handlers count the requests inside; a request that
// finds the resource retired starts again at rr.
func (rr *RESTRouter) endpoint(gv meta.GroupVersion, res Resource, u *uses) *endpoint {
	if res.Watcher != nil {
		res.Watcher = &countedWatcher{Watcher: res.Watcher, uses: u}
	}
	e := newEndpoint(rr.cfg, gv, &res)
	for _, verbs := range []map[string]http.Handler{e.itemVerbs, e.collectionVerbs} {
		for verb, h := range verbs {
			verbs[verb] = &counted{uses: u, next: warnDeprecated(e, h), late: rr}
		}
	}
	return e
}

// ServeHTTP answers a resource request: 404 if the resource does not exist, 405 if it does not
// serve the verb.
func (rr *RESTRouter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !rr.serve(w, r) {
		WriteError(w, r, ErrNotFound())
	}
}

// serve is ServeHTTP, except that it does nothing and returns false if the resource does not exist.
func (rr *RESTRouter) serve(w http.ResponseWriter, r *http.Request) bool {
	var match mux.RouteMatch
	if !rr.mux.Match(r, &match) || match.Handler == nil {
		return false
	}
	match.Handler.ServeHTTP(w, r)
	return true
}

// Serves reports whether any resource of a group is served.
func (rr *RESTRouter) Serves(group string) bool {
	for gv := range *rr.routes.Load() {
		if gv.Group == group {
			return true
		}
	}
	return false
}

// resource returns the routes of the resource that info names, or nil.
func (rr *RESTRouter) resource(info *request.Info) *resourceRoutes {
	return (*rr.routes.Load())[meta.GroupVersion{Group: info.Group, Version: info.Version}][info.Resource]
}

// find returns the endpoint that info names, or nil.
func (rr *RESTRouter) find(info *request.Info) *endpoint {
	r := rr.resource(info)
	switch {
	case r == nil, info.Verb == "proxy", info.Verb == "watch" && info.Subresource != "":
		return nil // of the verbs in old paths only watch is served, and no subresource can be watched
	case info.Subresource == "":
		return r.main
	}
	return r.subs[info.Subresource]
}

// matchItem matches /resource/name and /resource/name/subresource, in a namespace if the resource
// is namespaced. Segments behind the subresource of a custom resource are ignored, as in
// kube-apiserver.
func (rr *RESTRouter) matchItem(r *http.Request, m *mux.RouteMatch) bool {
	info := request.From(r.Context())
	if info == nil || len(info.Parts) < 2 {
		return false
	}
	e := rr.find(info)
	if e == nil || len(info.Parts) > 3 && e.res.Connecter == nil && !e.res.Custom ||
		e.res.Namespaced != info.InNamespace {
		return rr.matchNothing(info, m)
	}
	m.Handler = e.item(e.verbOf(r, info), e.missingPart(info))
	return true
}

// matchNothing matches a subresource that a custom resource does not have, which is refused with a
// message of its own.
func (rr *RESTRouter) matchNothing(info *request.Info, m *mux.RouteMatch) bool {
	r := rr.resource(info)
	if r == nil || r.main == nil || !r.main.res.Custom || info.Subresource == "" ||
		r.main.res.Namespaced != info.InNamespace {
		return false
	}
	m.Handler = r.main.noSubresource(info)
	return true
}

// matchCollection matches /resource, in a namespace or, for a namespaced resource, across all
// namespaces.
func (rr *RESTRouter) matchCollection(r *http.Request, m *mux.RouteMatch) bool {
	info := request.From(r.Context())
	if info == nil || len(info.Parts) != 1 {
		return false
	}
	e := rr.find(info)
	if e == nil || !e.res.Namespaced && info.InNamespace {
		return false
	}
	if e.res.Custom && e.res.Namespaced && !info.InNamespace && info.Verb != "list" && info.Verb != "watch" {
		return false // kube-apiserver answers 404 to every other verb across namespaces
	}
	m.Handler = e.collection(e.verbOf(r, info), info)
	return true
}

// verbOf returns the verb to serve, "" for none. Authorization treats HEAD, and every method under
// /watch/, as a read; only GET is served. For custom resources any method is served as a read, as
// in kube-apiserver.
func (e *endpoint) verbOf(r *http.Request, info *request.Info) string {
	switch info.Verb {
	case "get", "list", "watch":
		if r.Method != http.MethodGet && !e.res.Custom {
			return ""
		}
	}
	return info.Verb
}
