package aggregator

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// This file asks servers behind what they serve. Each has a goroutine, which asks when an
// APIService of the server changes, and every askAgain (describe.go). The answers are shown in
// discovery, and the documents in the index of OpenAPI v3. The group versions of a server that does
// not answer are shown, too, as stale. The loop calls set (follow.go); controllers read the answers
// through InNamespaces, Preferred and Resource. OpenAPI v2 is asked for on demand (swaggers.go).

const (
	// askAgain is the time between two questions to a server. A server that did not answer is asked
	// again after askSoon, and then after pauses that double up to askAgain.
	askAgain = time.Minute
	askSoon  = 500 * time.Millisecond
)

// neighbours are the servers behind, as they describe themselves.
type neighbours struct {
	discovery *router.Discovery
	run       func(work func(context.Context))
	log       *zap.Logger
	// handler returns the handler that relays requests for OpenAPI documents to the server behind.
	// It returns equal handlers for equal versions.
	handler func(meta.GroupVersion) http.Handler

	mu       sync.Mutex // guards servers, versions, changed and the fields of each neighbour
	servers  map[site]*neighbour
	versions []*router.RemoteVersion // what discovery shows; replaced, never changed
	changed  chan struct{}           // closed when versions is replaced
}

// site identifies a server behind: its Service, and how its certificate is verified. Two
// APIServices with equal sites name one server.
type site struct {
	service  callout.Service
	caBundle string
	insecure bool
}

// neighbour is one server behind.
type neighbour struct {
	*neighbours
	remotes []*remote       // by name of the APIService; at least one
	ctx     context.Context // ends when no APIService names the server
	end     context.CancelFunc
	changed chan struct{} // has room for one token, put there when remotes changes
	asked   chan struct{} // closed when the server has been asked once
	said    description
	shown   map[string]*router.RemoteVersion // by name of the APIService
	v2      swaggers
}

// set replaces the remotes, given by name of the APIService. It starts a goroutine for each new
// server, which ends with ctx, and ends the goroutine of each server that no APIService names any
// longer.
func (n *neighbours) set(ctx context.Context, remotes map[string]*remote) {
	at := map[site][]*remote{}
	for _, name := range jsontext.Keys(remotes) {
		r := remotes[name]
		if r.version() == legacy { // discovery shows this server's own version of the core group
			continue
		}
		where := site{*r.target.Service, string(r.target.CABundle), r.target.Insecure}
		at[where] = append(at[where], r)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for where, server := range n.servers {
		if at[where] == nil {
			server.end()
			delete(n.servers, where)
		}
	}
	for where, remotes := range at {
		server := n.servers[where]
		switch {
		case server == nil:
			n.add(ctx, where, remotes)
		case !slices.Equal(server.remotes, remotes):
			server.remotes = remotes
			select {
			case server.changed <- struct{}{}:
			default:
			}
		}
	}
	n.show()
}

// add starts the goroutine of a new server. The caller holds mu.
func (n *neighbours) add(ctx context.Context, where site, remotes []*remote) {
	server := &neighbour{
		neighbours: n, remotes: remotes, changed: make(chan struct{}, 1), asked: make(chan struct{}),
		shown: map[string]*router.RemoteVersion{},
	}
	server.ctx, server.end = context.WithCancel(ctx)
	if n.servers == nil {
		n.servers = map[site]*neighbour{}
	}
	n.servers[where] = server
	n.run(func(context.Context) { server.keepAsking() })
}

// wait returns when all servers have been asked once, or when ctx ends.
func (n *neighbours) wait(ctx context.Context) {
	n.mu.Lock()
	var asked []chan struct{}
	for _, server := range n.servers {
		asked = append(asked, server.asked)
	}
	n.mu.Unlock()
	for _, once := range asked {
		select {
		case <-once:
		case <-ctx.Done():
			return
		}
	}
}

// keepAsking asks the server until its context ends.
func (s *neighbour) keepAsking() {
	defer s.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause, silent := askSoon, false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.changed:
		case <-timer.C:
		}
		err := s.ask()
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			pause, silent = askSoon, false
			timer.Reset(askAgain)
			continue
		}
		if !silent {
			s.log.Warn("a server behind this one does not describe its resources; asking again",
				zap.Error(err))
		}
		silent = true
		timer.Reset(pause)
		pause = min(2*pause, askAgain)
	}
}

// ask asks the server once, and puts the answer into discovery.
func (s *neighbour) ask() error {
	s.mu.Lock()
	remotes, before := s.remotes, s.said
	s.mu.Unlock()
	said, err := describe(s.ctx, remotes, &before)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil { // no APIService names the server, so the answer is dropped
		return s.ctx.Err()
	}
	s.said = said
	s.show()
	select {
	case <-s.asked:
	default:
		close(s.asked)
	}
	return err
}

// show updates discovery with the descriptions of all servers, if something has changed. The caller
// holds mu. A RemoteVersion that has not changed is used again, so that discovery need not render
// it anew.
func (n *neighbours) show() {
	var versions []*router.RemoteVersion
	for _, server := range n.servers {
		shown := make(map[string]*router.RemoteVersion, len(server.remotes))
		for _, r := range server.remotes {
			next := server.version(r)
			if before := server.shown[r.service.Name]; before != nil && sameVersion(before, next) {
				next = before
			}
			shown[r.service.Name] = next
			versions = append(versions, next)
		}
		server.shown = shown
	}
	priorities := map[string]int{}
	for _, v := range versions {
		priorities[v.Group] = max(priorities[v.Group], v.GroupPriority)
	}
	slices.SortFunc(versions, func(a, b *router.RemoteVersion) int { // as kube-aggregator merges documents
		return cmp.Or(cmp.Compare(priorities[b.Group], priorities[a.Group]),
			strings.Compare(a.Version+"."+a.Group, b.Version+"."+b.Group))
	})
	if slices.Equal(versions, n.versions) {
		return
	}
	n.discovery.SetRemote(versions)
	n.versions = versions
	close(n.changed)
	n.changed = make(chan struct{})
}

// version returns a group version as discovery shows it. The caller holds mu.
func (s *neighbour) version(r *remote) *router.RemoteVersion {
	gv := r.version()
	said, known := s.said.versions[gv]
	next := &router.RemoteVersion{
		GroupVersion: gv, Resources: said.resources, Stale: !known || said.stale, Handler: s.handler(gv),
		GroupPriority:   int(r.service.Spec.GroupPriorityMinimum),
		VersionPriority: int(r.service.Spec.VersionPriority),
		V2:              s.v2.parts[gv], NoV3: s.said.noV3,
	}
	for _, path := range []string{"apis/" + gv.String(), "apis/" + gv.Group} {
		if hash, ok := s.said.schemas[path]; ok {
			next.Schemas = append(next.Schemas, openapi.Entry{Path: path, Hash: hash})
		}
	}
	return next
}

// InNamespaces returns the namespaced resources of servers behind that have the verb delete, as the
// servers have described them so far. The namespace controller deletes their objects.
func (a *Aggregator) InNamespaces() (all ownership.RemoteResources) {
	take := func(gvr meta.GroupVersionResource, r *apidiscoveryv2.APIResourceDiscovery) bool {
		ok := r.Scope == apidiscoveryv2.ScopeNamespace && slices.Contains(r.Verbs, "delete")
		if ok {
			all.Resources = append(all.Resources, gvr)
		}
		return ok
	}
	all.Unknown, all.Changed = a.Preferred(take)
	return all
}

// Preferred calls take for each resource of servers behind: in the version with the highest
// priority first, and then in the others until take returns true. It returns the group versions
// whose resources are not known because their server does not describe them, and a channel that is
// closed when any of this changes. take must not change its arguments.
func (a *Aggregator) Preferred(
	take func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool,
) (unknown []meta.GroupVersion, changed <-chan struct{}) {
	versions, changed := a.docs.now()
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(a, b *router.RemoteVersion) int {
		return cmp.Compare(b.VersionPriority, a.VersionPriority)
	})
	taken := map[meta.GroupResource]bool{}
	for _, v := range versions {
		if v.Stale {
			unknown = append(unknown, v.GroupVersion)
			continue
		}
		for i := range v.Resources {
			gvr := v.WithResource(v.Resources[i].Resource)
			if !taken[gvr.GroupResource()] {
				taken[gvr.GroupResource()] = take(gvr, &v.Resources[i])
			}
		}
	}
	slices.SortFunc(unknown, func(a, b meta.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return unknown, changed
}

// Resource returns the first resource of servers behind that has the verb get and for which asked
// returns true, with its kind and whether it is namespaced. ok is false if there is none. asked
// must not change its arguments.
func (a *Aggregator) Resource(
	asked func(*router.RemoteVersion, *apidiscoveryv2.APIResourceDiscovery) bool,
) (gvr meta.GroupVersionResource, kind string, namespaced, ok bool) {
	versions, _ := a.docs.now()
	for _, v := range versions {
		for i := range v.Resources {
			r := &v.Resources[i]
			if r.ResponseKind != nil && slices.Contains(r.Verbs, "get") && asked(v, r) {
				return v.WithResource(r.Resource), r.ResponseKind.Kind, r.Scope == apidiscoveryv2.ScopeNamespace, true
			}
		}
	}
	return gvr, "", false, false
}

// now returns the group versions of servers behind as discovery shows them, and a channel that is
// closed when they change.
func (n *neighbours) now() (versions []*router.RemoteVersion, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.versions, n.changed
}

// sameVersion reports whether discovery would show a and b alike. It compares resources by the
// identity of their slice: describe keeps the slice while the document is the same.
func sameVersion(a, b *router.RemoteVersion) bool {
	return a.GroupVersion == b.GroupVersion &&
		a.GroupPriority == b.GroupPriority && a.VersionPriority == b.VersionPriority &&
		a.Stale == b.Stale && a.Handler == b.Handler &&
		slices.Equal(a.Schemas, b.Schemas) && a.V2 == b.V2 && a.NoV3 == b.NoV3 &&
		len(a.Resources) == len(b.Resources) && (len(a.Resources) == 0 || &a.Resources[0] == &b.Resources[0])
}

// The users as which this server asks for discovery, for the resource list of one version, and for
// OpenAPI documents, as in kube-aggregator.
var (
	discoveryUser = request.User{Name: "system:kube-aggregator", Groups: []string{request.GroupMasters}}
	resourcesUser = request.User{Name: "system:kube-aggregator"}
	openAPIUser   = request.User{Name: "system:aggregator"}
)
