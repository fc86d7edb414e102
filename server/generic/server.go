package generic

import (
	"net/http"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/router"
)

// Server is one link of the delegation chain: a director with its REST router and prefix mux. What
// it does not know goes to the next one. It can be used alone. Resources and paths may come and go
// while it serves.
//
// The links of a chain share one Discovery, so that each shows, and makes documents of, what all of
// them serve. The resources of a group version may be spread over several links.
type Server struct {
	Name      string
	REST      *router.RESTRouter
	Discovery *router.Discovery
	Paths     *router.PrefixMux

	director *router.Director
	mu       sync.Mutex // serialises changes, so that routes and discovery agree
}

// NewServer returns a server that knows nothing yet. discovery is that of the chain. next answers
// the requests that the server does not know; nil: the end of the chain.
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

// Next is what answers requests that this server does not know.
func (g *Server) Next() http.Handler { return g.director.Next }

// ServeHTTP answers a request that has come through the filters.
func (g *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.director.ServeHTTP(w, r) }

// Install serves resources, beside those that are there; what has the name of one takes its place.
// They are in discovery when they are served.
func (g *Server) Install(versions ...router.GroupVersion) { g.Replace(nil, versions) }

// Remove ends resources, subresources with their resource. They are not in discovery any more when
// they end.
func (g *Server) Remove(versions ...router.GroupVersion) router.Retired {
	return g.Replace(versions, nil)
}

// Replace is Remove and Install with no moment in between: a request sees the old resources or the
// new ones. A resource in both is always there, and discovery shows the old one until the new one
// is served.
func (g *Server) Replace(old, with []router.GroupVersion) router.Retired {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Discovery.Change(missing(old, with), nil)
	retired := g.REST.Change(old, with)
	g.Discovery.Change(nil, with)
	return retired
}

// missing returns the resources of old that are not in with.
func missing(old, with []router.GroupVersion) []router.GroupVersion {
	type place struct{ group, version, plural string }
	placeOf := func(gv *router.GroupVersion, r *router.Resource) place {
		plural, _, _ := strings.Cut(r.Name, "/")
		return place{gv.Group, gv.Version, plural}
	}
	stay := map[place]bool{}
	for i := range with {
		for j := range with[i].Resources {
			stay[placeOf(&with[i], &with[i].Resources[j])] = true
		}
	}
	var gone []router.GroupVersion
	for i := range old {
		gv := router.GroupVersion{GroupVersion: old[i].GroupVersion}
		for j := range old[i].Resources {
			if r := &old[i].Resources[j]; !stay[placeOf(&old[i], r)] {
				gv.Resources = append(gv.Resources, *r)
			}
		}
		if len(gv.Resources) > 0 {
			gone = append(gone, gv)
		}
	}
	return gone
}
