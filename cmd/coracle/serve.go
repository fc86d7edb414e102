package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/server"
)

func serveCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Without flags it stores in ./.coracle, makes its own certificates, and writes an admin\n" +
			"kubeconfig to ./.coracle/admin.kubeconfig.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return serve(ctx, o, cmd.OutOrStdout())
		},
	}
	o.bind(cmd.Flags())
	return cmd
}

// serve runs a server until ctx ends and says how to use it once it is ready.
func serve(ctx context.Context, o *options, out io.Writer) error {
	defer runtime.KeepAlive(tuneMemory())
	s, err := server.New(ctx, o.config)
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-s.Ready():
			greet(out, s)
		case <-ctx.Done():
		}
	}()
	return s.Run(ctx)
}

// tuneMemory weighs collection against memory, unless the user has an opinion: most of what the server holds is
// long-lived bytes and watchers that wait, so a heap may grow by a fifth before it is collected.
//
// The ballast it returns is never touched, so it costs no memory: it only counts as live, which lets 16 MiB of garbage
// come together even on a small heap, where the collector would otherwise run hundreds of times a second under load.
func tuneMemory() (ballast []byte) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(20)
	return make([]byte, 80<<20)
}

func greet(out io.Writer, s *server.Server) {
	if addr := s.Address(); addr != nil {
		fmt.Fprintf(out, "coracle is ready at https://%s\n\n  export KUBECONFIG=%s\n  kubectl get namespaces\n\n", addr, s.Kubeconfig())
	}
	if addr := s.PlainAddress(); addr != nil {
		fmt.Fprintf(out, "coracle is ready at http://%s\n", addr)
	}
}

// finishNames parses the flags that choose among names.
func (o *options) finishNames() error {
	switch o.media {
	case "application/json":
	case "application/vnd.kubernetes.protobuf":
		o.config.Storage.Protobuf = true
	default:
		return fmt.Errorf("--storage-media-type %q: must be application/json or application/vnd.kubernetes.protobuf", o.media)
	}
	level, err := zapcore.ParseLevel(o.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	config := zap.NewProductionConfig()
	switch o.logFormat {
	case "json":
	case "text":
		config.Encoding = "console"
		config.EncoderConfig = zap.NewDevelopmentEncoderConfig()
	default:
		return fmt.Errorf("--log-format %q: must be text or json", o.logFormat)
	}
	config.Level = zap.NewAtomicLevelAt(level)
	config.DisableCaller = true
	config.DisableStacktrace = true
	o.config.Log, err = config.Build()
	return err
}
