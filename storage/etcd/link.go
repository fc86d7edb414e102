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

// The link watches the connection: whether etcd can be reached (follow), and whether a connection
// has hung (closeSilent). remote asks ready before each call, and Watch before it opens a cursor.
// connect in etcd.go starts it; it ends with the client's context.

const (
	// patience is how long calls wait for a connection that has been lost, and how long the log
	// waits with its line. An etcd that is restarted, or a cluster that elects another leader, is
	// back by then.
	patience = time.Second

	// At each beat the link looks at all connections. If nothing has arrived on one for pokeAfter
	// beats, a request is sent on it, and if nothing has arrived for silentAfter beats, it is
	// closed. So an etcd that hangs, or a network that drops packets, is noticed within 10 s,
	// patience and the current beat included. (gRPC's own keepalive does not ask before 10 s have
	// passed.) The unit is beats and not time, so that no connection counts as silent because this
	// process was stopped.
	beat        = time.Second
	pokeAfter   = 2
	silentAfter = 7
)

// errAway refuses a call before anything is sent.
var errAway = errors.New("there is no connection to etcd")

// link is the connection to a cluster, with a TCP connection for each endpoint. It knows whether
// any of them stands, so that calls fail at once while etcd is away. It closes connections that
// hang. It logs one line when etcd goes away and one when it is back.
type link struct {
	endpoints []string
	log       *zap.Logger
	grpc      *grpc.ClientConn

	patience, beat time.Duration // see the constants

	state   atomic.Pointer[linkState] // replaced by follow
	running sync.WaitGroup

	mu   sync.Mutex
	open map[*watchedConn]struct{} // TCP connections that dial has opened; guarded by mu
}

// linkState is the state of a link until it changes. It is immutable.
type linkState struct {
	up      bool          // there is a connection
	away    bool          // there has been none for longer than patience
	changed chan struct{} // closed when another state replaces this one
}

// newLink returns a link that is not started: there is no connection, and etcd is not away yet.
func newLink(endpoints []string, log *zap.Logger) *link {
	l := &link{endpoints: endpoints, log: log, patience: patience, beat: beat, open: map[*watchedConn]struct{}{}}
	l.state.Store(&linkState{changed: make(chan struct{})})
	return l
}

// start watches conn, whose dialer must be l.dial, until ctx ends. Then running is done.
func (l *link) start(ctx context.Context, conn *grpc.ClientConn) {
	l.grpc = conn
	l.running.Go(func() { l.follow(ctx) })
	l.running.Go(func() { l.closeSilent(ctx) })
}

// ready returns nil if there is a connection. It waits while the connection has been lost for less
// than patience, and returns errAway at once if etcd is away.
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

// set replaces the state and wakes the calls that wait in ready.
func (l *link) set(s linkState) {
	s.changed = make(chan struct{})
	close(l.state.Swap(&s).changed)
}

// follow keeps the state up to date until ctx ends.
func (l *link) follow(ctx context.Context) {
	defer l.set(linkState{away: true})
	for l.connect(ctx) {
		l.set(linkState{up: true})
		if !l.waitFor(ctx, false) {
			return
		}
		l.set(linkState{})
	}
}

// connect waits for a connection. After patience it sets the state to away and logs, and logs again
// when the connection is back. It returns false if ctx ends first.
func (l *link) connect(ctx context.Context) bool {
	lost := time.Now()
	brief, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if l.waitFor(brief, true) {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	l.log.Warn("etcd is unreachable", zap.Strings("endpoints", l.endpoints), zap.String("reason", l.reason(ctx)))
	l.set(linkState{away: true})
	if !l.waitFor(ctx, true) {
		return false
	}
	l.log.Info("etcd is reachable again",
		zap.Strings("endpoints", l.endpoints), zap.Duration("after", time.Since(lost)))
	return true
}

// waitFor waits until there is a connection (up) or there is none (!up). It returns false if ctx
// ends first.
func (l *link) waitFor(ctx context.Context, up bool) bool {
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

// reason returns why there is no connection, for the log.
func (l *link) reason(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, l.beat/10)
	defer cancel()
	err := l.checkHealth(ctx) // fails at once, with the error of the last attempt to connect
	if code := status.Code(err); code == codes.OK || code == codes.DeadlineExceeded {
		return "no answer"
	}
	return err.Error()
}

// checkHealth sends a health check, which any living server answers, if only with an error.
func (l *link) checkHealth(ctx context.Context) error {
	_, err := healthpb.NewHealthClient(l.grpc).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// closeSilent finds silent connections at each beat, and sends as many health checks as there are
// endpoints. gRPC sends requests over the connections in turn, so that over a few beats the checks
// reach all of them.
func (l *link) closeSilent(ctx context.Context) {
	tick := time.NewTicker(l.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.countSilence() < pokeAfter || !l.state.Load().up {
			continue
		}
		for range l.endpoints {
			l.running.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, silentAfter*l.beat)
				defer cancel()
				_ = l.checkHealth(ctx) // any answer ends the silence
			})
		}
	}
}

// countSilence adds a beat of silence to each connection on which nothing has arrived since the
// last beat, and closes those that have been silent for silentAfter beats. It returns the longest
// silence of the others, in beats.
func (l *link) countSilence() (longest int) {
	var silent []*watchedConn
	l.mu.Lock()
	for c := range l.open {
		if c.silence++; c.arrived.Swap(false) {
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

// dial opens a TCP or Unix connection to an endpoint. gRPC calls it.
func (l *link) dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &watchedConn{Conn: conn, link: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = struct{}{}
	return c, nil
}

// watchedConn is a connection that notes whether anything arrives on it.
type watchedConn struct {
	net.Conn
	link    *link
	arrived atomic.Bool // bytes have arrived since the last beat
	silence int         // beats without bytes; guarded by link.mu
}

// Read implements net.Conn.
func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.arrived.Store(true)
	}
	return n, err
}

// Close implements net.Conn.
func (c *watchedConn) Close() error {
	c.link.mu.Lock()
	delete(c.link.open, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}
