package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"

	"github.com/coracle-project/coracle/server/connections"
	"go.uber.org/zap"
)

// profileHandlers are what is served below /debug/pprof. The socket has the command line as well.
var profileHandlers = map[string]http.HandlerFunc{
	"/debug/pprof/":        pprof.Index,
	"/debug/pprof/profile": pprof.Profile,
	"/debug/pprof/symbol":  pprof.Symbol,
	"/debug/pprof/trace":   pprof.Trace,
}

// addProfiles serves profiles where the configuration wants them.
func (s *Server) addProfiles(c ProfilesConfig) error {
	if c.Contention {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	if c.Socket != "" {
		if err := s.serveProfiles(c.Socket); err != nil {
			return err
		}
	}
	if !c.Serve {
		return nil
	}
	errs := []error{s.Core.Paths.HandleHidden("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))}
	for path, h := range profileHandlers {
		errs = append(errs, s.Core.Paths.HandleHidden(path, h))
	}
	return errors.Join(errs...)
}

// serveProfiles serves profiles on a Unix socket to those who may open it, until the server stops.
func (s *Server) serveProfiles(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if live, err := net.Dial("unix", path); err == nil {
			live.Close() // somebody's who serves there; Listen says so
		} else {
			os.Remove(path) // of a server that was killed; what is wrong with that, Listen says
		}
	}
	var how net.ListenConfig
	socket, err := how.Listen(context.Background(), "unix", path)
	if err != nil {
		return fmt.Errorf("server: socket for profiles: %w", err)
	}
	mux := http.NewServeMux()
	for path, h := range profileHandlers {
		mux.Handle(path, h)
	}
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: connections.HeaderTimeout, ErrorLog: connections.QuietLog(s.Log())}
	s.Go(func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { srv.Close() })()
		if err := srv.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			s.Log().Error("profiles are no longer served on their socket", zap.String("path", path), zap.Error(err))
		}
	})
	return nil
}
