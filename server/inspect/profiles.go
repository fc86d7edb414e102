package inspect

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

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server/connections"
)

// Profiles says who gets profiles of the process.
type Profiles struct {
	// Serve serves them at /debug/pprof, to who may see it; off unless set, though the flag is on.
	// (--profiling)
	Serve bool
	// Contention has the profiles "block" and "mutex" filled, at some cost.
	// (--contention-profiling)
	Contention bool
	// Socket is the path of a Unix socket that serves /debug/pprof to whoever may open it, without
	// more authentication; "" for none. (--debug-socket-path)
	Socket string
}

// profileHandlers are what is served below /debug/pprof. The socket has the command line as well.
var profileHandlers = map[string]http.HandlerFunc{
	"/debug/pprof/":        pprof.Index,
	"/debug/pprof/profile": pprof.Profile,
	"/debug/pprof/symbol":  pprof.Symbol,
	"/debug/pprof/trace":   pprof.Trace,
}

// installProfiles serves profiles where the configuration wants them.
func installProfiles(c *Profiles, n *Needs) error {
	if c.Contention {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	if c.Socket != "" {
		if err := serveProfiles(c.Socket, n); err != nil {
			return err
		}
	}
	if !c.Serve {
		return nil
	}
	errs := []error{n.On.Paths.HandleHidden("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))}
	for path, h := range profileHandlers {
		errs = append(errs, n.On.Paths.HandleHidden(path, h))
	}
	return errors.Join(errs...)
}

// serveProfiles serves profiles on a Unix socket to those who may open it, until the server stops.
func serveProfiles(path string, n *Needs) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if live, err := net.Dial("unix", path); err == nil {
			live.Close() // somebody serves there; Listen says so
		} else {
			os.Remove(path) // a server that was killed has left it; if it stays, Listen says why
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
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: connections.HeaderTimeout, ErrorLog: connections.QuietLog(n.Log)}
	n.Go(func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { srv.Close() })()
		if err := srv.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			n.Log.Error("profiles are no longer served on their socket", zap.String("path", path), zap.Error(err))
		}
	})
	return nil
}
