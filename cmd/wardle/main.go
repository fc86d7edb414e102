// Command wardle is a small API server built on this library, made to be copied: README.md says
// how.
//
// It serves the group wardle.example.com of Kubernetes' sample-apiserver. Flunders have two
// versions that differ, with defaults, validation, a status subresource and printed columns.
// Fischers forbid names of Flunders, through an admission plugin. /wardle/census is a path that is
// no API resource. No code is generated.
//
// main fills a server.Config from flags and runs the server. Tests start the same Config in their
// own process (wardle_test.go).
//
// Not here: Kubernetes' own kinds, which server.Config can serve beside the group; the flags of
// kube-apiserver (cmd/flags).
//
// Read: main.go, group.go, v1beta1, v1alpha1, hub, flunder.go, fischer.go, ban.go, census.go,
// definition.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/plugins"
)

func main() {
	cfg := config()
	flag.StringVar(&cfg.DataDir, "data-dir", ".wardle",
		"folder for the store, the certificates and the administrator's kubeconfig")
	flag.StringVar(&cfg.Storage.Engine, "storage", server.StorageEmbedded,
		"where objects are stored: embedded and file keep them in -data-dir, memory loses them at the end")
	flag.StringVar(&cfg.Serving.BindAddress, "bind-address", "127.0.0.1", "IP address of all ports")
	flag.IntVar(&cfg.Serving.SecurePort, "secure-port", 6443, "port for HTTPS; -1 for none")
	// In the Config, 0 is the default of either port: 6443 for HTTPS, and no port for HTTP.
	flag.IntVar(&cfg.Serving.HTTPPort, "http-port", 0, "port for plain HTTP; 0 for none")
	mode := flag.String("authorization-mode", access.RBAC, "authorization mode: RBAC, AlwaysAllow or AlwaysDeny")
	for name, list := range map[string]*[]string{"enable-admission-plugins": &cfg.Admission.Enable,
		"disable-admission-plugins": &cfg.Admission.Disable} {
		does, _, _ := strings.Cut(name, "-")
		flag.Func(name, "admission plugins to "+does+", such as BanFlunder, separated by commas",
			func(names string) error {
				*list = strings.Split(names, ",")
				return nil
			})
	}
	flag.StringVar(&cfg.Admission.ConfigFile, "admission-control-config-file", "",
		"file with an AdmissionConfiguration, which may configure BanFlunder")
	print := flag.Bool("definitions", false, "print the resources as CustomResourceDefinitions and end")
	flag.Parse()
	cfg.Authorization.Modes = []string{*mode}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := func() error { return run(ctx, cfg) }
	if *print {
		work = func() error { return writeDefinitions(os.Stdout) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// config returns what every wardle has: the group, the admission plugin and the census. Flags set
// the rest.
func config() server.Config {
	return server.Config{
		API:       server.APIConfig{Groups: []server.Group{wardle()}},
		Admission: plugins.Config{Plugins: []plugins.Plugin{banFlunders}},
		Setup:     addCensus,
	}
}

// run serves until ctx ends, and prints how to use the server when it is ready.
func run(ctx context.Context, cfg server.Config) error {
	s, err := server.New(ctx, cfg)
	if err != nil {
		return err
	}
	greet := server.Hook{Name: "greet", Run: func(_ context.Context, s *server.Server) error {
		if addr := s.Address(); addr != nil {
			fmt.Printf("wardle is ready at https://%s\n  export KUBECONFIG=%s\n", addr, s.Kubeconfig())
		}
		if addr := s.PlainAddress(); addr != nil {
			fmt.Printf("wardle is ready at http://%s\n", addr)
		}
		return nil
	}}
	if err := s.AddPostStartHook(greet); err != nil {
		return err
	}
	return s.Run(ctx)
}
