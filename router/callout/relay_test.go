package callout

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// relaying serves a Relay to a backend. served, if not nil, is called when Serve returns.
func relaying(
	t *testing.T, ends context.Context, backend http.HandlerFunc, served func(http.ResponseWriter),
) (address string) {
	t.Helper()
	behind := httptest.NewServer(backend)
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		relay := Relay{
			To: transport, Ends: ends,
			Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) },
			Answered: func(resp *http.Response) error {
				resp.Header.Set("Seen", "yes")
				return nil
			},
			Failed: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusBadGateway)
			},
		}
		relay.Serve(w, in)
		if served != nil {
			served(w)
		}
	}))
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

// dial asks to switch protocols and returns the response and the connection.
func dial(t *testing.T, address string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, r, resp
}

// switching switches protocols and echoes lines until one asks it to end.
func switching(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	for {
		line, err := rw.ReadString('\n')
		if err != nil || line == "end\n" {
			return
		}
		fmt.Fprint(conn, line)
	}
}

// TestRelaySwitches joins two connections, until either end, or the server, ends them.
func TestRelaySwitches(t *testing.T) {
	for _, by := range []string{"server behind", "server"} {
		ends, end := context.WithCancel(t.Context())
		conn, r, resp := dial(t, relaying(t, ends, switching, nil))
		if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Seen") != "" {
			t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
		}
		fmt.Fprint(conn, "hello\n")
		if line, err := r.ReadString('\n'); line != "hello\n" {
			t.Errorf("got %q, %v", line, err)
		}
		if by == "server" {
			end()
		} else {
			fmt.Fprint(conn, "end\n")
		}
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			t.Errorf("ended by the %s: got %q", by, rest)
		}
		end()
	}
}

// TestRelayDoesNotSwitch: a refusal to switch is passed on, and no other response counts as a
// switch.
func TestRelayDoesNotSwitch(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusForbidden: "403 yes no",
		http.StatusOK:        "502  invalid upgrade response: status code 200",
	} {
		_, _, resp := dial(t, relaying(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, "no")
		}, nil))
		body, err := io.ReadAll(resp.Body)
		if got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Seen"), " ", strings.TrimSpace(string(body))); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// refusing answers without reading the body. It takes over the connection, because net/http would
// read the body before it sends the answer of a handler.
func refusing(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
	io.Copy(io.Discard, rw) // the connection stays
}

// TestRelayAnswersEarly: the server behind answers before the client has sent its whole body. Serve
// passes the answer on and returns. net/http in this server then delays the answer until the client
// has sent the rest of the body, or until the read deadline.
func TestRelayAnswersEarly(t *testing.T) {
	for _, upgrade := range []string{"", "Connection: Upgrade\r\nUpgrade: echo\r\n"} {
		for _, sends := range []bool{true, false} {
			served := make(chan struct{})
			address := relaying(t, t.Context(), refusing, func(w http.ResponseWriter) {
				if !sends {
					_ = http.NewResponseController(w).SetReadDeadline(time.Now())
				}
				close(served)
			})
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(conn, "POST /x HTTP/1.1\r\nHost: h\r\n%sContent-Length: 10\r\n\r\nabc", upgrade)
			select {
			case <-served:
			case <-time.After(10 * time.Second):
				t.Fatalf("upgrade %t: Serve waits for the body", upgrade != "")
			}
			if sends {
				fmt.Fprint(conn, "defghij")
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("upgrade %t, the rest is sent %t: %v", upgrade != "", sends, err)
			}
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusForbidden || string(body) != "no" || err != nil || resp.Close == sends {
				t.Errorf("upgrade %t, the rest is sent %t: got %d %q, %v, closes %t",
					upgrade != "", sends, resp.StatusCode, body, err, resp.Close)
			}
		}
	}
}
