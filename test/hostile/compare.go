package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// compare measures every refusal on both servers and prints a line for each. It fails if a refusal
// costs more than p.max times as much as on the bare server.
func (p *plan) compare(ctx context.Context, coracle *process, bare *bareServer) error {
	fmt.Printf("%-28s %-5s %6s %8s %12s %12s %6s\n", "request", "", "status", "bytes", "coracle", "bare", "times")
	over := 0
	for _, q := range refused() {
		for _, proto := range []protocol{http1, http2} {
			if !p.only.MatchString(q.name) || proto == http2 && q.odd {
				continue
			}
			ratio, err := p.one(ctx, &q, proto, coracle, bare)
			if unsaid(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s over %s: %w", q.name, proto, err)
			}
			if ratio > p.max {
				over++
			}
		}
	}
	if over > 0 {
		return fmt.Errorf("%d refusals cost more than %g times the bare server's", over, p.max)
	}
	return nil
}

// one compares one request, and returns Coracle's processor time divided by the bare server's. Of
// several rounds the lowest time of each server counts, because other processes only add time.
func (p *plan) one(ctx context.Context, q *request, proto protocol, coracle *process, bare *bareServer) (float64, error) {
	a, err := newSender(coracle, proto).once(ctx, q)
	if err != nil {
		return 0, err
	}
	if a.Status < 400 {
		return 0, fmt.Errorf("it was not refused but answered %d: %.200s", a.Status, a.Body)
	}
	if err := bare.say(*a); err != nil {
		return 0, err
	}
	ours, theirs := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range p.rounds {
		cost, err := p.cost(ctx, q, proto, coracle)
		if err != nil {
			return 0, err
		}
		ours = min(ours, cost)
		if cost, err = p.cost(ctx, q, proto, &bare.process); err != nil {
			return 0, err
		}
		theirs = min(theirs, cost)
	}
	ratio := float64(ours) / float64(theirs)
	mark := ""
	if ratio > p.max {
		mark = " <--"
	}
	fmt.Printf("%-28s %-5s %6d %8d %12v %12v %6.2f%s\n", q.name, proto, a.Status, len(a.Body), ours, theirs, ratio, mark)
	return ratio, nil
}

// strangers is the number of clients that send at once, each on a connection of its own.
const strangers = 8

// cost returns the server's processor time for one q, the average over p.duration.
func (p *plan) cost(ctx context.Context, q *request, proto protocol, server *process) (time.Duration, error) {
	senders := make([]*sender, strangers)
	for i := range senders {
		senders[i] = newSender(server, proto)
		defer senders[i].close()
		if _, err := senders[i].send(ctx, q); err != nil { // not measured: it connects
			return 0, err
		}
	}
	before, err := server.cpu()
	if err != nil {
		return 0, err
	}
	var sent atomic.Int64
	var sending sync.WaitGroup
	failed := make(chan error, strangers)
	end := time.Now().Add(p.duration)
	for _, s := range senders {
		sending.Go(func() {
			for n := 0; n < 2 || time.Now().Before(end); n++ {
				if _, err := s.send(ctx, q); err != nil {
					failed <- err
					return
				}
				sent.Add(1)
			}
		})
	}
	sending.Wait()
	after, err := server.cpu()
	switch {
	case err != nil:
		return 0, err
	case len(failed) > 0:
		return 0, <-failed
	case after == before:
		return 0, errors.New("the server's processor time does not grow")
	}
	return (after - before) / time.Duration(sent.Load()), nil
}

// unsaid reports whether a request was not answered because its header is too long for HTTP/2.
// Either the client knew the server's limit and did not send it, or the server closed the
// connection.
func unsaid(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "request header list larger than peer's advertised limit") ||
		strings.Contains(err.Error(), "server sent GOAWAY"))
}
