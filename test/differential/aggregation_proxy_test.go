package differential

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	apiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/tracing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

const behindGroup = "behind.example.com"

// behind is a server behind both aggregators. By the number of a case it looks up how to answer,
// and it keeps the request for that number.
type behind struct {
	*httptest.Server
	crt []byte

	mu    sync.Mutex
	tells map[string]func(http.ResponseWriter, *http.Request)
	heard map[string]*asked
}

// asked is a request as the server behind gets it.
type asked struct {
	Line, Host string
	Header     http.Header
	Body       string
	Length     int64
	Trailer    http.Header
}

func newBehind(t *testing.T) *behind {
	crt, key, err := cert.GenerateSelfSignedCertKey("api.behind.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		t.Fatal(err)
	}
	b := &behind{crt: crt, tells: map[string]func(http.ResponseWriter, *http.Request){}, heard: map[string]*asked{}}
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	b.EnableHTTP2 = true
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

func (b *behind) port() int { return b.Listener.Addr().(*net.TCPAddr).Port }

// ServeHTTP implements http.Handler.
func (b *behind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Case")
	b.mu.Lock()
	tell := b.tells[id]
	b.mu.Unlock()
	a := &asked{Line: r.Method + " " + r.RequestURI, Host: r.Host, Header: r.Header.Clone(), Length: r.ContentLength}
	if r.Header.Get("Upgrade") == "" {
		body, err := io.ReadAll(r.Body)
		a.Body, a.Trailer = string(body), r.Trailer
		if err != nil {
			a.Body += " " + err.Error()
		}
	}
	b.mu.Lock()
	b.heard[id] = a
	b.mu.Unlock()
	if tell != nil {
		tell(w, r)
	}
}

// versionsBehind has, for the version of each APIService, a function that sets what is special
// about it.
var versionsBehind = map[string]func(b *behind, s *apiregistrationv1.APIService){
	"v1": func(*behind, *apiregistrationv1.APIService) {},
	"v1insecure": func(_ *behind, s *apiregistrationv1.APIService) {
		s.Spec.CABundle, s.Spec.InsecureSkipTLSVerify = nil, true
	},
	"v1closed": func(_ *behind, s *apiregistrationv1.APIService) {
		s.Spec.Service.Port, s.Status.Conditions = new(int32(1)), nil
	},
	"v1nowhere": func(_ *behind, s *apiregistrationv1.APIService) {
		s.Spec.Service.Name, s.Status.Conditions = "none", nil
	},
}

func (b *behind) service(version string) *apiregistrationv1.APIService {
	s := &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + behindGroup},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: behindGroup, Version: version, GroupPriorityMinimum: 1, VersionPriority: 1, CABundle: b.crt,
			Service: &apiregistrationv1.ServiceReference{Namespace: "behind", Name: "api", Port: new(int32(b.port()))},
		},
		Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.Now(),
		}}},
	}
	versionsBehind[version](b, s)
	return s
}

// ourAggregator is a server with b behind it. It returns its address.
func ourAggregator(t *testing.T, b *behind) string {
	s := servertest.Start(t, server.Config{Controllers: []string{}, Authorization: access.Config{Modes: []string{"AlwaysAllow"}}})
	h := &ours{handler: s.Server.Handler(), server: s.Server}
	create := func(path string, object any) {
		t.Helper()
		if a := ask(h, http.MethodPost, path, encode(object)); !a.accepted() {
			t.Fatalf("%s: %s", path, indent(a.Body))
		}
	}
	create("/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": "behind"}})
	create("/api/v1/namespaces/behind/services", map[string]any{
		"metadata": map[string]any{"name": "api"}, "spec": map[string]any{"type": "ExternalName", "externalName": "localhost"},
	})
	const services = "/apis/apiregistration.k8s.io/v1/apiservices"
	for version := range versionsBehind {
		create(services, b.service(version))
	}
	for version := range versionsBehind { // wait until the server knows which versions it can reach
		want := http.StatusOK
		if b.service(version).Status.Conditions == nil {
			want = http.StatusServiceUnavailable
		}
		for end := time.Now().Add(10 * time.Second); ask(h, http.MethodGet, "/apis/"+behindGroup+"/"+version, nil).Code != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s does not answer %d", version, want)
			}
		}
	}
	return s.URL
}

// toLocalhost resolves the only service to this machine.
type toLocalhost struct{}

// ResolveEndpoint implements aggregator.ServiceResolver.
func (toLocalhost) ResolveEndpoint(_, name string, port int32) (*url.URL, error) {
	if name != "api" {
		return nil, errors.New("not found")
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort("localhost", strconv.Itoa(int(port)))}, nil
}

// theirAggregator is kube-aggregator's way to b, inside of kube-apiserver's filters. It has no
// resources, controllers and documents of its own; for that, its unexported fields are set here.
func theirAggregator(t *testing.T, b *behind) string {
	routes := mux.NewPathRecorderMux("aggregator")
	routes.NotFoundHandler(http.NotFoundHandler())
	a := &aggregator.APIAggregator{GenericAPIServer: &apiserver.GenericAPIServer{Handler: &apiserver.APIServerHandler{NonGoRestfulMux: routes}}}
	set := func(field string, value func(reflect.Type) reflect.Value) {
		f := reflect.ValueOf(a).Elem().FieldByName(field)
		reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(value(f.Type()))
	}
	set("proxyHandlers", reflect.MakeMap)
	set("handledGroupVersions", reflect.MakeMap)
	set("serviceResolver", func(reflect.Type) reflect.Value { return reflect.ValueOf(toLocalhost{}) })
	set("tracerProvider", func(reflect.Type) reflect.Value { return reflect.ValueOf(tracing.NewNoopTracerProvider()) })
	set("rejectForwardingRedirects", func(reflect.Type) reflect.Value { return reflect.ValueOf(true) })
	set("proxyCurrentCertKeyContent", func(to reflect.Type) reflect.Value {
		return reflect.ValueOf(func() ([]byte, []byte) { return nil, nil }).Convert(to)
	})
	for version := range versionsBehind {
		if err := a.AddAPIService(b.service(version)); err != nil {
			t.Fatal(err)
		}
	}
	c := apiserver.NewConfig(serializer.NewCodecFactory(runtime.NewScheme()))
	c.FeatureGate = feature.DefaultFeatureGate
	c.RequestInfoResolver = apiserver.NewRequestInfoResolver(c)
	c.Authentication.Authenticator = bearertoken.New(authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "admin", UID: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}, token == servertest.Token, nil
	}))
	c.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	s := httptest.NewServer(apiserver.DefaultBuildHandlerChain(routes, c))
	t.Cleanup(s.Close)
	return s.URL
}

// told is an answer as a client gets it.
type told struct {
	Status  string
	Header  http.Header
	Body    string
	Trailer http.Header
}

// proxied is a request through one aggregator: the request that the server behind got, nil if it
// got none, and the answer that the client got.
type proxied struct {
	Asked *asked
	Told  *told
}

// pass sends the bytes of a request, unchanged, by HTTP/1.1.
func (b *behind) pass(t *testing.T, address, id string, request []byte, tell func(http.ResponseWriter, *http.Request)) proxied {
	t.Helper()
	request = bytes.ReplaceAll(request, []byte("CASE"), []byte(id))
	b.mu.Lock()
	b.tells[id] = tell
	b.mu.Unlock()
	scheme, host, _ := strings.Cut(address, "://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if scheme == "https" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(string(request), " ")
	answers := bufio.NewReader(conn)
	to := &told{Status: "half an answer"} // timing decides how much of it arrives
	if resp, err := http.ReadResponse(answers, &http.Request{Method: method}); err == nil {
		defer resp.Body.Close()
		from := io.Reader(resp.Body)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			fmt.Fprint(conn, "over to you\n")
			from = answers
		}
		if body, err := io.ReadAll(from); err == nil {
			to = &told{Status: resp.Status, Header: resp.Header, Body: string(body), Trailer: resp.Trailer}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := proxied{b.heard[id], to}
	delete(b.heard, id)
	delete(b.tells, id)
	return p
}

// varies finds the parts that differ from request to request.
var varies = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?|\[::1\]:\d+|localhost:\d+|stream ID \d+`)

// meant removes the intended differences from the request that the server behind got and from the
// answer.
func (p proxied) meant() {
	if a := p.Asked; a != nil {
		// If a client does not ask for compression, net/http asks in its name and decompresses the
		// answer. Coracle passes answers on unchanged.
		if slices.Equal(a.Header["Accept-Encoding"], []string{"gzip"}) {
			delete(a.Header, "Accept-Encoding")
		}
		// Coracle removes each header by which a client could authenticate or impersonate, also
		// headers that it does not know.
		for _, name := range []string{"Cookie", "Impersonate-Whatever", "X-Remote-Whatever"} {
			delete(a.Header, name)
		}
		// Several Traceparent headers count as none. kube-aggregator takes the first.
		if trace := a.Header["Traceparent"]; len(trace) > 1 {
			a.Header["Traceparent"] = trace[:1]
		}
		delete(a.Header, "Content-Length") // of an empty body
	}
	to := p.Told
	if p.Asked != nil && p.Asked.Header["Upgrade"] != nil {
		// When protocols switch, kube-aggregator copies bytes between the connections: headers of
		// one connection (hop-by-hop) pass, and its own headers are missing.
		for _, name := range []string{"Connection", "Keep-Alive", "Te", "X-Custom", "Proxy-Connection", "Proxy-Authorization", "User-Agent",
			"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Uri"} {
			delete(p.Asked.Header, name)
		}
		maps.DeleteFunc(to.Header, func(name string, _ []string) bool {
			return name != "Content-Type" && name != "X-Stream-Protocol-Version"
		})
		if to.Body == "unexpected EOF\n" { // Coracle says what failed
			to.Body = "error dialing backend: EOF\n"
		}
	}
	delete(to.Header, "Date")
	delete(to.Header, "Server")
	// If the aggregator and the server behind set the same header, kube-aggregator sends both.
	// Coracle sends one: its own Audit-Id, and otherwise the value of the server behind.
	if id := to.Header["Audit-Id"]; len(id) > 1 {
		to.Header["Audit-Id"] = id[:1]
	}
	if own := []string{"no-cache, private"}; len(to.Header["Cache-Control"]) > 1 && slices.Equal(to.Header["Cache-Control"][:1], own) {
		to.Header["Cache-Control"] = to.Header["Cache-Control"][1:]
	}
	// Each server chooses how it marks the end of an answer. kube-aggregator loses trailers.
	delete(to.Header, "Content-Length")
	delete(to.Header, "Trailer")
	to.Trailer = nil
}

// text writes the request and the answer without the parts that vary.
func (p proxied) text(id string) string {
	p.meant()
	var out strings.Builder
	headers := func(what string, h http.Header) {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			fmt.Fprintf(&out, "%s %s: %q\n", what, name, h[name])
		}
	}
	if a := p.Asked; a != nil {
		fmt.Fprintf(&out, "asked %s of %s, %d bytes %q\n", a.Line, a.Host, a.Length, a.Body)
		headers("asked", a.Header)
		headers("asked trailer", a.Trailer)
	}
	headers("told", p.Told.Header)
	fmt.Fprintf(&out, "told %s %q\n", p.Told.Status, p.Told.Body)
	return varies.ReplaceAllString(strings.ReplaceAll(out.String(), id, "CASE"), "VARIES")
}

// proxyWriter makes up requests and the answers of the server behind.
type proxyWriter struct{ *rand.Rand }

func (w proxyWriter) request() []byte {
	var out bytes.Buffer
	version := oneOf(w.Rand, "v1", "v1", "v1", "v1", "v1", "v1insecure", "v1", "v1", "v1", "v1", "v1", slices.Sorted(maps.Keys(versionsBehind))[w.IntN(len(versionsBehind))])
	path := "/apis/" + behindGroup + "/" + version + oneOf(w.Rand, "", "/", "/things", "/things/x", "/namespaces/n/things", "/namespaces/n/things/x/status", "/things/x/proxy/a/b",
		"/things/%2F", "/things/a%20b", "/things/%C3%A9", "/things/a+b;c=d", "/things//x", "/things/", "/things/./x", "/things/../x", "/things/%2e%2e/x", "/things/a:b,c@d!$&'()*", "/things/a%3Fb%23c%25")
	query := oneOf(w.Rand, "", "", "", "?", "?a=b", "?a=1&b=2&a=3", "?b=1&a=2", "?q=%20+%2B", "?limit=1&labelSelector=a%3Db", "?watch=true", "?watch=1&timeoutSeconds=5", "?timeout=5s", "?a", "?=b")
	method := oneOf(w.Rand, "GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
	fmt.Fprintf(&out, "%s %s%s HTTP/1.1\r\nHost: front.example.com\r\nAuthorization: Bearer %s\r\nX-Case: CASE\r\n", method, path, query, servertest.Token)
	if chance(w.Rand, 2) {
		w.user(&out)
	}
	body := oneOf(w.Rand, "", "", "{}", `{"kind":"Thing"}`, strings.Repeat("x", 70_000))
	if chance(w.Rand, 10) {
		body = ""
		out.WriteString(oneOf(w.Rand, "Connection: Upgrade\r\nUpgrade: echo\r\n", "Connection: upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4\r\n",
			"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Key: a\r\n", "Upgrade: echo\r\n"))
	}
	for range w.IntN(5) {
		out.WriteString(oneOf(w.Rand, "Accept: application/json", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io", "Accept: */*", "User-Agent: tester/1", "User-Agent:",
			"Accept-Encoding: gzip", "Accept-Encoding: identity", "X-Custom: 1", "x-custom: 2", "X-Custom:", "Cookie: a=b", "Connection: X-Custom", "Connection: keep-alive",
			"Keep-Alive: 1", "Te: trailers", "Te: gzip", "Proxy-Authorization: Basic eA==", "Proxy-Connection: x", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.1, 192.0.2.2", "X-Forwarded-Host: h",
			"X-Forwarded-Proto: http", "X-Forwarded-Uri: /x", "Forwarded: for=192.0.2.1", "X-Remote-User: mallory", "X-Remote-Group: system:masters", "X-Remote-Uid: 0", "X-Remote-Extra-Scopes: all",
			"x-remote-extra-a: b", "X-Remote-Whatever: 1", "Origin: https://example.com", "If-None-Match: \"x\"", "Range: bytes=0-1", "Audit-Id: mine", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			"Impersonate-Whatever: x", "Content-Type: application/json", "Content-Type: application/apply-patch+yaml", "Via: 1.1 x", "Max-Forwards: 1", "Upgrade-Insecure-Requests: 1", "Warning: 299 - \"x\"") + "\r\n")
	}
	switch {
	case method == "GET" || method == "HEAD" || method == "OPTIONS" || body == "":
		out.WriteString(oneOf(w.Rand, "\r\n", "Content-Length: 0\r\n\r\n"))
	case chance(w.Rand, 2):
		fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	default:
		fmt.Fprintf(&out, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	return out.Bytes()
}

// user writes the impersonation headers of a request.
func (w proxyWriter) user(out *bytes.Buffer) {
	fmt.Fprintf(out, "Impersonate-User: %s\r\n", oneOf(w.Rand, "jane", "jane doe", "j\u00e4ne", "a,b", "%41", "system:serviceaccount:ns:a", "system:anonymous", "<&>"))
	for range w.IntN(3) {
		fmt.Fprintf(out, "Impersonate-Group: %s\r\n", oneOf(w.Rand, "dev", "a, b", "\u00fc", "%20", "system:masters"))
	}
	if chance(w.Rand, 3) {
		fmt.Fprintf(out, "Impersonate-Uid: %s\r\n", oneOf(w.Rand, "7", "a/b c"))
	}
	for range oneOf(w.Rand, 0, 0, 1, 1, 3) {
		fmt.Fprintf(out, "Impersonate-Extra-%s: %s\r\n", oneOf(w.Rand, "scopes", "example.com%2fkey", "a%25b", "%41", "a%20b", "%c3%a9", "a_b", "a%3ab", "a%22b", "a%0ab", "x~y|z", "a%7fb"), oneOf(w.Rand, "v", "", "a, b", "\u00f6", "%zz"))
	}
}

// answer makes up how the server behind answers.
func (w proxyWriter) answer() func(http.ResponseWriter, *http.Request) {
	code := oneOf(w.Rand, 200, 200, 200, 201, 202, 204, 304, 301, 302, 303, 307, 308, 400, 401, 403, 404, 409, 410, 418, 422, 429, 500, 502, 503, 504)
	header := http.Header{"Content-Type": {"application/json"}} // without one, timing decides which server detects a type; kube-aggregator would change HTML
	for range w.IntN(5) {
		pair := oneOf(w.Rand, []string{"Content-Type", "application/yaml"}, []string{"Warning", `299 - "old"`}, []string{"Set-Cookie", "a=b"},
			[]string{"X-Custom", "1"}, []string{"X-Custom", "2"}, []string{"Connection", "close"}, []string{"Access-Control-Allow-Origin", "*"}, []string{"Access-Control-Expose-Headers", "x"},
			[]string{"Audit-Id", "other"}, []string{"Retry-After", "3"}, []string{"Cache-Control", "max-age=9"}, []string{"X-Kubernetes-Pf-Flowschema-Uid", "u"}, []string{"Www-Authenticate", "Basic"},
			[]string{"Server", "s"}, []string{"Etag", `"e"`}, []string{"Vary", "Accept"}, []string{"Strict-Transport-Security", "max-age=1"}, []string{"Keep-Alive", "x"}, []string{"Proxy-Authenticate", "x"},
			[]string{"Upgrade", "h2c"}, []string{"X-Content-Type-Options", "nosniff"}, []string{"Content-Encoding", "br"})
		if pair[0] == "Content-Type" {
			header.Del(pair[0])
		}
		header.Add(pair[0], pair[1])
	}
	if code/100 == 3 && !chance(w.Rand, 4) || chance(w.Rand, 15) {
		header.Set("Location", oneOf(w.Rand, "/apis/"+behindGroup+"/v1/other", "https://elsewhere.example.com/x", "relative", "/", "%zz", "//host/x", "HERE/x", ""))
	}
	body := oneOf(w.Rand, "", "x", "{}", strings.Repeat("y", 100_000))
	stream, trailer, breaks, hangs := chance(w.Rand, 3), chance(w.Rand, 6), chance(w.Rand, 12), chance(w.Rand, 30)
	return func(rw http.ResponseWriter, r *http.Request) {
		if hangs {
			panic(http.ErrAbortHandler)
		}
		if to := r.Header.Get("Upgrade"); to != "" && code/100 == 2 {
			echo(rw, to)
			return
		}
		for name, values := range header {
			rw.Header()[name] = values
			if name == "Location" {
				rw.Header().Set(name, strings.ReplaceAll(values[0], "HERE", "https://"+r.Host))
			}
		}
		if trailer {
			rw.Header().Set("Trailer", "X-Last")
		}
		rw.WriteHeader(code)
		if code == http.StatusNoContent || code == http.StatusNotModified {
			return
		}
		if stream {
			rw.(http.Flusher).Flush()
		}
		io.WriteString(rw, body)
		if breaks {
			rw.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if trailer {
			rw.Header().Set("X-Last", "yes")
		}
	}
}

// echo switches to a protocol in which the server behind says a line back, and hangs up.
func echo(w http.ResponseWriter, protocol string) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Stream-Protocol-Version: v4\r\n\r\n", protocol)
	rw.Flush()
	line, _ := rw.ReadString('\n')
	fmt.Fprintf(conn, "you said %q", line)
}

// TestAggregatorProxy sends made-up requests through kube-aggregator and through Coracle to one
// server behind both, which answers in made-up ways. It compares the requests that the server gets
// and the answers that clients get.
func TestAggregatorProxy(t *testing.T) {
	b := newBehind(t)
	ours, theirs := ourAggregator(t, b), theirAggregator(t, b)
	log.SetOutput(io.Discard) // kube-aggregator logs answers that break off
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	w := proxyWriter{random("aggregator proxy")}
	found := map[string]int{}
	codes := map[string]int{}
	for i := range times(1000) {
		request, tell := w.request(), w.answer()
		us, them := fmt.Sprint("o-", i), fmt.Sprint("t-", i)
		got, want := b.pass(t, ours, us, request, tell), b.pass(t, theirs, them, request, tell)
		codes[cmp.Or(want.Told.Status, "none")]++
		if diff := proxyDifference(got.text(us), want.text(them)); diff != "" {
			if found[diff]++; found[diff] == 1 {
				t.Errorf("%.1500q\n%s", request, diff)
			}
		}
	}
	t.Logf("answers: %v", codes)
	for diff, n := range found {
		if n > 1 {
			t.Errorf("%d times: %s", n, diff)
		}
	}
}

// proxyDifference returns the lines that only one side has.
func proxyDifference(got, want string) string {
	var out strings.Builder
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, line := range b {
		if !slices.Contains(a, line) {
			fmt.Fprintf(&out, "missing %s\n", line)
		}
	}
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Fprintf(&out, "extra   %s\n", line)
		}
	}
	return out.String()
}
