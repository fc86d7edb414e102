// Command load measures API servers side by side: operations per second, latency, and the server's
// CPU time per operation. Compare the CPU time per operation, because it does not depend on the
// speed of this client.
//
//	load [flags] NAME=KUBECONFIG[@PID+PID...]...
//
// Each scenario runs on every target before the next begins. The PIDs are those of all processes of
// a server, its etcd included. With -limit there is one more target: a bare net/http server in a
// process of its own that has every answer ready. No API server on net/http can be faster. Ratios
// are to that target if it is there, and otherwise to the first target.
//
// With -definitions it measures custom resource definitions instead: how long each takes until it
// is established, and what each costs.
//
// Read: main.go, scenario.go, object.go, watch.go, limit.go, definitions.go; measure.go, target.go
// and table.go as needed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// plan holds the flags of the command line.
type plan struct {
	scenarios []string
	kind      *kind
	objects   int           // the number that create makes and the other scenarios use
	size      int           // bytes of data in an object
	clients   int           // at once
	duration  time.Duration // of a timed scenario
	rounds    int           // the median round counts
	watchers  int
	writes    int      // the number that each watcher must see
	protocols []string // "1.1" and "2", of HTTP, one after the other
	gzip      bool
	stripped  bool // the objects have no managedFields
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == limitCommand {
		exitOn(serveLimit(os.Stdin, os.Stdout))
		return
	}
	var p plan
	var withLimit bool
	only := flag.String("run", "", "scenarios, with commas between; default all: "+strings.Join(scenarioNames(), ","))
	kind := flag.String("kind", "configmap", "kind of the objects: configmap, pod, or custom, which is a config map by a definition")
	flag.BoolVar(&p.stripped, "stripped", false, "strip managedFields off the objects once they are created")
	flag.IntVar(&p.objects, "n", 5000, "objects")
	flag.IntVar(&p.size, "size", 1024, "bytes of data in an object")
	flag.IntVar(&p.clients, "c", 16, "clients at once")
	flag.DurationVar(&p.duration, "d", 3*time.Second, "duration of a timed scenario")
	flag.IntVar(&p.rounds, "rounds", 1, "rounds; the median counts")
	flag.IntVar(&p.watchers, "watchers", 200, "watchers in the watch scenario")
	flag.IntVar(&p.writes, "writes", 500, "writes in the watch scenario")
	protocol := flag.String("http", "", "version of HTTP, 1.1 or 2; default both")
	flag.BoolVar(&p.gzip, "gzip", false, "accept compressed answers")
	flag.BoolVar(&withLimit, "limit", false, "measure a bare net/http server, too")
	definitions := flag.Int("definitions", 0, "measure nothing but this many custom resource definitions, each of -size bytes")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: load [flags] NAME=KUBECONFIG[@PID+PID...]...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if p.scenarios = scenarioNames(); *only != "" {
		p.scenarios = strings.Split(*only, ",")
	}
	if p.protocols = protocols; *protocol != "" {
		p.protocols = []string{*protocol}
	}
	if p.kind = kindNamed(*kind); p.kind == nil {
		exitOn(fmt.Errorf("there is no kind %q", *kind))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *definitions > 0 {
		exitOn(measureDefinitions(ctx, p, *definitions, restBeforeMemory, flag.Args(), os.Stdout))
		return
	}
	exitOn(run(ctx, p, flag.Args(), withLimit, os.Stdout))
}

// protocols are the versions of HTTP that can be measured.
var protocols = []string{"1.1", "2"}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run measures all targets by each protocol.
func run(ctx context.Context, p plan, specs []string, withLimit bool, out io.Writer) error {
	for _, name := range p.scenarios {
		if !slices.Contains(scenarioNames(), name) {
			return fmt.Errorf("there is no scenario %q", name)
		}
	}
	for _, protocol := range p.protocols {
		if !slices.Contains(protocols, protocol) {
			return fmt.Errorf("there is no HTTP/%s", protocol)
		}
		fmt.Fprintf(out, "HTTP/%s\n", protocol)
		if err := compare(ctx, p, protocol, specs, withLimit, out); err != nil {
			return err
		}
	}
	return nil
}

// compare measures all targets by one protocol and prints the table.
func compare(ctx context.Context, p plan, protocol string, specs []string, withLimit bool, out io.Writer) error {
	var targets []*target
	for _, spec := range specs {
		t, err := parseTarget(spec, protocol, p)
		if err != nil {
			return err
		}
		targets = append(targets, t)
	}
	if withLimit {
		t, stop, err := startLimit(protocol, p)
		if err != nil {
			return fmt.Errorf("start the limit server: %w", err)
		}
		defer stop()
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return fmt.Errorf("no targets: give NAME=KUBECONFIG or -limit")
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	base := 0
	if withLimit {
		base = len(targets) - 1
	}
	table := newTable(names, base)
	defer table.print(out, protocol)
	for range p.rounds {
		if err := round(ctx, p, targets, table, out); err != nil {
			return err
		}
	}
	return nil
}

// round runs every scenario on every target, in a new namespace.
func round(ctx context.Context, p plan, targets []*target, table *table, out io.Writer) error {
	for _, t := range targets {
		if err := t.define(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if err := t.makeNamespace(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		defer t.removeNamespace()
	}
	for _, s := range scenarios {
		wanted := slices.Contains(p.scenarios, s.name)
		if !wanted && s.name != "create" { // the others need the objects that create makes
			continue
		}
		for i, t := range targets {
			r, err := s.run(ctx, p, t)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", t.name, s.name, err)
			}
			if s.name == "create" && p.stripped {
				if _, err := strip(ctx, p, t); err != nil {
					return fmt.Errorf("%s, strip: %w", t.name, err)
				}
			}
			if wanted {
				table.add(s.name, i, r)
				fmt.Fprintf(out, "%-16s %-10s %s\n", s.name, t.name, r)
			}
		}
	}
	for i, t := range targets {
		table.memory[i] = max(table.memory[i], peakMemory(t.pids))
	}
	return nil
}
