package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// patience is how long a connection that has been lost is waited for, in calls and in the log: an etcd that is
	// restarted, or a member that hands over to another, is back by then.
	patience = time.Second

	// At each beat all connections are looked at. One on which nothing has arrived for pokeAfter beats is provoked, and
	// one that is silent for silentAfter is closed: so an etcd that hangs, or has a network in front that drops packets,
	// is noticed within 10 s, patience and the beat that has begun included. (gRPC's own keepalive does not ask before
	// 10 s have passed.) What counts is beats, not time: while this process is stopped itself, nobody else is late.
	beat        = time.Second
	pokeAfter   = 2
	silentAfter = 7
)

// errAway refuses a call before anything is sent.
var errAway = errors.New("there is no connection to etcd")

// link is the connection to a cluster, with a TCP connection for each endpoint. It knows whether any of them stands, so
// that calls are refused at once while etcd is away, closes those that hang, and tells the log: one line when etcd
// goes, one when it is back.
type link struct {
	endpoints []string
	log       *zap.Logger
	grpc      *grpc.ClientConn

	patience, beat time.Duration // see the constants

	state   atomic.Pointer[linkState] // replaced by follow
	running sync.WaitGroup

	mu   sync.Mutex
	open map[*heard]struct{} // guarded by mu
}

// linkState is what is known of a link until it changes.
type linkState struct {
	up      bool
	away    bool          // for longer than patience
	changed chan struct{} // closed at the end of the state
}

func newLink(endpoints []string, log *zap.Logger) *link {
	l := &link{endpoints: endpoints, log: log, patience: patience, beat: beat, open: map[*heard]struct{}{}}
	l.state.Store(&linkState{changed: make(chan struct{})})
	return l
}

// start watches over conn, whose dialer must be l.dial, until ctx ends; then running is done.
func (l *link) start(ctx context.Context, conn *grpc.ClientConn) {
	l.grpc = conn
	l.running.Go(func() { l.follow(ctx) })
	l.running.Go(func() { l.listen(ctx) })
}

// ready returns nil if there is a connection. It waits for one that has been lost just now, and returns errAway at once
// if etcd is away.
func (l *link) ready(ctx context.Context) error {
	for {
		s := l.state.Load()
		switch {
		case s.up:
			return nil
		case s.away:
			return errAway
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *link) set(s linkState) {
	s.changed = make(chan struct{})
	close(l.state.Swap(&s).changed)
}

// follow keeps the state.
func (l *link) follow(ctx context.Context) {
	defer l.set(linkState{away: true})
	for l.connect(ctx) {
		l.set(linkState{up: true})
		if !l.until(ctx, false) {
			return
		}
		l.set(linkState{})
	}
}

// connect waits for a connection. It returns false if ctx ends first.
func (l *link) connect(ctx context.Context) bool {
	lost := time.Now()
	brief, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if l.until(brief, true) {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	l.log.Warn("etcd is away", zap.Strings("endpoints", l.endpoints), zap.String("reason", l.reason(ctx)))
	l.set(linkState{away: true})
	if !l.until(ctx, true) {
		return false
	}
	l.log.Info("etcd is back", zap.Strings("endpoints", l.endpoints), zap.Duration("after", time.Since(lost)))
	return true
}

// until waits until there is a connection, or none any more. It returns false if ctx ends first.
func (l *link) until(ctx context.Context, up bool) bool {
	for {
		s := l.grpc.GetState()
		if (s == connectivity.Ready) == up {
			return true
		}
		if s == connectivity.Idle {
			l.grpc.Connect()
		}
		if !l.grpc.WaitForStateChange(ctx, s) {
			return false
		}
	}
}

// reason says why there is no connection.
func (l *link) reason(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, l.beat/10)
	defer cancel()
	err := l.poke(ctx) // fails at once with what the last attempt to connect has failed with
	if code := status.Code(err); code == codes.OK || code == codes.DeadlineExceeded {
		return "no answer"
	}
	return err.Error()
}

// poke asks for something that any living server answers, and be it with an error.
func (l *link) poke(ctx context.Context) error {
	_, err := healthpb.NewHealthClient(l.grpc).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// listen closes connections that have fallen silent. gRPC chooses the one that a request goes by, in turn: as many
// requests as there are endpoints reach all of them, if not at one beat then at another.
func (l *link) listen(ctx context.Context) {
	tick := time.NewTicker(l.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.count() < pokeAfter || !l.state.Load().up {
			continue
		}
		for range l.endpoints {
			l.running.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, silentAfter*l.beat)
				defer cancel()
				_ = l.poke(ctx) // what counts is that something arrives
			})
		}
	}
}

// count adds a beat of silence to each connection on which nothing has arrived since the last, closes those on which that
// has gone on for too long, and returns the longest silence of the others.
func (l *link) count() (longest int) {
	var silent []*heard
	l.mu.Lock()
	for c := range l.open {
		if c.silence++; c.something.Swap(false) {
			c.silence = 0
		}
		if c.silence >= silentAfter {
			silent = append(silent, c)
		} else {
			longest = max(longest, c.silence)
		}
	}
	l.mu.Unlock()
	for _, c := range silent {
		l.log.Debug("closing a connection to etcd that is silent", zap.Stringer("remote", c.RemoteAddr()))
		c.Close()
	}
	return longest
}

// dial connects to an endpoint, for gRPC.
func (l *link) dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &heard{Conn: conn, link: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = struct{}{}
	return c, nil
}

// heard is a connection that notes whether anything arrives.
type heard struct {
	net.Conn
	link      *link
	something atomic.Bool
	silence   int // in beats; guarded by link.mu
}

// Read implements net.Conn.
func (c *heard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.something.Store(true)
	}
	return n, err
}

// Close implements net.Conn.
func (c *heard) Close() error {
	c.link.mu.Lock()
	delete(c.link.open, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}
