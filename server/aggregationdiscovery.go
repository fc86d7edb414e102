package server

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
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// Servers behind this one are asked what they serve, each by a goroutine of its own: when an APIService of it changes, and from time to
// time. What they say is shown in discovery, and their documents in the index of OpenAPI v3. Of one that does not answer it is known
// that its group versions exist; they are stale. What OpenAPI v2 has of them is asked for when somebody asks for that
// (aggregationopenapi.go).

const (
	// askAgain is after which time a server is asked again. One that has not answered is asked sooner, first after askSoon.
	askAgain = time.Minute
	askSoon  = 500 * time.Millisecond
)

// neighbours are the servers behind this one, as they describe themselves.
type neighbours struct {
	discovery *router.Discovery
	work      *generic.Work
	log       *zap.Logger
	handler   func(meta.GroupVersion) http.Handler // of what a server has to answer itself; equal for equal versions

	mu       sync.Mutex // guards the servers, and all that they have said
	known    map[site]*neighbour
	versions []*router.RemoteVersion // what discovery shows of all, by group and version
	changed  chan struct{}           // closed when it shows something else
}

// site is where a server is, and why it is trusted. What is the same for two APIServices is one server.
type site struct {
	service  callout.Service
	caBundle string
	insecure bool
}

// neighbour is a server behind this one.
type neighbour struct {
	*neighbours
	remotes []*remote       // by name, and at least one
	ctx     context.Context // until there are none
	end     context.CancelFunc
	changed chan struct{} // has something in it when remotes changes
	asked   chan struct{} // closed when it has been asked once
	said    description
	shown   map[string]*router.RemoteVersion // by name of the APIService
	v2      swaggers
}

// set says which group versions other servers have, by name of the APIService.
func (n *neighbours) set(remotes map[string]*remote) {
	at := map[site][]*remote{}
	for _, name := range jsontext.Keys(remotes) {
		r := remotes[name]
		if r.version() == legacy { // all below /api, of which discovery says nothing else
			continue
		}
		where := site{*r.target.Service, string(r.target.CABundle), r.target.Insecure}
		at[where] = append(at[where], r)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for where, server := range n.known {
		if at[where] == nil {
			server.end()
			delete(n.known, where)
		}
	}
	for where, remotes := range at {
		server := n.known[where]
		switch {
		case server == nil:
			n.add(where, remotes)
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

func (n *neighbours) add(where site, remotes []*remote) {
	server := &neighbour{
		neighbours: n, remotes: remotes, changed: make(chan struct{}, 1), asked: make(chan struct{}), shown: map[string]*router.RemoteVersion{},
	}
	server.ctx, server.end = context.WithCancel(n.work.Context())
	if n.known == nil {
		n.known = map[site]*neighbour{}
	}
	n.known[where] = server
	n.work.Run(func(context.Context) { server.run() })
}

// wait returns when all servers have been asked once, or with the end of ctx.
func (n *neighbours) wait(ctx context.Context) {
	n.mu.Lock()
	var asked []chan struct{}
	for _, server := range n.known {
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

// run asks the server until its context ends.
func (s *neighbour) run() {
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
			s.log.Warn("a server behind this one does not say what it serves; it will be asked again", zap.Error(err))
		}
		silent = true
		timer.Reset(pause)
		pause = min(2*pause, askAgain)
	}
}

// ask asks the server once, and shows what it says.
func (s *neighbour) ask() error {
	s.mu.Lock()
	remotes, before := s.remotes, s.said
	s.mu.Unlock()
	said, err := describe(s.ctx, remotes, &before)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil { // it is not the server's any more
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

// show puts what all servers have said into discovery. The caller holds mu.
func (n *neighbours) show() {
	var versions []*router.RemoteVersion
	for _, server := range n.known {
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
		return cmp.Or(cmp.Compare(priorities[b.Group], priorities[a.Group]), strings.Compare(a.Version+"."+a.Group, b.Version+"."+b.Group))
	})
	if slices.Equal(versions, n.versions) {
		return
	}
	n.discovery.SetRemote(versions)
	n.versions = versions
	close(n.changed)
	n.changed = make(chan struct{})
}

// version is what discovery shows of a group version. The caller holds mu.
func (s *neighbour) version(r *remote) *router.RemoteVersion {
	gv := r.version()
	said, known := s.said.versions[gv]
	next := &router.RemoteVersion{
		GroupVersion: gv, GroupPriority: int(r.service.Spec.GroupPriorityMinimum), VersionPriority: int(r.service.Spec.VersionPriority),
		Resources: said.resources, Stale: !known || said.stale, Handler: s.handler(gv),
		V2: s.v2.parts[gv], NoV3: s.said.noV3,
	}
	for _, path := range []string{"apis/" + gv.String(), "apis/" + gv.Group} {
		if hash, ok := s.said.schemas[path]; ok {
			next.Schemas = append(next.Schemas, openapi.Entry{Path: path, Hash: hash})
		}
	}
	return next
}

// inNamespaces returns what other servers keep in namespaces.
func (n *neighbours) inNamespaces() (all ownership.Elsewhere) {
	all.Unknown, all.Changed = n.preferred(func(gvr meta.GroupVersionResource, r *apidiscoveryv2.APIResourceDiscovery) bool {
		ok := r.Scope == apidiscoveryv2.ScopeNamespace && slices.Contains(r.Verbs, "delete")
		if ok {
			all.Resources = append(all.Resources, gvr)
		}
		return ok
	})
	return all
}

// preferred calls take for the resources of other servers, the preferred version of each first,
// until take has returned true for one of its versions. It returns the versions of which nobody
// knows what they have, and what is closed when any of it changes.
func (n *neighbours) preferred(take func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool) (
	unknown []meta.GroupVersion, changed <-chan struct{}) {
	n.mu.Lock()
	versions, changed := slices.Clone(n.versions), n.changed
	n.mu.Unlock()
	slices.SortStableFunc(versions, func(a, b *router.RemoteVersion) int { return cmp.Compare(b.VersionPriority, a.VersionPriority) })
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

// resource returns the first resource of other servers that is asked for and whose objects can be
// read, and their kind.
func (n *neighbours) resource(asked func(*router.RemoteVersion, *apidiscoveryv2.APIResourceDiscovery) bool) (
	gvr meta.GroupVersionResource, kind string, namespaced, ok bool) {
	n.mu.Lock()
	versions := n.versions // replaced, never changed
	n.mu.Unlock()
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

// sameVersion reports whether two say the same.
func sameVersion(a, b *router.RemoteVersion) bool {
	return a.GroupVersion == b.GroupVersion && a.GroupPriority == b.GroupPriority && a.VersionPriority == b.VersionPriority &&
		a.Stale == b.Stale && a.Handler == b.Handler && slices.Equal(a.Schemas, b.Schemas) && a.V2 == b.V2 && a.NoV3 == b.NoV3 &&
		len(a.Resources) == len(b.Resources) && (len(a.Resources) == 0 || &a.Resources[0] == &b.Resources[0])
}

// As whom this server asks for discovery, for the list of the resources of one version, and for OpenAPI.
var (
	discoveryUser = request.User{Name: "system:kube-aggregator", Groups: []string{request.GroupMasters}}
	resourcesUser = request.User{Name: "system:kube-aggregator"}
	openAPIUser   = request.User{Name: "system:aggregator"}
)
