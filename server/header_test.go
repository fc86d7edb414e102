package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestHeaderLimit: a header, including path and query, may have 64 KiB, on every port and in both
// protocols. net/http allows a little more.
func TestHeaderLimit(t *testing.T) {
	s := servertest.Start(t, server.Config{Serving: server.ServingConfig{HTTPPort: server.AnyPort}})
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
				code              int // 0: refused while the header is read
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
					// Over HTTP/2 the client knows the limit. Over HTTP/1.1 it may fail to write
					// what the server does not read.
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

// TestHeaderLimitHTTP2: the server announces the limit to clients of HTTP/2. If a client exceeds it
// by little, it gets 431; if by much, it loses its connection.
func TestHeaderLimitHTTP2(t *testing.T) {
	s := servertest.Start(t)
	f := dialFrames(t, s.Server.Address().String(), 1<<20)
	var headers []string
	for i := range 10 {
		headers = append(headers, fmt.Sprint("x-", i), strings.Repeat("a", 7<<10))
	}
	id := f.Send("GET", "/", true, headers...)
	limit := uint32(0)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := frame.Value(http2.SettingMaxHeaderListSize); ok {
				limit = v
			}
			continue
		case *http2.MetaHeadersFrame:
			if code := frame.PseudoValue("status"); frame.StreamID != id || code != "431" {
				t.Errorf("got %s, want 431", code)
			}
		case *http2.GoAwayFrame:
		default:
			continue
		}
		if limit < 64<<10 || limit > 65<<10 {
			t.Errorf("got limit %d, want 64 KiB", limit)
		}
		return
	}
}
