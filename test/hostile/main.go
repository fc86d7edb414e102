// Command hostile sends harmful requests to a server, and measures the processor time of each
// refusal. It compares that with a bare net/http server, which reads the same request and writes
// the same answer.
//
//	hostile -server bin/coracle [-d 150ms] [-rounds 3] [-run accept] [-max 1.5]
//	        [-expensive | -served | -connections]
//
// It starts the server itself, with an embedded store and TLS. It exits with 1 if a refusal costs
// more than -max times as much as on the bare server. Other flags run other measurements instead:
//
//   - With -expensive it sends the most expensive requests of an authenticated client, four at a
//     time, and prints how long another client waits meanwhile.
//   - With -served it compares refusals with successful reads of as many bytes.
//   - With -connections a thousand connections send headers that never end, or cancel each request
//     at once. More than one core or 64 MiB is an error.
//
// Read: requests.go for what is sent, compare.go for how it is measured, served.go, connections.go,
// expensive.go, then bare.go, server.go and send.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == bareCommand {
		if err := serveBare(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "hostile:", err)
			os.Exit(1)
		}
		return
	}
	var p plan
	flag.StringVar(&p.server, "server", "", "the coracle binary; required")
	flag.DurationVar(&p.duration, "d", 150*time.Millisecond, "how long each request is sent, to each server in each round")
	flag.IntVar(&p.rounds, "rounds", 3, "how often; the least of each server counts")
	flag.Float64Var(&p.max, "max", 1.5, "how many times the bare server's processor time a refusal may take")
	flag.BoolVar(&p.expensive, "expensive", false, "send the most expensive requests that are served, and look at a bystander")
	flag.BoolVar(&p.served, "served", false, "compare refusals with what is served")
	flag.BoolVar(&p.connections, "connections", false, "send from a thousand connections what never ends")
	run := flag.String("run", "", "only requests whose name matches this pattern")
	flag.Parse()
	var err error
	if p.only, err = regexp.Compile(*run); err == nil && p.server == "" {
		err = errors.New("-server is required")
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = p.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hostile: %.500s\n", err) // cut, because err may hold the request
		os.Exit(1)
	}
}

// plan holds the flags of the command line.
type plan struct {
	server      string
	duration    time.Duration
	rounds      int
	max         float64
	expensive   bool
	served      bool
	connections bool
	only        *regexp.Regexp
}

func (p *plan) run(ctx context.Context) (err error) {
	coracle, err := startServer(ctx, p.server, "error", os.Stderr)
	if err != nil {
		return err
	}
	defer func() {
		coracle.stop()
		err = errors.Join(err, coracle.leaked())
	}()
	switch {
	case p.expensive:
		return p.lookOn(ctx, coracle)
	case p.served:
		return p.beside(ctx, coracle)
	case p.connections:
		return p.attack(ctx, coracle)
	}
	bare, err := startBare()
	if err != nil {
		return err
	}
	defer bare.stop()
	return p.compare(ctx, coracle, bare)
}
