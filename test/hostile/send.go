package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

type protocol string

const (
	http1 protocol = "h1"
	http2 protocol = "h2"
)

// sender sends requests to one server, one after the other, on one connection for as long as the
// server leaves it open.
type sender struct {
	address string
	client  *http.Client // of HTTP/2; nil for HTTP/1.1, which is written byte for byte
	conn    net.Conn
	in      *bufio.Reader
}

func newSender(p *process, proto protocol) *sender {
	s := &sender{address: p.address}
	if proto == http2 {
		t := &http.Transport{TLSClientConfig: tlsConfig(), Protocols: new(http.Protocols), DisableCompression: true}
		t.Protocols.SetHTTP2(true)
		s.client = &http.Client{Transport: t}
	}
	return s
}

// tlsConfig verifies no certificate: the servers are our own, on loopback.
func tlsConfig() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func (s *sender) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
}

// once sends q on a connection of its own.
func (s *sender) once(ctx context.Context, q *request) (*answer, error) {
	defer s.close()
	return s.send(ctx, q)
}

// send sends q and reads the answer.
func (s *sender) send(ctx context.Context, q *request) (*answer, error) {
	if s.client != nil {
		return s.send2(ctx, q)
	}
	if s.conn == nil {
		conn, err := (&tls.Dialer{Config: tlsConfig()}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return nil, err
		}
		s.conn, s.in = conn, bufio.NewReader(conn)
	}
	s.conn.SetDeadline(time.Now().Add(time.Minute))
	// A server may answer, and close, before it has read everything.
	go s.conn.Write(q.raw())
	resp, err := http.ReadResponse(s.in, &http.Request{Method: q.method})
	if err != nil {
		s.close()
		return nil, err
	}
	a, err := read(resp)
	if resp.Close || err != nil {
		s.close()
	}
	return a, err
}

func (s *sender) send2(ctx context.Context, q *request) (*answer, error) {
	r := (&http.Request{
		Method: q.method, Host: "localhost", Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(q.body)), ContentLength: int64(len(q.body)),
		URL: &url.URL{Scheme: "https", Host: s.address, Opaque: q.target},
	}).WithContext(ctx)
	for i := 0; i < len(q.header); i += 2 {
		r.Header.Add(q.header[i], q.header[i+1])
	}
	if r.ContentLength == 0 {
		r.Body = nil
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	return read(resp)
}

func read(resp *http.Response) (*answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.Close {
		resp.Header.Set("Connection", "close")
	}
	resp.Header.Del("Date")
	return &answer{resp.StatusCode, resp.Header, body}, err
}
