// The listeners: the two ports of a server with their limits, and the http.Servers that accept on
// them. Package server calls New when it makes its parts, Open and Serve in Run, and Close at
// shutdown.

package connections

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// The limits of one connection. The filters bound bodies and whole requests; conns bounds the
// number of connections.
const (
	// HeaderTimeout is the time that a client has to send the headers of a request.
	HeaderTimeout = 10 * time.Second
	// Linger is the time that a connection has to end after its last request. It is also the
	// default of ShutdownConfig.Linger in package server. Only a client that does not read its
	// answer, or has never sent a request, takes longer.
	Linger = 5 * time.Second
	// MaxStreams is the default bound on the requests that one HTTP/2 connection may have open at a
	// time.
	MaxStreams = 250

	idleTimeout = 3 * time.Minute
	// unheardTime bounds the reading of a body whose request net/http has answered without a
	// handler.
	unheardTime = 2 * time.Second
	// maxHeaderBytes bounds the headers of a request with its path and query, which the server
	// reads before it knows the client. It has room for a token of 16 KiB beside a selector of 40
	// KiB. A request with longer headers gets 431; with HTTP/2, where the settings tell clients the
	// limit, the connection ends. With HTTP/1 net/http accepts up to 8 KiB more, which it may have
	// read ahead; with HTTP/2 it counts 32 bytes more for each header, and allows for ten.
	maxHeaderBytes = 64 << 10
)

// Config sets the ports of a server and the limits of its connections.
type Config struct {
	// Address is the IP address of both ports.
	Address string
	// Secure and Plain are the ports for HTTPS and HTTP: nil means none, 0 a free one.
	Secure, Plain *int
	// TLS is for the secure port; its NextProtos decide whether HTTP/2 is offered.
	TLS *tls.Config
	// SharePort lets other processes listen on the same address and port (SO_REUSEPORT).
	// ShareAddress lets another process listen on the same port at the unspecified address while
	// this one listens at one address, or the reverse (SO_REUSEADDR).
	SharePort, ShareAddress bool
	// Bound is the number of connections that may be open at a time; 0 derives it from the limit of
	// the process's file descriptors.
	Bound int
	// Streams bounds the requests of one HTTP/2 connection at a time.
	Streams int
	// AnswerTimeout bounds a request and its answer. Watches lift the bound for themselves.
	AnswerTimeout time.Duration
	// Bursts is told of each connection. It must not be nil.
	Bursts *Bursts
	Log    *zap.Logger
}

// Listeners are the ports of a server, and the http.Servers that serve on them. All methods may be
// called at once.
type Listeners struct {
	cfg        Config
	conns      *conns             // of all ports
	handshakes prometheus.Counter // failed handshakes

	mu            sync.Mutex
	secure, plain net.Listener
	servers       []*http.Server
	wg            sync.WaitGroup
}

// New makes listeners whose ports are not open yet, and registers a metric in reg.
func New(cfg Config, reg prometheus.Registerer) (*Listeners, error) {
	if cfg.Bound == 0 {
		cfg.Bound = maxConns(maxFiles())
	}
	l := &Listeners{
		cfg: cfg, conns: newConns(cfg.Bound, cfg.Streams, cfg.Bursts, cfg.Log),
		handshakes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "apiserver_tls_handshake_errors_total", Help: "Number of TLS handshakes that failed."}),
	}
	return l, reg.Register(l.handshakes)
}

// Open opens the configured ports. Clients can connect from then on, and wait until Serve. If Open
// fails, the caller must call Close.
func (l *Listeners) Open() error {
	var ports [2]net.Listener
	for i, port := range []*int{l.cfg.Secure, l.cfg.Plain} {
		if port == nil {
			continue
		}
		how := net.ListenConfig{Control: sharing(l.cfg.SharePort, l.cfg.ShareAddress)}
		var err error
		if ports[i], err = how.Listen(context.Background(), "tcp",
			net.JoinHostPort(l.cfg.Address, strconv.Itoa(*port))); err != nil {
			l.UseListeners(ports[0], nil)
			return fmt.Errorf("server: %w", err)
		}
	}
	l.UseListeners(ports[0], ports[1])
	return nil
}

// UseListeners uses listeners that are open already, in place of Open. Each may be nil.
func (l *Listeners) UseListeners(secure, plain net.Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if secure != nil {
		l.secure = tls.NewListener(l.conns.wrap(secure), l.cfg.TLS)
	}
	if plain != nil {
		l.plain = l.conns.wrap(plain)
	}
}

// Serve starts a goroutine for each open port that serves h, and returns at once. The channel
// receives the error of a port that fails. It has room for the errors of both ports, and is never
// closed. Close ends the goroutines.
func (l *Listeners) Serve(h http.Handler) <-chan error {
	failed := make(chan error, 2)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, port := range []net.Listener{l.secure, l.plain} {
		if port == nil {
			continue
		}
		srv := &http.Server{
			Handler:           paced(asterisk(hijackWatches(h, l.cfg.Log))),
			ReadHeaderTimeout: HeaderTimeout,
			WriteTimeout:      l.cfg.AnswerTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: l.cfg.Streams},
			ErrorLog:          log.New(&handshakeCounter{QuietLog(l.cfg.Log).Writer(), l.handshakes}, "", 0),
			ConnState:         l.conns.stateChanged,
			ConnContext:       l.conns.context,

			DisableGeneralOptionsHandler: true, // see asterisk
		}
		if port == l.secure {
			if err := serveHTTP2(srv); err != nil {
				failed <- fmt.Errorf("server: %w", err)
				continue
			}
		}
		l.servers = append(l.servers, srv)
		l.wg.Go(func() {
			if err := srv.Serve(port); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("server: %w", err)
			}
		})
	}
	return failed
}

// asterisk answers OPTIONS *, a request about the server and not about a path (RFC 9110, 9.3.7),
// with 200 and an empty body. net/http would answer the same, but it would first wait for the body
// of the request without a deadline.
func asterisk(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions || r.RequestURI != "*" {
			h.ServeHTTP(w, r)
			return
		}
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unheardTime))
		}
		w.Header().Set("Content-Length", "0")
	})
}

// QuietLog returns a log for an http.Server that writes net/http's messages about broken
// connections to logger at the level debug.
func QuietLog(logger *zap.Logger) *log.Logger {
	l, err := zap.NewStdLogAt(logger, zap.DebugLevel)
	if err != nil {
		return nil
	}
	return l
}

// handshakeCounter is the log of an http.Server that counts failed handshakes: net/http reports
// them only in its log.
type handshakeCounter struct {
	io.Writer
	failed prometheus.Counter
}

// Write implements io.Writer.
func (c *handshakeCounter) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		c.failed.Inc()
	}
	return c.Writer.Write(line)
}

// idleGrace is the time that clients without a request get at shutdown to end their connections
// themselves. net/http would wait for 1 s with HTTP/2, and for 5 s for a connection without any
// request.
const idleGrace = 50 * time.Millisecond

// Close stops listening, closes idle connections and waits for the others to end. When ctx ends,
// Close cuts the connections that are left, and returns ctx's error.
func (l *Listeners) Close(ctx context.Context) error {
	l.mu.Lock()
	servers, ports := l.servers, []net.Listener{l.secure, l.plain}
	l.mu.Unlock()
	var errs []error
	for _, port := range ports {
		if port != nil && len(servers) == 0 { // never served
			errs = append(errs, port.Close())
		}
	}
	closing, closed := context.WithCancel(ctx)
	var idle sync.WaitGroup
	idle.Go(func() {
		for {
			select {
			case <-time.After(idleGrace):
			case <-closing.Done():
				return
			}
			for l.conns.closeIdle() {
			}
		}
	})
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); err != nil {
			errs = append(errs, err, srv.Close())
		}
	}
	closed()
	idle.Wait()
	errs = append(errs, l.conns.awaitHijacked(ctx))
	l.conns.bursts.end()
	l.wg.Wait()
	return errors.Join(errs...)
}

// Addresses returns the addresses at which the server listens, nil for a port that is not open.
func (l *Listeners) Addresses() (secure, plain net.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secure != nil {
		secure = l.secure.Addr()
	}
	if l.plain != nil {
		plain = l.plain.Addr()
	}
	return secure, plain
}
