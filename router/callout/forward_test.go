package callout

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

func forwarder(t testing.TB, to Target) *Forwarder {
	t.Helper()
	f, err := NewForwarder(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// TestForward sends requests unchanged to the given address, whose certificate must be the
// service's.
func TestForward(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	service := &Service{Namespace: "team", Name: "mine"}
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		shown := "nobody"
		if certs := r.TLS.PeerCertificates; len(certs) > 0 {
			shown = certs[0].Subject.CommonName
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Proto, r.Method, r.URL, r.Header.Get("X"), r.Header.Get("Accept-Encoding"), string(body), shown)
	}, "mine.team.svc")
	pair := ca.Client("me").TLS()
	shows := func() (*tls.Certificate, error) { return &pair, nil }
	for _, tt := range []struct {
		name, path string
		to         Target
		want, err  string
	}{
		{"usual", "/a%2Fb?c=d", Target{Service: service, CABundle: ca.CertPEM}, "200 HTTP/2.0PUT/a%2Fb?c=dybodynobody", ""},
		{"with a certificate", "/", Target{Service: service, CABundle: ca.CertPEM, Certificate: shows}, "200 HTTP/2.0PUT/ybodyme", ""},
		{"any certificate", "/", Target{Service: service, Insecure: true}, "200 HTTP/2.0PUT/ybodynobody", ""},
		{"redirect", "/there", Target{Service: service, CABundle: ca.CertPEM}, "302 ", ""},
		{"of a stranger", "/", Target{Service: service, CABundle: other.CertPEM}, "", "certificate signed by unknown authority"},
		{"other service", "/", Target{Service: &Service{Namespace: "team", Name: "yours"}, CABundle: ca.CertPEM}, "", "valid for mine.team.svc, not yours.team.svc"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", hook.URL+tt.path, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X", "y")
		resp, err := forwarder(t, tt.to).RoundTrip(r)
		if err != nil {
			if tt.err == "" || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", string(body)); got != tt.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	for _, to := range []Target{{URL: hook.URL}, {Service: service, CABundle: []byte("none")}} {
		if _, err := NewForwarder(to); err == nil {
			t.Errorf("%+v: no error", to)
		}
	}
}

// TestForwardUpgrade: a request to switch protocols goes over HTTP/1 and gets the connection.
func TestForwardUpgrade(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(r.Proto, err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, line)
	}, "mine.team.svc")
	f := forwarder(t, Target{Service: &Service{Namespace: "team", Name: "mine"}, CABundle: ca.CertPEM})
	r, err := http.NewRequestWithContext(t.Context(), "POST", hook.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"SPDY/3.1"}}
	resp, err := f.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatal(resp)
	}
	io.WriteString(conn, "there and back\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "there and back\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestForwardClose: a closed Forwarder keeps connections only for running requests, and for later
// ones only while they run.
func TestForwardClose(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	for _, h2 := range []bool{true, false} {
		t.Run(fmt.Sprintf("HTTP/2=%t", h2), func(t *testing.T) {
			came, release := make(chan struct{}), make(chan struct{})
			hook := serve(t, ca, h2, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/waits" {
					came <- struct{}{}
					<-release
				}
				fmt.Fprint(w, r.ProtoMajor)
			}, "mine.team.svc")
			open := func() int { return int(hook.conns.Load()) - len(hook.closed) }
			f := forwarder(t, Target{Service: &Service{Namespace: "team", Name: "mine"}, CABundle: ca.CertPEM})
			ask := func(path string) *http.Response {
				r, err := http.NewRequestWithContext(t.Context(), "GET", hook.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := f.RoundTrip(r)
				if err != nil {
					t.Error(err)
				}
				return resp
			}
			end := func(resp *http.Response) {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			none := func(when string) {
				t.Helper()
				for began := time.Now(); open() > 0; time.Sleep(time.Millisecond) {
					if time.Since(began) > 10*time.Second {
						t.Fatalf("%s: %d connections are open", when, open())
					}
				}
			}
			end(ask("/"))
			answer := make(chan *http.Response)
			go func() { answer <- ask("/waits") }()
			<-came
			f.Close()
			if open() == 0 {
				t.Error("the connection of a request is closed")
			}
			close(release)
			resp := <-answer
			if open() == 0 {
				t.Error("the connection of an answer is closed")
			}
			end(resp)
			none("after the last answer")
			end(ask("/"))
			none("after one that came late")
		})
	}
}

// TestForwardToStrangers: an error does not quote a response that is not HTTP.
func TestForwardToStrangers(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.Server("mine.team.svc").TLS()}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 1))
		io.WriteString(conn, "the secret of the house\r\n\r\n")
	}()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+l.Addr().(*net.TCPAddr).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = forwarder(t, Target{Service: &Service{Namespace: "team", Name: "mine"}, CABundle: ca.CertPEM}).RoundTrip(r)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
