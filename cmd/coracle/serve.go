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

func serveCommand() *cobra.Command {
	o := flags.Serve()
	return runCommand(o, &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Without flags it stores in ./.coracle, makes its own certificates, and writes an admin\n" +
			"kubeconfig to ./.coracle/admin.kubeconfig.",
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

// runCommand gives a command that runs a server its flags, and help that groups them.
func runCommand(o *flags.Options, cmd *cobra.Command) *cobra.Command {
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

// untilTold returns a context that ends with ctx, or when the process is told to. Told twice, that
// ends at once.
func untilTold(ctx context.Context) (until context.Context, stop func()) {
	until, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(until, stop) // the next signal does what it does to others
	return until, stop
}

// serve runs a server until ctx ends, or the process is told to, and says how to use it once it is
// ready.
func serve(ctx context.Context, config server.Config, out io.Writer) error {
	ctx, stop := untilTold(ctx)
	defer stop()
	defer config.Log.Sync() // its buffer, if it has one
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
			// The first rounds of the controllers belong to the start, too.
			defer time.AfterFunc(startTime, forgetStart).Stop()
			telling.Go(func() { giveBackAtRest(ctx) })
		case <-ctx.Done():
		}
		<-ctx.Done()
		notify(stoppingState)
	})
	defer telling.Wait()
	defer stop()
	return s.Run(ctx)
}

// What a start that is quick takes at most: more is left to the collector.
const (
	startTime   = time.Second
	startMemory = 256 << 20 // the ballast included
)

// tuneMemory weighs collection against memory, unless the user has an opinion: most of what the
// server holds is long-lived bytes and watchers that wait, so a heap may grow by a fifth before it
// is collected.
//
// The ballast is never touched, so it costs no memory: it only counts as live, which lets 16 MiB of
// garbage come together even on a small heap, where the collector would otherwise run hundreds of
// times a second under load.
//
// While the server starts nothing is collected: that would take longer than all else that it does.
// The start ends with the call of started, and at its bounds, as there may be a large store to be
// read.
func tuneMemory() (started func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(startMemory)
	ballast := make([]byte, 80<<20) // of memory that is fresh, and so is not cleared
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

// greet says how to use a server that is ready, at once: who waits for it reads all of it.
func greet(out io.Writer, s *server.Server) {
	var b strings.Builder
	if addr := s.Address(); addr != nil {
		fmt.Fprintf(&b, "coracle is ready at https://%s\n", addr)
		if path := s.Kubeconfig(); path != "" {
			fmt.Fprintf(&b, "\n  export KUBECONFIG=%s\n  kubectl get namespaces\n\n", path)
		} else {
			b.WriteString("there is no administrator's kubeconfig: who is one is up to --client-ca-file\n")
		}
	}
	if addr := s.PlainAddress(); addr != nil {
		fmt.Fprintf(&b, "coracle is ready at http://%s\n", addr)
	}
	io.WriteString(out, b.String())
}
