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
)

// relaying serves by a Relay to a backend.
func relaying(t *testing.T, ends context.Context, backend http.HandlerFunc) (address string) {
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
	}))
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

// dial asks to switch protocols and returns the answer with the connection behind it.
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

// switching echoes lines after it has switched protocols, until one says to end.
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
		conn, r, resp := dial(t, relaying(t, ends, switching))
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

// TestRelayDoesNotSwitch passes a refusal on, and takes no other answer for a switch.
func TestRelayDoesNotSwitch(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusForbidden: "403 yes no",
		http.StatusOK:        "502  invalid upgrade response: status code 200",
	} {
		_, _, resp := dial(t, relaying(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, "no")
		}))
		body, err := io.ReadAll(resp.Body)
		if got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Seen"), " ", strings.TrimSpace(string(body))); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
