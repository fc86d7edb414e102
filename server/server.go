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

// Server is an API server. New makes it, Run serves. Nobody assigns to its fields after New has
// returned; state that changes later is inside the parts.
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

// links are the packages that own the first and the last server of the delegation chain.
type links struct {
	definitions *definitions.Definitions
	behind      *aggregator.Aggregator // the servers behind this one
}

// Chain is the delegation chain. A server hands each request for a path that it does not serve to
// the next server of the chain.
type Chain struct {
	// Aggregator comes first. It serves APIServices, and relays requests for their group versions
	// to the servers that they name.
	Aggregator *generic.Server
	// Core serves the configured groups. A program adds paths of its own to Core.Paths, before Run.
	Core *generic.Server
	// Extensions comes last, and serves custom resources and their definitions.
	Extensions *generic.Server
}

// New makes a server from cfg. It opens the store, and makes certificates and keys if there are
// none. The error names everything that is wrong with cfg, not only the first fault. The caller
// must call Run or Close on the server. If New fails it has closed cfg.Storage.Store.
//
// ctx bounds New alone, not the server. When ctx ends New stops waiting for the store (an etcd that
// does not answer, a log that is being replayed) and returns the cause.
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

// HandleGet serves GET requests at a path that is no API resource, in the syntax of
// PrefixMux.Handle. The requests pass all filters, so rules for non-resource URLs decide who may
// ask. If get returns an error before it has written anything, the client receives the error as a
// Status. Core.Paths serves other methods.
func (s *Server) HandleGet(path string, get func(w http.ResponseWriter, r *http.Request) error) error {
	return s.Core.Paths.Handle(path, router.ReadOnly(router.Plain(get)))
}
