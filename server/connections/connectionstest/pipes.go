// Package connectionstest is for tests of connections: a listener whose connections are pipes, and
// a client that speaks HTTP/2 frame by frame.
package connectionstest

import (
	"io"
	"net"
	"sync"
	"time"
)

// Pipes is a listener whose connections are pipes: they know deadlines, and live in the fake time
// of their test.
type Pipes struct {
	conns chan net.Conn
	once  sync.Once
	end   chan struct{}
}

// NewPipes returns a listener without a connection.
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

// Dial connects a client, which sends send. It returns when the listener has accepted.
func (p *Pipes) Dial(send string) net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	if send != "" { // else it could wait for what the client writes, and fake time with it
		go io.WriteString(client, send)
	}
	return client
}

// Until reads what the server sends until it hangs up, and returns how long that took.
func Until(c net.Conn) (string, time.Duration) {
	begun := time.Now()
	data, _ := io.ReadAll(c)
	return string(data), time.Since(begun)
}
