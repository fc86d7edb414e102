package server_test

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// newStrict returns a server that refuses all requests of strangers.
func newStrict(tb testing.TB) *inProcess {
	tb.Helper()
	s, err := servertest.New(tb, server.Config{
		Storage: server.StorageConfig{Engine: server.StorageMemory}, DataDir: tb.TempDir(), Serving: server.ServingConfig{
			SecurePort: server.NoPort, HTTPPort: server.AnyPort, CORSOrigins: []string{`^https?://([a-z]+\.)*example\.com$`},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &inProcess{&handled{Server: s, TB: tb}}
}

// refusal has the cost of one refusal.
type refusal struct {
	code, size    int    // of the answer
	bytes, allocs uint64 // allocated
}

// refuse sends a request up to 50 times, until enough accepts the cheapest refusal so far, and
// returns the cheapest. Single refusals may cost more, because pools are emptied and other
// goroutines allocate at the same time. With one processor they seldom do.
func (p *inProcess) refuse(request func() *http.Request, enough func(refusal) bool) (least refusal) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	for i := range 50 {
		r, w := request(), &sink{header: http.Header{}}
		runtime.ReadMemStats(&before)
		p.Handler().ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		one := refusal{w.code, w.size, after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
		if i == 0 || one.bytes < least.bytes {
			least = one
		}
		if enough(least) {
			return least
		}
	}
	return least
}

// nastyRequests are requests of strangers. Each has a part of any length, which repeats a piece. In
// a piece, %d is a number that grows.
var nastyRequests = []struct {
	name, method, target string // %s stands for the part
	header               string // the part is the value of this header, if target has no %s
	pieces               []string
}{
	{"path", "GET", "/%s", "", []string{"a", "<", "/", "a/", "\x01", "\xff", "é", `"`, "\u2028", "%", "../"}},
	{"namespace", "GET", "/api/v1/namespaces/%s/pods", "", []string{"a", "<", "\x01"}},
	{"resource", "GET", "/api/v1/%s", "", []string{"a", "<", "\xff", "/"}},
	{"group", "GET", "/apis/%s/v1/things", "", []string{"a", "&"}},
	{"name", "DELETE", "/api/v1/nodes/%s", "", []string{"a", "<"}},
	{"subresource", "GET", "/api/v1/nodes/a/%s", "", []string{"a", "<", "a/"}},
	{"all of it", "GET", "/apis/%s/%s/namespaces/%s/%s/%s/%s", "", []string{"<", "\x01"}},
	{"old watch", "GET", "/api/v1/watch?%s", "", []string{"<", "a&"}},
	{"proxy", "GET", "/api/v1/proxy/nodes/a/%s", "", []string{"/a"}},
	{"selected name", "GET", "/api/v1/pods?fieldSelector=metadata.name%%3D%s", "", []string{"a", "<", ",", "%41", "=", `\`}},
	{"selectors", "GET", "/api/v1/pods?fieldSelector=metadata.name%s&labelSelector=%s", "", []string{",a!", "(", "a,", "%2C"}},
	{"query", "GET", "/?%s", "", []string{"a&", "&", "%41=%41&", "a=b&", "a%d&", ";", "%", "+", "watch&", "pretty&", "pretty=1&"}},
	{"many of a parameter", "DELETE", "/api/v1/pods?%s", "", []string{"dryRun=All&", "dryRu%6e=A&", "timeout&", "labelSelector=a&"}},
	{"timeout", "GET", "/api/v1/pods?timeout=%s", "", []string{"1", "1ns", "<", ".", "-", "%41"}},
	{"method", "%s", "/", "", []string{"A", "a"}},
	{"accept", "GET", "/", "Accept", []string{"application/json;a%d=1,", ";a%d=1", ";", ",", "a/b,", "*/*;q=x,", "application/yaml,", "q=1;", "="}},
	{"yaml", "GET", "/%s", "Accept: application/yaml", []string{"a", "<", "\x01", "é"}},
	{"protobuf", "GET", "/%s", "Accept: application/vnd.kubernetes.protobuf", []string{"<", "\x01"}},
	{"pretty", "GET", "/%s", "User-Agent: curl/8", []string{"<", "\x01"}},
	{"credentials", "GET", "/", "Authorization", []string{"Bearer ", "Bearer x", "x", " ", "Basic YTpi"}},
	{"encoding", "GET", "/", "Accept-Encoding", []string{"gzip,", ",", "gzip;q=1,"}},
	{"content type", "POST", "/api/v1/pods", "Content-Type", []string{"application/json;a%d=1", ";", "a*0=b;", "application/apply-patch+"}},
	{"origin", "GET", "/", "Origin", []string{"https://a.", "a", "example.com"}},
	{"agent", "GET", "/", "User-Agent", []string{"curl", "<"}},
	{"id", "GET", "/", "Audit-Id", []string{"<", "a"}},
	{"other", "GET", "/", "X-Forwarded-For", []string{"1.2.3.4,", ","}},
	{"old self", "GET", "/", "Impersonate-User", []string{"a"}},
}

// TestRefusalsBounded: the cost of a refusal does not grow with the request. A part of 64 KiB costs
// what a part of 4 KiB costs, apart from the parameters of a query.
func TestRefusalsBounded(t *testing.T) {
	p := newStrict(t)
	for _, tt := range nastyRequests {
		for _, piece := range tt.pieces {
			request := func(size int) func() *http.Request {
				return func() *http.Request { return p.nasty(tt.method, tt.target, tt.header, repeated(piece, size)) }
			}
			tries := 0
			small := p.refuse(request(4<<10), func(refusal) bool { tries++; return tries > 2 })
			for _, size := range []int{10, 1 << 10, 16 << 10, 64 << 10} {
				enough := func(r refusal) bool {
					return r.size <= 40<<10 && r.bytes <= min(small.bytes+2*uint64(size)+16<<10, maxRefusal) && r.allocs <= small.allocs+16
				}
				got := p.refuse(request(size), enough)
				if got.code < 400 {
					t.Errorf("%s %q to %d bytes: got %d, want a refusal", tt.name, piece, size, got.code)
				}
				if !enough(got) {
					t.Errorf("%s %q to %d bytes: got an answer of %d bytes, for %d bytes in %d allocs, want no more than for 4 KiB: %d in %d",
						tt.name, piece, size, got.size, got.bytes, got.allocs, small.bytes, small.allocs)
				}
			}
		}
	}
}

// repeated repeats piece until the text has size bytes.
func repeated(piece string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.ReplaceAll(piece, "%d", strconv.Itoa(i)))
	}
	return b.String()
}

// nasty returns a request with a part.
func (p *inProcess) nasty(method, target, header, part string) *http.Request {
	fill := func(s string) string {
		n := max(1, strings.Count(s, "%s"))
		return strings.ReplaceAll(strings.ReplaceAll(s, "%s", part[:len(part)/n]), "%%", "%")
	}
	r := p.request(fill(method), "/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = fill(path), fill(query)
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	} else if header != "" {
		r.Header.Set(header, part)
	}
	return r
}

// TestRefusalAllocs: a refusal costs few allocations, because a server may get millions of them in
// an hour.
func TestRefusalAllocs(t *testing.T) {
	p := newStrict(measured{t})
	for _, tt := range []struct {
		name, target  string
		header        []string
		code          int
		bytes, allocs uint64
	}{
		{"403", "/api/v1/namespaces/ns/pods", nil, 403, 4 << 10, 16},
		{"403 of a path", "/x", nil, 403, 4 << 10, 15},
		{"401", "/api/v1/pods", []string{"Authorization", "Bearer x"}, 401, 4 << 10, 20},
		{"400", "/api/v1/pods?%", nil, 400, 4 << 10, 18},
	} {
		enough := func(r refusal) bool { return r.code == tt.code && r.bytes <= tt.bytes && r.allocs <= tt.allocs }
		if got := p.refuse(func() *http.Request { return p.request("GET", tt.target, nil, tt.header...) }, enough); !enough(got) {
			t.Errorf("%s: got %+v, want %d for at most %d bytes in %d allocs", tt.name, got, tt.code, tt.bytes, tt.allocs)
		}
	}
}

// FuzzRefusal sends any path, query and header, of any length, as a stranger. Each request is
// refused within bounds.
func FuzzRefusal(f *testing.F) {
	for _, tt := range nastyRequests {
		for _, piece := range tt.pieces {
			name, value, _ := strings.Cut(tt.header, ": ")
			f.Add(tt.method, tt.target, name, value, piece, uint16(2000))
		}
	}
	strict := newStrict(f)
	f.Fuzz(func(t *testing.T, method, target, name, value, piece string, times uint16) {
		p := &inProcess{&handled{Server: strict.Server, TB: t}}
		part := strings.Repeat(piece, min(int(times), maxHeader/max(1, len(piece))))
		header := name
		if value != "" {
			header += ": " + value
		}
		if len(method)+len(target)+len(header) > 1<<10 || strings.Count(target, "%s") > 6 {
			return
		}
		enough := func(r refusal) bool { return r.size <= 40<<10 && r.bytes <= maxRefusal }
		if got := p.refuse(func() *http.Request { return p.nasty(method, target, header, part) }, enough); !enough(got) {
			t.Errorf("%.80q %.80q %.80q with %d times %.80q: got %+v, want an answer of at most 40 KiB for at most %d bytes",
				method, target, header, times, piece, got, maxRefusal)
		}
	})
}

// maxHeader is the largest length of a header, maxRefusal the largest allocation of a refusal, in
// bytes.
const (
	maxHeader  = 64 << 10
	maxRefusal = 256 << 10
)

// TestErrorsAreShort: the errors about a query or a name are short for authenticated users, too.
func TestErrorsAreShort(t *testing.T) {
	p := newInProcess(t)
	for _, target := range []string{
		maps + "?labelSelector=%s", maps + "?fieldSelector=%s", maps + "?fieldSelector=a%%3D%s", maps + "?fieldSelector=%s%%3Da",
		maps + "?limit=%s", maps + "?timeout=%s", maps + "?timeoutSeconds=%s", maps + "?continue=%s", maps + "?resourceVersion=%s", maps + "/c?resourceVersion=%s",
		maps + "/%s", "/api/v1/namespaces/%s/configmaps/c", "/api/v1/namespaces/ns/%s", "/apis/%s/v1/x", "/api/v1/watch?%s", "/%s", maps + "?%%zz%s",
	} {
		for _, piece := range []string{"<", "\xff", "!", "%3C"} {
			for _, method := range []string{"GET", "DELETE", "PUT"} {
				r := p.nasty(method, target, "", repeated(piece, 60<<10))
				if w := p.serve(r); w.Code >= 400 && w.Body.Len() > 8<<10 {
					t.Errorf("%s %s of %q: got %d and %d bytes: %.300s", method, target, piece, w.Code, w.Body.Len(), w.Body)
				}
			}
		}
	}
}

// TestHealthExclusions: a request for a health check may exclude any number of checks.
func TestHealthExclusions(t *testing.T) {
	p := newInProcess(t)
	if code, body := p.do("GET", "/livez?verbose&exclude=ping&exclude=ping&exclude=x&exclude=a&exclude=x", ""); !strings.Contains(body, "[+]ping excluded: ok\n") || !strings.Contains(body, `no matches for "a","x"`+"\n") {
		t.Errorf("got %d %s", code, body)
	}
	for _, query := range []string{repeated("exclude=ping&", 64<<10), repeated("exclude=%d&", 64<<10), "exclude=" + repeated("<", 64<<10)} {
		enough := func(r refusal) bool { return r.bytes <= 1<<20 && r.size <= 4<<10 }
		if got := p.refuse(func() *http.Request { return p.request("GET", "/livez?verbose&"+query, nil) }, enough); !enough(got) {
			t.Errorf("?%.40s: got %+v, want a short answer for at most 1 MiB", query, got)
		}
	}
}
