package generic

import (
	"net/http"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/router"
)

// Server is one link of the delegation chain. Its director passes a request to its REST router, its
// discovery or its prefix mux, and a request that none of them knows to the next link. A Server
// also works without a chain. Resources and paths may be added and removed while it serves.
//
// The links of a chain share one Discovery, so discovery and OpenAPI show the resources of all
// links. The resources of one group version may be spread over several links.
type Server struct {
	Name      string
	REST      *router.RESTRouter
	Discovery *router.Discovery
	Paths     *router.PrefixMux // paths outside of the API, such as /healthz

	director *router.Director
	mu       sync.Mutex // serialises changes, so that routes and discovery agree
}

// NewServer returns a server without resources and paths. discovery is shared by the whole chain.
// next answers the requests that the server does not know; it is nil at the end of the chain.
func NewServer(name string, cfg *router.Config, discovery *router.Discovery, next http.Handler) *Server {
	g := &Server{
		Name:      name,
		REST:      router.NewRESTRouter(cfg),
		Discovery: discovery,
		Paths:     router.NewPrefixMux(),
	}
	g.director = &router.Director{REST: g.REST, Discovery: g.Discovery, Prefix: g.Paths, Next: next}
	return g
}

// Next returns the handler of the requests that this server does not know, or nil.
func (g *Server) Next() http.Handler { return g.director.Next }

// ServeHTTP answers a request that has passed the filters, which put its request.Info into the
// context.
func (g *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.director.ServeHTTP(w, r) }

// Install adds resources. A resource replaces one of the same group, version and name. Discovery
// shows the resources after they are served.
func (g *Server) Install(versions ...router.GroupVersion) { g.Replace(nil, versions) }

// Remove removes resources, each with its subresources: new requests do not find them. Discovery
// stops showing them before that. The result tells when the requests that run inside them have
// ended.
func (g *Server) Remove(versions ...router.GroupVersion) router.Retired {
	return g.Replace(versions, nil)
}

// Replace removes old and installs with in one step: each request finds the old resources or the
// new ones. A resource in both lists is never missing, and discovery shows its old declaration
// until the new one is served.
func (g *Server) Replace(old, with []router.GroupVersion) router.Retired {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Discovery.Change(missing(old, with), nil)
	retired := g.REST.Change(old, with)
	g.Discovery.Change(nil, with)
	return retired
}

// missing returns the resources of old whose group, version and plural name are not in with. A
// subresource is missing only if its resource is: the new declaration of a resource replaces all
// of its subresources.
func missing(old, with []router.GroupVersion) []router.GroupVersion {
	type resourceKey struct{ group, version, plural string }
	keyOf := func(gv *router.GroupVersion, r *router.Resource) resourceKey {
		plural, _, _ := strings.Cut(r.Name, "/")
		return resourceKey{gv.Group, gv.Version, plural}
	}
	stay := map[resourceKey]bool{}
	for i := range with {
		for j := range with[i].Resources {
			stay[keyOf(&with[i], &with[i].Resources[j])] = true
		}
	}
	var gone []router.GroupVersion
	for i := range old {
		gv := router.GroupVersion{GroupVersion: old[i].GroupVersion}
		for j := range old[i].Resources {
			if r := &old[i].Resources[j]; !stay[keyOf(&old[i], r)] {
				gv.Resources = append(gv.Resources, *r)
			}
		}
		if len(gv.Resources) > 0 {
			gone = append(gone, gv)
		}
	}
	return gone
}
