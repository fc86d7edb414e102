package server

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/server/generic"
)

// Hook is work that begins after the server listens (a post-start hook), or that has to be done
// before it stops (a pre-shutdown hook). The context of a post-start hook ends with the server, the
// context of a pre-shutdown hook after ShutdownConfig.Timeout.
type Hook struct {
	Name string // unique; health checks show it
	// Run does the work. If a post-start hook returns an error the server shuts down. Goroutines
	// that a hook leaves behind must end with the context; the server waits only for those that
	// Server.Go started.
	Run func(ctx context.Context, s *Server) error
}

// AddPostStartHook adds work to do as soon as the server listens. All hooks run concurrently, and
// the server is ready when all have returned. AddPostStartHook must be called before Run. It
// returns an error if there is a hook of the same name.
func (s *Server) AddPostStartHook(h Hook) error { return s.life.health.AddHook(h.bind(s)) }

// AddPreShutdownHook adds work to do when the server has been told to stop and still serves
// requests. It must be called before Run. It returns an error if there is a pre-shutdown hook of
// the same name.
func (s *Server) AddPreShutdownHook(h Hook) error { return s.life.preShutdown.Add(h.bind(s)) }

// bind returns h as a generic.Hook, whose Run calls h.Run with s.
func (h Hook) bind(s *Server) generic.Hook {
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
