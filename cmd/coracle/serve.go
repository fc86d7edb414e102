package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/cmd/flags"
	"github.com/coracle-project/coracle/server"
)

// The command serve, and what it shares with the command kube-apiserver: the form of the help, the
// run of the server until a signal, and the settings of the garbage collector.

// serveCommand returns the command that runs a server with Coracle's own defaults.
func serveCommand() *cobra.Command {
	o := flags.Serve()
	return withServerFlags(o, &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Without flags it stores its data in ./.coracle, makes its own certificates, and\n" +
			"writes a kubeconfig for the administrator to ./.coracle/admin.kubeconfig.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := o.Finish()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), config, cmd.OutOrStdout())
		},
	})
}

// withServerFlags gives a command that runs a server its flags, and a help that groups them as
// kube-apiserver's help does.
func withServerFlags(o *flags.Options, cmd *cobra.Command) *cobra.Command {
	cmd.SilenceUsage = true
	o.Bind(cmd.Flags())
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n", cmd.UseLine())
		o.Usage(cmd.OutOrStderr(), 0)
		return nil
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s\n", cmd.Long, cmd.UseLine())
		o.Usage(cmd.OutOrStdout(), 0)
	})
	return cmd
}

// untilSignal returns a context that ends with ctx, or when the process gets SIGINT or SIGTERM. A
// second signal has its usual effect: it ends the process.
func untilSignal(ctx context.Context) (until context.Context, stop func()) {
	until, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(until, stop) // the next signal has its default effect
	return until, stop
}

// serve runs a server until ctx ends or the process gets a signal. When the server is ready it
// prints how to use it on out, and tells the service manager. It returns when the server has shut
// down and all goroutines that it started have ended.
func serve(ctx context.Context, config server.Config, out io.Writer) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	defer config.Log.Sync() // writes the lines in the buffer of the log, if it has one
	tuned := tuneMemory()
	defer tuned()
	s, err := server.New(ctx, config)
	if err != nil {
		return err
	}
	var telling sync.WaitGroup
	telling.Go(func() {
		select {
		case <-s.Ready():
			greet(out, s)
			notify(readyState)
			tuned()
			// Like the start itself, the first rounds of the controllers use code that is not
			// needed later. So the pages of the program are dropped only after these rounds.
			defer time.AfterFunc(startTime, forgetStart).Stop()
			telling.Go(func() { freeMemoryAtRest(ctx) })
		case <-ctx.Done():
		}
		<-ctx.Done()
		notify(stoppingState)
	})
	defer telling.Wait()
	defer stop()
	return s.Run(ctx)
}

// The bounds of the start: beyond them garbage is collected even if the server is not ready.
const (
	startTime   = time.Second
	startMemory = 256 << 20 // bytes, ballast included
)

// tuneMemory sets the garbage collector for this program, unless the environment sets it (GOGC,
// GOMEMLIMIT). The heap may grow by a fifth between two collections, where Go's default is to
// double: most of what the server holds is long-lived objects and waiting watchers, so a larger
// heap would hold garbage for long and save little work.
//
// A fifth of a small heap is very little, and under load the collector would run hundreds of times
// a second. Therefore there is a ballast: 80 MiB that are allocated and never touched. They cost
// address space but no memory, and count as live, so at least 16 MiB of garbage come together
// between two collections.
//
// While the server starts, nothing is collected, because collecting would take longer than the rest
// of the start. The start ends when started is called, or after startTime. When the process has
// grown to startMemory, as it does if a large store is read, garbage is collected even before that.
// started may be called several times; its closure also keeps the ballast alive.
func tuneMemory() (started func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(startMemory)
	ballast := make([]byte, 80<<20) // fresh from the system, so Go does not clear it, which would touch it
	settle := sync.OnceFunc(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(20)
	})
	timer := time.AfterFunc(startTime, settle)
	return func() {
		timer.Stop()
		settle()
		runtime.KeepAlive(ballast)
	}
}

// greet prints on out how to use a server that is ready. It makes one write, so that a program that
// waits for the greeting, such as envtest, reads it whole.
func greet(out io.Writer, s *server.Server) {
	var b strings.Builder
	if addr := s.Address(); addr != nil {
		fmt.Fprintf(&b, "coracle is ready at https://%s\n", addr)
		if path := s.Kubeconfig(); path != "" {
			fmt.Fprintf(&b, "\n  export KUBECONFIG=%s\n  kubectl get namespaces\n\n", path)
		} else {
			b.WriteString("there is no kubeconfig for the administrator: use credentials of your own, such as a certificate of a CA in --client-ca-file\n")
		}
	}
	if addr := s.PlainAddress(); addr != nil {
		fmt.Fprintf(&b, "coracle is ready at http://%s\n", addr)
	}
	io.WriteString(out, b.String())
}
