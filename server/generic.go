package server

import (
	"net/http"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
)

// GenericServer is one link of the delegation chain: a director with its REST router, discovery and prefix mux. What
// it does not know goes to the next one. It can be used alone. Groups and paths may come and go while it serves.
type GenericServer struct {
	Name      string
	REST      *router.RESTRouter
	Discovery *router.Discovery
	Paths     *router.PrefixMux

	director *router.Director
}

// NewGenericServer returns a server that knows nothing yet. next may be nil: the end of the chain.
func NewGenericServer(name string, cfg *router.Config, codecs *codec.Factory, next *GenericServer) *GenericServer {
	g := &GenericServer{
		Name:      name,
		REST:      router.NewRESTRouter(cfg),
		Discovery: router.NewDiscovery(codecs),
		Paths:     router.NewPrefixMux(),
	}
	g.director = &router.Director{REST: g.REST, Discovery: g.Discovery, Prefix: g.Paths}
	if next != nil {
		g.director.Next = next
	}
	return g
}

// ServeHTTP answers a request that has come through the filters.
func (g *GenericServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.director.ServeHTTP(w, r) }

// Install serves the versions of a group, the preferred one first.
func (g *GenericServer) Install(priority int, versions ...router.GroupVersion) {
	for _, gv := range versions {
		g.REST.Install(gv)
		g.Discovery.Install(gv, priority)
	}
}
