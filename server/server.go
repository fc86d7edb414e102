package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/definitions"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/identity"
)

// Server is an API server. Make it with New, serve with Run. Its parts are complete when New has
// made it; what changes after that is inside of them.
type Server struct {
	Scheme *scheme.Scheme
	Codecs *codec.Factory
	Chain
	// Metrics is the registry behind /metrics.
	Metrics *prometheus.Registry

	*generic.Resources
	links
	addresses *addresses.Addresses
	handler   http.Handler
	client    *client.Client
	identity  *identity.Identity
	listeners *connections.Listeners
	life      *life
}

// links are what the first and the last link of the chain know.
type links struct {
	definitions *definitions.Definitions
	behind      *aggregator.Aggregator // the servers behind this one
}

// Chain is the delegation chain: what one link does not know is the next one's.
type Chain struct {
	// Aggregator comes first. It serves APIServices, and hands requests on to the servers that
	// these name.
	Aggregator *generic.Server
	// Core serves the configured groups. Paths of one's own go to Core.Paths, before Run.
	Core *generic.Server
	// Extensions comes last, and serves custom resources and their definitions.
	Extensions *generic.Server
}

// New makes a server from cfg: it opens the store, and certificates are made if there are none.
// What is wrong with cfg is reported all at once. A server that is not Run must be Closed.
//
// ctx bounds New alone, not the server: with its end New gives up waiting for the store, which may
// be an etcd that does not answer or a log that is being replayed, and returns the cause.
func New(ctx context.Context, cfg Config) (*Server, error) {
	c, err := cfg.complete()
	if err == nil {
		c.recognize(ctx)
		err = c.makeDataDir()
	}
	if err != nil {
		if cfg.Storage.Store != nil {
			cfg.Storage.Store.Close()
		}
		return nil, fmt.Errorf("server: %w", err)
	}
	a, err := assemble(ctx, c, serverParts())
	if err != nil {
		return nil, err
	}
	return a.server, nil
}

// Handler is the whole server as an http.Handler, filters included.
func (s *Server) Handler() http.Handler { return s.handler }

// HandleGet serves GET requests at a path that is no API resource, as PrefixMux.Handle understands
// paths. They come through all filters: who may ask is decided by rules for non-resource URLs. An
// error that get returns, before it has written anything, is answered as a Status. For other
// methods there is Core.Paths.
func (s *Server) HandleGet(path string, get func(w http.ResponseWriter, r *http.Request) error) error {
	return s.Core.Paths.Handle(path, router.ReadOnly(router.Plain(get)))
}
