package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// Headers, path and query included, may have 64 KiB, on every port and in both protocols; net/http adds a little to that.
func TestHeaderLimit(t *testing.T) {
	s := servertest.Start(t, server.Config{HTTPPort: server.AnyPort})
	roots := &tls.Config{RootCAs: pool(t, s.CAPEM)}
	for _, tt := range []struct {
		name string
		url  string
		h2   bool
	}{
		{"plain HTTP/1.1", "http://" + s.Server.PlainAddress().String(), false},
		{"TLS, HTTP/1.1", s.URL, false},
		{"TLS, HTTP/2", s.URL, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: roots.Clone(), ForceAttemptHTTP2: tt.h2}
			if !tt.h2 {
				transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			}
			defer transport.CloseIdleConnections()
			selector := "?labelSelector=a+in+(" + strings.Repeat("b,", 20<<10) + "b)"
			for _, r := range []struct {
				name, path, token string
				agent             int
				code              int // 0: refused at the door
			}{
				{"nothing special", "/api/v1/pods", servertest.Token, 0, 200},
				{"a selector of 40 KiB and a token of 16 KiB", "/api/v1/pods" + selector, strings.Repeat("t", 16<<10), 0, 401},
				{"a selector of 40 KiB", "/api/v1/pods" + selector, servertest.Token, 0, 200},
				{"a header of 60 KiB", "/api/v1/pods", servertest.Token, 60 << 10, 200},
				{"a path of 60 KiB", "/api/v1/namespaces/" + strings.Repeat("a", 60<<10), servertest.Token, 0, 404},
				{"a header of 73 KiB", "/api/v1/pods", servertest.Token, 73 << 10, 0},
				{"a path of 73 KiB", "/" + strings.Repeat("a", 73<<10), servertest.Token, 0, 0},
				{"all together", "/api/v1/pods" + selector, servertest.Token, 30 << 10, 0},
			} {
				req, err := http.NewRequestWithContext(t.Context(), "GET", tt.url+r.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+r.token)
				req.Header.Set("User-Agent", strings.Repeat("u", r.agent))
				resp, err := transport.RoundTrip(req)
				if err != nil {
					// The client has been told the limit of HTTP/2, or could not write all of what nobody reads.
					if r.code != 0 {
						t.Errorf("%s: got %v, want %d", r.name, err, r.code)
					}
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				want := r.code
				if want == 0 {
					want = http.StatusRequestHeaderFieldsTooLarge
				}
				if resp.StatusCode != want || resp.ProtoMajor == 2 != tt.h2 {
					t.Errorf("%s: got %s %d, want %d", r.name, resp.Proto, resp.StatusCode, want)
				}
			}
		})
	}
}

// A client of HTTP/2 is told the limit. One that does not heed it loses its connection, or gets a 431 if it is over by little.
func TestHeaderLimitHTTP2(t *testing.T) {
	s := servertest.Start(t)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{RootCAs: pool(t, s.CAPEM), NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var block bytes.Buffer
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {":authority", "x"}} {
		block.Write(literal(h[0], h[1]))
	}
	for i := range 10 {
		block.Write(literal(fmt.Sprint("x-", i), strings.Repeat("a", 7<<10)))
	}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	const settings, headers, continuation, endStream, endHeaders, data, goAway = 4, 1, 9, 1, 4, 0, 7
	writeFrame(t, conn, settings, 0, 0, nil)
	writeFrame(t, conn, headers, endStream, 1, block.Next(16<<10))
	for block.Len() > 0 {
		flags := byte(0)
		if block.Len() <= 16<<10 {
			flags = endHeaders
		}
		writeFrame(t, conn, continuation, flags, 1, block.Next(16<<10))
	}
	in := bufio.NewReader(conn)
	limit := uint32(0)
	for {
		typ, payload := readFrame(t, in)
		switch typ {
		case settings:
			for ; len(payload) >= 6; payload = payload[6:] {
				if binary.BigEndian.Uint16(payload) == 6 { // SETTINGS_MAX_HEADER_LIST_SIZE
					limit = binary.BigEndian.Uint32(payload[2:])
				}
			}
		case goAway, data:
			if limit < 64<<10 || limit > 65<<10 || typ == data && !strings.Contains(string(payload), "431") {
				t.Errorf("got frame %d %q, limit %d, want a refusal, 64 KiB", typ, payload, limit)
			}
			return
		}
	}
}

// literal is a header as HPACK writes it without tables.
func literal(name, value string) []byte {
	b := []byte{0}
	for _, s := range []string{name, value} {
		n := len(s)
		if n < 127 {
			b = append(b, byte(n))
		} else {
			b = append(b, 127)
			for n -= 127; n >= 128; n >>= 7 {
				b = append(b, byte(n)|128)
			}
			b = append(b, byte(n))
		}
		b = append(b, s...)
	}
	return b
}

func writeFrame(t *testing.T, conn net.Conn, typ, flags byte, stream uint32, payload []byte) {
	t.Helper()
	frame := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), typ, flags}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(frame, stream), payload...)); err != nil {
		t.Fatal(fmt.Errorf("write a frame of type %d: %w", typ, err))
	}
}

func readFrame(t *testing.T, in io.Reader) (typ byte, payload []byte) {
	t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		t.Fatal(err)
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(in, payload); err != nil {
		t.Fatal(err)
	}
	return head[3], payload
}
