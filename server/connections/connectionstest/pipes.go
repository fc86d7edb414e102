// Package connectionstest helps tests of servers' connections. Pipes is a listener whose
// connections are pipes in memory. Frames is a client that sends HTTP/2 frames one by one, also
// those that a proper client would not send. Frames fails its test instead of returning errors.
package connectionstest

import (
	"io"
	"net"
	"sync"
	"time"
)

// Pipes is a listener whose connections are pipes of net.Pipe. They have deadlines, and live in the
// fake time of a testing/synctest bubble.
type Pipes struct {
	conns chan net.Conn
	once  sync.Once
	end   chan struct{}
}

// NewPipes returns a listener without connections. Close ends its Accept.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), end: make(chan struct{})} }

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error { p.once.Do(func() { close(p.end) }); return nil }

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// Dial connects a client and returns its end. The client writes send in a goroutine, unless it is
// "". Dial returns when the listener has accepted.
func (p *Pipes) Dial(send string) net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	if send != "" { // a goroutine that writes nothing would keep fake time from advancing
		go io.WriteString(client, send)
	}
	return client
}

// Until reads from c until the server closes the connection, and returns the bytes and the time
// that this took.
func Until(c net.Conn) (string, time.Duration) {
	begun := time.Now()
	data, _ := io.ReadAll(c)
	return string(data), time.Since(begun)
}
