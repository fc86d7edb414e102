package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// behind is a server behind, with a certificate for the service behind.default.svc.
type behind struct {
	*httptest.Server
	port int32
	ca   []byte // PEM
	came atomic.Pointer[http.Request]
	done chan struct{} // gets a token when a request has ended
	open atomic.Int64  // connections
}

func newBehind(t testing.TB, answer http.HandlerFunc) *behind {
	t.Helper()
	ca := pkitest.NewAuthority(t, "ca of those behind")
	b := &behind{ca: ca.CertPEM, done: make(chan struct{}, 1000)}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, available := r.Header.Get("X-Remote-User"), r.Header.Get("X-Remote-Group") != "" && r.URL.Path != "/apis"
		if user == "system:aggregator" || user == "system:kube-aggregator" && !available {
			http.NotFound(w, r) // requests of the aggregator itself are not tested here
			return
		}
		b.came.Store(r)
		defer func() { b.done <- struct{}{} }()
		answer(w, r)
	}))
	b.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server("behind.default.svc").TLS()}, ClientAuth: tls.RequestClientCert}
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			b.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			b.open.Add(-1)
		}
	}
	b.EnableHTTP2 = true
	b.StartTLS()
	t.Cleanup(b.Close)
	b.port = int32(b.Listener.Addr().(*net.TCPAddr).Port)
	return b
}

// skiffs is the path of the group version that servers behind serve.
const skiffs = "/apis/skiffs.example.com/v1"

// service returns the APIService of b.
func (b *behind) service() *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: meta.ObjectMeta{Name: "v1.skiffs.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "skiffs.example.com", Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1, CABundle: b.ca,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "behind", Port: &b.port},
		},
	}
}

// front starts a server with b behind it. The test sets whether b is available.
func (b *behind) front(t testing.TB, change ...func(*server.Config)) *servertest.Server {
	t.Helper()
	s := inFront(t, change...)
	server.NoAvailability(s.Server)
	register(t, s, b.service())
	return s
}

// inFront starts a server with the service that routes to servers behind.
func inFront(t testing.TB, change ...func(*server.Config)) *servertest.Server {
	t.Helper()
	var cfg server.Config
	for _, f := range change {
		f(&cfg)
	}
	s := servertest.Start(t, cfg)
	services := client.For[*corev1.Service](s.Server.Client(), corev1.GroupVersion.WithResource("services")).In("default")
	_, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: meta.ObjectMeta{Name: "behind"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, meta.CreateOptions{})
	if err != nil && !meta.IsAlreadyExists(err) { // another server on the same store has created it
		t.Fatal(err)
	}
	return s
}

// register creates an APIService, sets it to available, and waits until requests reach the server
// behind.
func register(t testing.TB, s *servertest.Server, service *apiregistrationv1.APIService) {
	t.Helper()
	all := client.For[*apiregistrationv1.APIService](s.Server.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
	made, err := all.Create(t.Context(), service, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	setAvailable(t, s, made.Name, apiregistrationv1.ConditionTrue)
	eventually(t, "requests are handed on", func() bool {
		code, body := do(t, s, "GET", "/apis/"+service.Spec.Group+"/"+service.Spec.Version+"/first", "")
		return code != http.StatusNotFound && body != "service unavailable\n" || strings.Contains(body, "behind")
	})
}

func setAvailable(t testing.TB, s *servertest.Server, name string, status apiregistrationv1.ConditionStatus) {
	t.Helper()
	code, body := do(t, s, "PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/"+name+"/status",
		fmt.Sprintf(`{"status":{"conditions":[{"type":"Available","status":%q}]}}`, status))
	if code != http.StatusOK {
		t.Fatal(code, body)
	}
}

// hello is the handler of most servers behind.
func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "behind: %s %s", r.Method, r.RequestURI)
}

func newRequest(t testing.TB, s *servertest.Server, method, path string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHandedOn: the server behind learns the user of a request from this server alone. It gets no
// credential with which it could send requests to this server.
func TestHandedOn(t *testing.T) {
	t.Parallel()
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "max-age=7")
		h.Set("Server", "boats")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Audit-Id", r.Header.Get("Audit-Id"))
		h.Set("X-Boats", "afloat")
		w.WriteHeader(http.StatusTeapot)
		hello(w, r)
	})
	s := b.front(t)
	r := newRequest(t, s, "PUT", skiffs+"/namespaces/ns/boats/a%2Fb?b=2&a=1", strings.NewReader("{}"))
	for name, values := range map[string][]string{
		"Impersonate-User": {"alice"}, "Impersonate-Uid": {"42"}, "Impersonate-Group": {"sailors", "cooks"},
		"Impersonate-Extra-Example.com%2fknots": {"10", "12"}, "X-Remote-User": {"root"}, "X-Remote-Group": {"system:masters"},
		"X-Remote-Extra-Rank": {"admiral"}, "x-remote-uid": {"0"}, "Cookie": {"session=abcdefghijklmnop"}, "Audit-Id": {"the-audit-id"},
		"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Host": {"evil"}, "Connection": {"X-Remote-User, X-Remote-Group, Audit-Id"},
		"Proxy-Authorization": {"Basic abcdefghijklmnop"}, "X-Mine": {"1", "2"}, "Expect": {"100-continue"},
	} {
		r.Header[name] = values
	}
	code, body := do(t, s, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		`{"metadata":{"name":"alice"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}}`)
	if code != http.StatusCreated {
		t.Fatal(code, body)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}} // HTTP/2 has no header Connection
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	text := string(said)
	if err != nil {
		t.Error(err)
	}
	if want := "behind: PUT " + skiffs + "/namespaces/ns/boats/a/b?a=1&b=2"; resp.StatusCode != http.StatusTeapot || text != want {
		t.Errorf("got %d %q, want %q", resp.StatusCode, text, want)
	}
	for name, want := range map[string][]string{
		"Cache-Control": {"max-age=7"}, "Server": {"boats"}, "Access-Control-Allow-Origin": nil, "Audit-Id": {"the-audit-id"}, "X-Boats": {"afloat"},
	} {
		if got := resp.Header[name]; !slices.Equal(got, want) {
			t.Errorf("answer: %s is %q, want %q", name, got, want)
		}
	}
	came := b.came.Load()
	got := came.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "User-Agent", "Content-Length"} {
		delete(got, name)
	}
	host := fmt.Sprintf("localhost:%d", b.port)
	want := http.Header{
		"X-Remote-User": {"alice"}, "X-Remote-Uid": {"42"}, "X-Remote-Group": {"sailors", "cooks", "system:authenticated"},
		"X-Remote-Extra-Example.com%2fknots": {"10", "12"}, "Audit-Id": {"the-audit-id"}, "X-Mine": {"1", "2"},
		"X-Forwarded-For": {"192.0.2.1, 127.0.0.1"}, "X-Forwarded-Host": {host}, "X-Forwarded-Proto": {"https"},
		"X-Forwarded-Uri": {skiffs + "/namespaces/ns/boats/a/b"},
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("request: %s is %q, want %q", name, got[name], want[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("request: more than there should be: %v", got)
	}
	if came.ProtoMajor != 2 || came.Host != host {
		t.Errorf("request: %s to %s", came.Proto, came.Host)
	}

	// It can authenticate this server by the config map extension-apiserver-authentication.
	trusted := appears(t, client.For[*corev1.ConfigMap](s.Server.Client(), corev1.GroupVersion.WithResource("configmaps")).In("kube-system"),
		"extension-apiserver-authentication", func(*corev1.ConfigMap) bool { return true })
	shown := came.TLS.PeerCertificates
	if len(shown) == 0 {
		t.Fatal("no certificate was shown")
	}
	if _, err := shown[0].Verify(x509.VerifyOptions{
		Roots: pool(t, []byte(trusted.Data["requestheader-client-ca-file"])), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{
		"requestheader-allowed-names": shown[0].Subject.CommonName, "requestheader-username-headers": "X-Remote-User",
		"requestheader-group-headers": "X-Remote-Group", "requestheader-uid-headers": "X-Remote-Uid", "requestheader-extra-headers-prefix": "X-Remote-Extra-",
	} {
		var list []string
		if err := json.Unmarshal([]byte(trusted.Data[key]), &list); err != nil || !slices.Equal(list, []string{want}) {
			t.Errorf("%s: %q, want %q", key, trusted.Data[key], want)
		}
	}
	// The certificate of the front proxy gives no rights in this server.
	if got, _ := ask(t, s, "/api/v1/namespaces", []tls.Certificate{frontProxy(t, s)}, "X-Remote-User", "admin", "X-Remote-Group", "system:masters"); got != http.StatusUnauthorized {
		t.Errorf("with the certificate of the front proxy: %d", got)
	}
}

// frontProxy returns the client certificate that s presents to servers behind it.
func frontProxy(t testing.TB, s *servertest.Server) tls.Certificate {
	t.Helper()
	dir := s.Kubeconfig[:strings.LastIndexByte(s.Kubeconfig, '/')] + "/pki/"
	pair, err := tls.LoadX509KeyPair(dir+"front-proxy-client.crt", dir+"front-proxy-client.key")
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestHandedOnWhere: requests inside of the group version go to the server behind, and no others.
func TestHandedOnWhere(t *testing.T) {
	t.Parallel()
	b := newBehind(t, hello)
	s := b.front(t)
	for _, tt := range []struct {
		method, path string
		behind       bool
	}{
		{"GET", skiffs, true},
		{"GET", skiffs + "/", true},
		{"GET", skiffs + "/boats", true},
		{"DELETE", skiffs + "/boats", true},
		{"HEAD", skiffs + "/boats/x", true},
		{"GET", skiffs + "/watch/boats", true},
		{"POST", skiffs + "/namespaces/ns/boats/x/more/and/more", true},
		{"OPTIONS", skiffs + "/x", true},
		{"GET", skiffs + "0/boats", false},
		{"GET", "/apis/skiffs.example.com", false},
		{"GET", "/apis/skiffs.example.com/v2/boats", false},
		{"GET", "/" + skiffs + "/boats", false},
		{"GET", "/apis//v1/boats", false},
		{"GET", "/api/v1/boats", false},
		{"GET", "/version", false},
		{"GET", "/apis/apps/v1", false},
		{"GET", "/apis/apiregistration.k8s.io/v1/apiservices", false},
	} {
		b.came.Store(nil)
		do(t, s, tt.method, tt.path, "")
		if came := b.came.Load(); (came != nil) != tt.behind {
			t.Errorf("%s %s: handed on: %t", tt.method, tt.path, came != nil)
		} else if came != nil && came.URL.Path != tt.path {
			t.Errorf("%s %s: handed on as %s", tt.method, tt.path, came.URL.Path)
		}
	}
}

// TestHandedOnFails lists what keeps requests from the server behind. After each failure, requests
// get there again.
func TestHandedOnFails(t *testing.T) {
	t.Parallel()
	b := newBehind(t, hello)
	s := b.front(t)
	want := func(what string, code int, text string) {
		t.Helper()
		var got int
		var body string
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if got, body = do(t, s, "GET", skiffs+"/boats", ""); got == code && strings.Contains(body, text) {
				return
			}
		}
		t.Errorf("%s: got %d %q, want %d %q", what, got, body, code, text)
	}
	const name = "v1.skiffs.example.com"
	change := func(change func(*apiregistrationv1.APIService)) {
		t.Helper()
		all := client.For[*apiregistrationv1.APIService](s.Server.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
		for {
			have, err := all.Get(t.Context(), name, meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			have.Spec = b.service().Spec
			change(have)
			if _, err = all.Update(t.Context(), have, meta.UpdateOptions{}); err == nil {
				return
			}
			if !meta.IsConflict(err) { // the status may be written at the same time
				t.Fatal(err)
			}
		}
	}
	want("at first", 200, "behind: GET")
	setAvailable(t, s, name, apiregistrationv1.ConditionFalse)
	want("not available", 503, "service unavailable\n")
	setAvailable(t, s, name, apiregistrationv1.ConditionTrue)
	want("available again", 200, "behind: GET")
	change(func(a *apiregistrationv1.APIService) { a.Spec.Service.Name = "ashore" })
	want("no such service", 503, "service unavailable\n")
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle = newBehind(t, hello).ca })
	want("signed by somebody else", 503, "error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority")
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle = nil })
	want("signed by nobody known", 503, "error trying to reach service: tls: failed to verify certificate")
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle = []byte("no certificate") })
	want("no bundle", 500, "the CA bundle holds no certificate in PEM\n")
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle, a.Spec.InsecureSkipTLSVerify = nil, true })
	want("whoever it is", 200, "behind: GET")
	code, body := do(t, s, "POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"abeam"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	if code != http.StatusCreated {
		t.Fatal(code, body)
	}
	change(func(a *apiregistrationv1.APIService) { a.Spec.Service.Name = "abeam" })
	want("named otherwise", 503, "x509: certificate is valid for behind.default.svc, not abeam.default.svc")
	silent, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := int32(silent.Addr().(*net.TCPAddr).Port)
	silent.Close()
	change(func(a *apiregistrationv1.APIService) { a.Spec.Service.Port = &port })
	want("nobody there", 503, "connect: connection refused")
	change(func(a *apiregistrationv1.APIService) { a.Spec.Service = nil; a.Spec.CABundle = nil })
	want("nobody else", 404, "")
	change(func(*apiregistrationv1.APIService) {})
	want("back", 200, "behind: GET")
	if code, body := do(t, s, "DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/"+name, ""); code != http.StatusOK {
		t.Fatal(code, body)
	}
	want("deleted", 404, "")
}

// TestHandedOnRedirects: a redirect of a server behind does not reach the client.
func TestHandedOnRedirects(t *testing.T) {
	t.Parallel()
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/first") {
			hello(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/made") {
			w.Header().Set("Location", "/there")
			w.WriteHeader(http.StatusCreated)
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	refuses := b.front(t)
	forwards := b.front(t, func(c *server.Config) { c.API.Aggregation.ForwardRedirects = true })
	host := fmt.Sprintf("https://localhost:%d", b.port)
	for _, tt := range []struct {
		s          *servertest.Server
		path       string
		code       int
		to, answer string
	}{
		{refuses, "/x?to=https://elsewhere/", 502, "", "the backend attempted to redirect this request, which is not permitted"},
		{refuses, "/made", 201, host + "/there", ""},
		{forwards, "/x?to=https://elsewhere/", 302, "https://elsewhere/", ""},
		{forwards, "/x?to=/y", 302, host + "/y", ""},
	} {
		r := newRequest(t, tt.s, "POST", skiffs+tt.path, nil)
		resp, err := (&http.Client{Transport: tt.s.Client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if to := resp.Header.Get("Location"); resp.StatusCode != tt.code || to != tt.to || tt.answer != "" && string(body) != tt.answer {
			t.Errorf("%s: got %d to %q: %s", tt.path, resp.StatusCode, to, body)
		}
	}
}

// TestHandedOnWatch: events arrive as they are sent, over both versions of HTTP. If the client
// leaves, the watch ends for the server behind, too. A shutdown ends it as well.
func TestHandedOnWatch(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/first") {
			hello(w, r)
			return
		}
		_ = http.NewResponseController(w).Flush()
		lines := next
		if strings.HasSuffix(r.URL.Path, "/silent") {
			lines = nil
		}
		for {
			select {
			case line := <-lines:
				fmt.Fprintln(w, line)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	var ends []func()
	t.Run("", func(t *testing.T) { // the end of the subtest ends the server
		s := b.front(t)
		for len(b.done) > 0 {
			<-b.done
		}
		for _, major := range []int{1, 2} {
			watch := func(ctx context.Context, path string) *http.Response {
				transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}, ForceAttemptHTTP2: major == 2}
				r := newRequest(t, s, "GET", skiffs+path+"?watch=1", nil).WithContext(ctx)
				r.Header.Set("Authorization", "Bearer "+s.Token)
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if resp.ProtoMajor != major || resp.StatusCode != http.StatusOK {
					t.Fatal(resp)
				}
				ends = append(ends, func() {
					if _, err := io.Copy(io.Discard, resp.Body); ctx.Err() == nil && err == nil {
						t.Error("the watch was broken off, and looks whole")
					}
					resp.Body.Close()
					transport.CloseIdleConnections()
				})
				return resp
			}
			ctx, leave := context.WithCancel(context.Background())
			resp := watch(ctx, "/watched")
			lines := bufio.NewReader(resp.Body)
			for _, line := range []string{"one", "two"} {
				next <- line
				if got, err := lines.ReadString('\n'); err != nil || got != line+"\n" {
					t.Fatalf("HTTP/%d: got %q, %v, want %q", major, got, err, line)
				}
			}
			leave()
			<-b.done
			watch(context.Background(), "/silent")
		}
	})
	for _, end := range ends {
		end()
	}
	<-b.done
	<-b.done
}

// TestHandedOnUpgrade: a connection that switches protocols is passed through. It ends for both
// sides when one side ends it, and at shutdown.
func TestHandedOnUpgrade(t *testing.T) {
	t.Parallel()
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/refused"):
			http.Error(w, "not this", http.StatusForbidden)
			return
		case r.Header.Get("Upgrade") == "" || strings.HasSuffix(r.URL.Path, "/ignored"):
			hello(w, r)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\nbehind\n", r.Header.Get("Upgrade"))
		for {
			line, err := rw.ReadString('\n')
			if err != nil || line == "bye\n" {
				return
			}
			io.WriteString(conn, line)
		}
	})
	var open *tls.Conn
	t.Run("", func(t *testing.T) { // the end of the subtest ends the server
		s := b.front(t)
		dial := func(path, token, protocol string) (*tls.Conn, *bufio.Reader, *http.Response) {
			conn, err := tls.Dial("tcp", s.URL[len("https://"):], &tls.Config{RootCAs: pool(t, s.CAPEM)})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Remote-User: root\r\n\r\n", skiffs+path, token, protocol)
			rd := bufio.NewReader(conn)
			resp, err := http.ReadResponse(rd, nil)
			if err != nil {
				t.Fatal(err)
			}
			return conn, rd, resp
		}
		for i, path := range []string{"/namespaces/ns/boats/x/exec?command=watch", "/namespaces/ns/boats/x/console"} {
			for len(b.done) > 0 {
				<-b.done
			}
			conn, rd, resp := dial(path, s.Token, "SPDY/3.1")
			if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "SPDY/3.1" {
				t.Fatal(resp)
			}
			if got := b.came.Load().Header["X-Remote-User"]; !slices.Equal(got, []string{"admin"}) || b.came.Load().Header["Authorization"] != nil {
				t.Errorf("came as %q", b.came.Load().Header)
			}
			for _, line := range []string{"behind\n", "to and fro\n"} {
				if got, err := rd.ReadString('\n'); err != nil || got != line {
					t.Fatalf("got %q, %v", got, err)
				}
				if line == "behind\n" {
					io.WriteString(conn, "to and fro\n")
				}
			}
			if i == 0 { // the server behind ends it
				io.WriteString(conn, "bye\n")
				if rest, err := io.ReadAll(rd); len(rest) > 0 {
					t.Error(rest, err)
				}
				conn.Close()
			} else {
				conn.Close()
			}
			<-b.done
		}
		for path, want := range map[string]string{"/refused": "403 not this\n", "/ignored": "503 invalid upgrade response: status code 200\n"} {
			conn, _, resp := dial(path, s.Token, "websocket")
			body, _ := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
			if got := fmt.Sprint(resp.StatusCode, " ", string(body)); got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
			conn.Close()
		}
		open, _, _ = dial("/namespaces/ns/boats/x/console", s.Token, "websocket")
	})
	defer open.Close()
	_ = open.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, open); err != nil {
		t.Error("the connection does not end with the server:", err)
	}
}

// TestHandedOnInTime: a request to a server behind that does not answer ends after its time limit.
func TestHandedOnInTime(t *testing.T) {
	t.Parallel()
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/first") {
			hello(w, r)
			return
		}
		<-r.Context().Done()
	})
	s := b.front(t)
	code, body := do(t, s, "GET", skiffs+"/boats?timeout=50ms", "")
	if st := status(body); code != 504 || st.Reason != "Timeout" {
		t.Errorf("got %d %s", code, body)
	}
	begun := time.Now()
	code, body = do(t, s, "GET", skiffs, "")
	if took := time.Since(begun); code != 503 || body != "error trying to reach service: context deadline exceeded\n" || took < 4*time.Second || took > 30*time.Second {
		t.Errorf("discovery from a server that hangs: %d %s after %v", code, body, took)
	}
}

// TestHandedOnBodies: bodies are streamed in both directions. If the answer comes before the whole
// body of the request has been read, the client gets all of it.
func TestHandedOnBodies(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef"), 512<<10) // 8 MiB
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/refused"):
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			w.Write(large)
		case r.Method == "POST":
			body, _ := io.ReadAll(r.Body)
			w.Write(body)
		default:
			hello(w, r)
		}
	})
	s := b.front(t)
	for _, major := range []int{1, 2} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}, ForceAttemptHTTP2: major == 2}
		defer transport.CloseIdleConnections()
		for path, code := range map[string]int{"/boats": 200, "/refused": 413} {
			for _, size := range []int{len(large), 100 << 10} {
				r := newRequest(t, s, "POST", skiffs+path, bytes.NewReader(large[:size]))
				r.Header.Set("Authorization", "Bearer "+s.Token)
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Errorf("HTTP/%d, %s, %d bytes: %v", major, path, size, err)
					continue
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				want := size
				if code == 413 {
					want = len(large)
				}
				if resp.StatusCode != code || err != nil || !bytes.Equal(body, large[:want]) {
					t.Errorf("HTTP/%d, %s, %d bytes: got %d, %d bytes, %v", major, path, size, resp.StatusCode, len(body), err)
				}
			}
		}
	}
}

// TestHandedOnCertificates: servers behind see the configured certificate, and after a change of
// its file the new one.
func TestHandedOnCertificates(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewAuthority(t, "front proxies")
	cert, key := pkitest.Files(t, ca.Client("one"))
	b := newBehind(t, hello)
	s := b.front(t, func(c *server.Config) { c.API.Aggregation.CertFile, c.API.Aggregation.KeyFile = cert, key })
	shown := func() string {
		t.Helper()
		do(t, s, "GET", skiffs+"/boats", "")
		if certs := b.came.Load().TLS.PeerCertificates; len(certs) > 0 {
			return certs[0].Subject.CommonName
		}
		return ""
	}
	if got := shown(); got != "one" {
		t.Errorf("got %q, want one", got)
	}
	other, otherKey := pkitest.Files(t, ca.Client("two"))
	for from, to := range map[string]string{other: cert, otherKey: key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the other certificate is shown", func() bool { return shown() == "two" })
}
