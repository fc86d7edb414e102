package server

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/server/generic"
)

// Hook is work that begins after the server listens, or has to be done before it stops. The context
// of a post-start hook ends with the server; that of a pre-shutdown hook after
// ShutdownConfig.Timeout.
type Hook struct {
	Name string
	// Run does the work. A post-start hook that returns an error ends the server; what it leaves
	// running must be ended by the context and is not waited for, unless it was started with
	// Server.Go.
	Run func(ctx context.Context, s *Server) error
}

// AddPostStartHook adds work to do as soon as the server listens. Hooks run at the same time, and
// the server is not ready before all have returned. It must be called before Run. Two hooks of one
// name are an error.
func (s *Server) AddPostStartHook(h Hook) error { return s.life.health.AddHook(h.of(s)) }

// AddPreShutdownHook adds work to do when the server is told to stop, before requests are turned
// away. It must be called before Run.
func (s *Server) AddPreShutdownHook(h Hook) error { return s.life.preShutdown.Add(h.of(s)) }

// of is a hook of s.
func (h Hook) of(s *Server) generic.Hook {
	return generic.Hook{Name: h.Name, Run: func(ctx context.Context) error { return h.Run(ctx, s) }}
}

// addHooks adds the post-start hooks of a part.
func (s *Server) addHooks(list ...generic.Hook) error {
	var errs []error
	for _, h := range list {
		errs = append(errs, s.life.health.AddHook(h))
	}
	return errors.Join(errs...)
}
