package server

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

	"github.com/coracle-project/coracle/storage"
)

// Limits of a connection. Bodies and whole requests are bounded by the filters, the number of connections by conns.
const (
	headerTimeout = 10 * time.Second // to send a request's headers
	idleTimeout   = 3 * time.Minute
	// unheardTime is for the body of a request that no handler has, because net/http answers it by
	// itself.
	unheardTime = 2 * time.Second
	// An answer may take as long as its request, and so much longer. Watches lift the limit for themselves.
	writeGrace = 10 * time.Second
	// maxHeaderBytes bounds a request's headers, path and query included, which anybody may have us read. It leaves room
	// for a token of 16 KiB beside a selector of 40. To more, the answer is 431, or the end of the connection in HTTP/2,
	// where clients are told the limit. Of HTTP/1, net/http takes up to 8 KiB more, which it may have read ahead; of HTTP/2
	// it counts 32 bytes more for each header, and allows for ten.
	maxHeaderBytes = 64 << 10
	// maxStreams bounds the requests of one HTTP/2 connection at a time, if the configuration has no bound.
	maxStreams = 250
	// maxGoawayChance keeps clients from connecting again all the time.
	maxGoawayChance = 0.02
)

// listeners are the server's open ports.
type listeners struct {
	cfg        ServingConfig
	conns      *conns             // over all ports
	handshakes prometheus.Counter // that failed

	mu            sync.Mutex
	secure, plain net.Listener
	servers       []*http.Server
	wg            sync.WaitGroup
}

func newListeners(cfg ServingConfig, conns *conns, reg prometheus.Registerer) (*listeners, error) {
	l := &listeners{cfg: cfg, conns: conns, handshakes: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "apiserver_tls_handshake_errors_total", Help: "Handshakes of TLS that failed."})}
	return l, reg.Register(l.handshakes)
}

// listen opens the configured ports. Clients that connect from now on wait until they are served.
func (s *Server) listen() error {
	l := s.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.cfg.SecurePort != NoPort {
		if l.secure, err = l.listen(l.cfg.SecurePort); err != nil {
			return err
		}
	}
	if l.cfg.HTTPPort != NoPort {
		if l.plain, err = l.listen(l.cfg.HTTPPort); err != nil {
			return err
		}
	}
	if l.secure != nil {
		if s.identity.admin != nil {
			if err := s.identity.writeKubeconfig(l.secure.Addr()); err != nil {
				return fmt.Errorf("server: write the kubeconfig: %w", err)
			}
		}
		l.secure = tls.NewListener(l.secure, s.identity.tlsConfig(l.cfg.protocols()))
	}
	return nil
}

func (l *listeners) listen(port int) (net.Listener, error) {
	if port == AnyPort {
		port = 0
	}
	how := net.ListenConfig{Control: sharing(l.cfg.SharePort, l.cfg.ShareAddress)}
	p, err := how.Listen(context.Background(), "tcp", net.JoinHostPort(l.cfg.BindAddress, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return l.conns.listen(p), nil
}

// protocols are what the secure port offers.
func (c *ServingConfig) protocols() []string {
	if c.HTTP.HTTP1Only {
		return []string{"http/1.1"}
	}
	return []string{"h2", "http/1.1"}
}

// serve begins to serve on the open ports. The channel gets the error of a port that fails.
// answerTimeout bounds what is no watch.
func (l *listeners) serve(h http.Handler, answerTimeout time.Duration, logger *zap.Logger) <-chan error {
	failed := make(chan error, 2)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, port := range []net.Listener{l.secure, l.plain} {
		if port == nil {
			continue
		}
		srv := &http.Server{
			Handler:           paced(asterisk(apart(h, logger))),
			ReadHeaderTimeout: headerTimeout,
			WriteTimeout:      answerTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: l.cfg.HTTP.MaxStreams},
			ErrorLog:          log.New(&handshakeCounter{quietLog(logger).Writer(), l.handshakes}, "", 0),
			ConnState:         l.conns.changed,
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

// asterisk answers OPTIONS *, which is a question to the server and not about a path, with 200 and
// nothing more. net/http's own answer is the same, but it first waits for the body of the request,
// without a deadline.
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

// quietLog takes what net/http says of broken connections to the debug level.
func quietLog(logger *zap.Logger) *log.Logger {
	l, err := zap.NewStdLogAt(logger, zap.DebugLevel)
	if err != nil {
		return nil
	}
	return l
}

// handshakeCounter counts handshakes that fail, of which net/http says nothing but a line of its log.
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

// idleGrace is how long clients that ask for nothing have to read that the server ends, and to end their connections by themselves. net/http
// would wait for 1 s with HTTP/2, and for 5 s if nothing has been asked for.
const idleGrace = 50 * time.Millisecond

// close stops listening and waits for connections to become idle, until ctx ends.
func (l *listeners) close(ctx context.Context) error {
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
		for storage.Sleep(closing, idleGrace) == nil {
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
	errs = append(errs, l.conns.seeOut(ctx))
	l.conns.crowd.end()
	l.wg.Wait()
	return errors.Join(errs...)
}

// addresses returns where the server listens, nil for a port that is not open.
func (l *listeners) addresses() (secure, plain net.Addr) {
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

// Address returns where the server listens for HTTPS, or nil before Run listens or without that port.
func (s *Server) Address() net.Addr {
	secure, _ := s.listeners.addresses()
	return secure
}

// PlainAddress is Address for plain HTTP.
func (s *Server) PlainAddress() net.Addr {
	_, plain := s.listeners.addresses()
	return plain
}
