package connections

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"go.uber.org/zap"
)

func TestMaxConns(t *testing.T) {
	for _, tt := range []struct {
		files uint64
		want  int
	}{{0, 1}, {1, 1}, {200, 100}, {256, 128}, {1024, 896}, {1 << 20, 1<<20 - 128}, {math.MaxUint64, math.MaxInt32}} {
		if got := maxConns(tt.files); got != tt.want {
			t.Errorf("maxConns(%d): got %d, want %d", tt.files, got, tt.want)
		}
	}
}

// peer is a client's end of a connection.
type peer struct {
	t *testing.T
	net.Conn
	answers *bufio.Reader
}

func dialPeer(t *testing.T, p *connectionstest.Pipes) *peer {
	c := p.Dial("")
	synctest.Wait()
	return &peer{t, c, bufio.NewReader(c)}
}

// ask sends a request and reads the answer; of a watch, it reads only the header.
func (c *peer) ask(target, header string) {
	c.t.Helper()
	go fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, header)
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: got %v, %v", target, resp, err)
	}
	if resp.ContentLength >= 0 {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	synctest.Wait()
}

func (c *peer) watch() { c.t.Helper(); c.ask("/api/v1/pods?watch=1", "") }

// is reports an error if the connection is not open, or not closed.
func (c *peer) is(open bool, who string) {
	c.t.Helper()
	synctest.Wait()
	c.SetReadDeadline(time.Now().Add(time.Nanosecond)) // an open connection then fails with it
	_, err := c.answers.Peek(1)
	if got := errors.Is(err, os.ErrDeadlineExceeded); got != open {
		c.t.Errorf("%s: open is %v, want %v (%v)", who, got, open, err)
	}
	c.SetReadDeadline(time.Time{})
}

// TestOrderOfClosing fills the server with connections. To make room, it closes connections of
// strangers before others, and the longest idle one first. It closes no connection whose request is
// being served.
func TestOrderOfClosing(t *testing.T) {
	overPipes(t, 4, func(t *testing.T, p *served) {
		known := dialPeer(t, p.Pipes)
		known.ask("/version", "Authorization: Bearer "+token+"\r\n")
		known.ask("/version", "") // the connection stays authenticated
		mute, asked, watcher := dialPeer(t, p.Pipes), dialPeer(t, p.Pipes), dialPeer(t, p.Pipes)
		asked.ask("/version", "")
		watcher.watch()

		another := dialPeer(t, p.Pipes)
		mute.is(false, "a stranger that has said nothing")
		third := dialPeer(t, p.Pipes)
		asked.is(false, "a stranger whose request has been answered")
		known.is(true, "somebody known")
		third.watch()
		fourth := dialPeer(t, p.Pipes)
		another.is(false, "another stranger")
		fourth.watch()
		known.is(true, "somebody known")
		fifth := dialPeer(t, p.Pipes)
		known.is(false, "somebody known, when all strangers are served")
		fifth.watch()
		for _, c := range []*peer{watcher, third, fourth, fifth} {
			c.is(true, "a watch")
		}

		// Now no connection can be closed. A new one waits until one of them ends.
		waiting := dialPeer(t, p.Pipes)
		waiting.is(true, "who waits")
		fourth.Close()
		waiting.ask("/version", "")
		last := dialPeer(t, p.Pipes)
		waiting.is(false, "the only idle one")
		for _, c := range []*peer{known, mute, asked, watcher, another, third, fifth, waiting, last} {
			c.Close()
		}
		synctest.Wait()
		if p.all.open != 0 || p.all.takeIdle() != nil {
			t.Errorf("%d connections are counted, none is open", p.all.open)
		}
	})
}

// TestKnownByHTTP2: a flood of strangers does not close an authenticated HTTP/2 connection, nor one
// that has shown a certificate.
func TestKnownByHTTP2(t *testing.T) {
	overPipes(t, 3, func(t *testing.T, p *served) {
		dials := 0
		transport := &http.Transport{
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials++
				c := tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
				return c, c.HandshakeContext(ctx)
			},
			ForceAttemptHTTP2: true,
		}
		defer transport.CloseIdleConnections()
		for round := range 3 {
			req, err := http.NewRequest("GET", "https://server/api/v1/namespaces", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := transport.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
				t.Fatal(resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			synctest.Wait()
			for range 5 {
				c := dialPeer(t, p.secure)
				defer c.Close()
			}
			if dials != 1 {
				t.Errorf("round %d: %d connections", round, dials)
			}
		}
	})
}

// TestCloseWithoutRoom closes a listener while it waits for room.
func TestCloseWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectionstest.NewPipes()
		cs := newConns(1, MaxStreams, &Bursts{}, zap.NewNop())
		l := cs.wrap(p)
		ended := make(chan error)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				defer c.Close()
				cs.stateChanged(c, http.StateActive)
			}
		}()
		first, second := p.Dial(""), p.Dial("")
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: got %v, want %v", err, net.ErrClosed)
		}
		for _, c := range []net.Conn{first, second} {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("a client's connection: got %v, want its end", err)
			}
		}
	})
}

// failingListener is a listener whose Accept fails because the process has no descriptors left.
type failingListener struct{ net.Listener }

func (failingListener) Accept() (net.Conn, error) {
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}

// TestNoDescriptors: if the process has no descriptors left an idle connection is closed, and
// net/http accepts again.
func TestNoDescriptors(t *testing.T) {
	cs := newConns(10, MaxStreams, &Bursts{}, zap.NewNop())
	client, end := net.Pipe()
	defer client.Close()
	c := &conn{Conn: end, all: cs}
	l := &bounded{Listener: failingListener{}, all: cs}
	if !l.admit(c) {
		t.Fatal("not admitted")
	}
	for range 2 { // with an idle connection, and without one
		_, err := l.Accept()
		var again interface{ Temporary() bool } // the interface that net/http checks
		if !errors.As(err, &again) || !again.Temporary() {
			t.Errorf("Accept: got %v, want an error after which net/http tries again", err)
		}
		if !c.closed || cs.open != 0 {
			t.Errorf("%d connections are open, want none", cs.open)
		}
	}
}

// TestChangesAllocateNothing: changes of a connection's state allocate nothing, since each request
// has some.
func TestChangesAllocateNothing(t *testing.T) {
	cs := newConns(10, MaxStreams, &Bursts{}, zap.NewNop())
	client, end := net.Pipe()
	defer client.Close()
	c := &conn{Conn: end, all: cs}
	(&bounded{all: cs}).admit(c)
	defer c.Close()
	if n := testing.AllocsPerRun(100, func() {
		cs.stateChanged(c, http.StateActive)
		cs.stateChanged(c, http.StateIdle)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// TestIdleConnections: idle connections are closed after their time.
func TestIdleConnections(t *testing.T) {
	overPipes(t, 1000, func(t *testing.T, p *served) {
		c := p.Dial("GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
		answer, took := connectionstest.Until(c)
		if !strings.HasPrefix(answer, "HTTP/1.1 200") || took > idleTimeout+time.Second {
			t.Errorf("got %.40q, an end after %v", answer, took)
		}
		c.Close()
	})
}
