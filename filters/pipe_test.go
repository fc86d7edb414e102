package filters

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// pipes is a listener whose connections are pipes. They have deadlines, and live in their test's
// fake time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// client is the client's end of a connection, with the responses so far.
type client struct {
	net.Conn
	answers *bufio.Reader
	sent    chan struct{} // closed when all has been sent
}

// dial serves h behind c's chain and connects a client to it. It must be called in a synctest
// bubble.
func dial(t *testing.T, c Config, h http.HandlerFunc) *client {
	t.Helper()
	ours, theirs := net.Pipe()
	listener, server := make(pipes, 1), &http.Server{Handler: Chain(h, c.Steps()...)}
	listener <- theirs
	close(listener)
	if err := server.Serve(listener); err != net.ErrClosed {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close()
		server.Close()
	})
	sent := make(chan struct{})
	close(sent)
	return &client{ours, bufio.NewReader(ours), sent}
}

// send sends further text while the server reads; what the server does not read before it hangs up
// is dropped.
func (c *client) send(texts ...string) {
	before, done := c.sent, make(chan struct{})
	c.sent = done
	go func() {
		defer close(done)
		<-before
		for _, text := range texts {
			_, _ = io.WriteString(c, text)
		}
	}()
}

// answer reads one response.
func (c *client) answer(t *testing.T) (code int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("half an answer: %v", err)
	}
	return resp.StatusCode, string(all)
}

// open reports whether the server serves another request.
func (c *client) open() bool {
	c.send("OPTIONS /another HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n")
	resp, err := http.ReadResponse(c.answers, nil)
	return err == nil && resp.StatusCode == http.StatusOK
}
