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

// Profiles says how profiles of the process are served, and the path that changes how much it logs.
type Profiles struct {
	// Serve says that profiles are served at /debug/pprof, and /debug/flags/v, to users who are
	// authorized for those paths. The zero Profiles serve none, although the flag is true by
	// default. (--profiling)
	Serve bool
	// Contention says that the process fills the profiles "block" and "mutex", which slows down
	// each wait for a lock or channel. (--contention-profiling)
	Contention bool
	// Socket is the path of a Unix socket that serves the same paths to all users of the machine
	// who may open it, without authentication. "" serves none. (--debug-socket-path)
	Socket string
	// SetVerbosity changes how much the process logs, as the flag --v does. A PUT to /debug/flags/v
	// calls it. If it is nil, there is no such path. It may be called concurrently.
	SetVerbosity func(v int32)
}

// profileHandlers are the handlers that the server and the socket share. Only the socket also has
// /debug/pprof/cmdline.
var profileHandlers = map[string]http.HandlerFunc{
	"/debug/pprof/":        pprof.Index,
	"/debug/pprof/profile": pprof.Profile,
	"/debug/pprof/symbol":  pprof.Symbol,
	"/debug/pprof/trace":   pprof.Trace,
}

// installProfiles serves profiles on the paths and on the socket, as far as c switches them on.
func installProfiles(c *Profiles, n *Needs) error {
	if c.Contention {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	if c.Socket != "" {
		if err := serveProfiles(c, n); err != nil {
			return err
		}
	}
	if !c.Serve {
		return nil
	}
	errs := []error{
		n.On.Paths.HandleHidden("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound)),
	}
	for _, handlers := range []map[string]http.HandlerFunc{profileHandlers, verbosityHandlers(c.SetVerbosity)} {
		for path, h := range handlers {
			errs = append(errs, n.On.Paths.HandleHidden(path, h))
		}
	}
	return errors.Join(errs...)
}

// serveProfiles serves profiles on a Unix socket until the server stops. It replaces the socket of
// a server that was killed, and fails if another process serves on the socket.
func serveProfiles(c *Profiles, n *Needs) error {
	path := c.Socket
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if live, err := net.Dial("unix", path); err == nil {
			live.Close() // another process serves there, so Listen fails
		} else {
			os.Remove(path) // a server that was killed has left it; if Remove fails, Listen does too
		}
	}
	var how net.ListenConfig
	socket, err := how.Listen(context.Background(), "unix", path)
	if err != nil {
		return fmt.Errorf("server: cannot serve profiles on the socket of --debug-socket-path: %w", err)
	}
	mux := http.NewServeMux()
	for _, handlers := range []map[string]http.HandlerFunc{profileHandlers, verbosityHandlers(c.SetVerbosity)} {
		for path, h := range handlers {
			mux.Handle(path, h)
		}
	}
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: connections.HeaderTimeout,
		ErrorLog:          connections.QuietLog(n.Log),
	}
	n.Go(func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { srv.Close() })()
		if err := srv.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			n.Log.Error("profiles are no longer served on their socket", zap.String("path", path), zap.Error(err))
		}
	})
	return nil
}
