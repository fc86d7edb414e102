package request

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

func parse(t testing.TB, method, target string) *Info {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	info := new(Info)
	if err := Parse(r, info); err != nil {
		t.Fatalf("Parse(%s %s): %v", method, target, err)
	}
	return info
}

// TestParse gives each wanted Info as
// verb|prefix|group|version|namespace|resource|subresource|name.
func TestParse(t *testing.T) {
	for _, tt := range []struct{ method, target, want string }{
		// resources
		{"GET", "/api/v1/namespaces/other/pods", "list|api||v1|other|pods||"},
		{"GET", "/api/v1/namespaces/other/pods/", "list|api||v1|other|pods||"},
		{"GET", "//api/v1/namespaces/other/pods//", "list|api||v1|other|pods||"},
		{"GET", "/api/v1/namespaces/other/pods/foo", "get|api||v1|other|pods||foo"},
		{"HEAD", "/api/v1/namespaces/other/pods/foo", "get|api||v1|other|pods||foo"},
		{"HEAD", "/api/v1/namespaces/other/pods", "list|api||v1|other|pods||"},
		{"GET", "/api/v1/pods", "list|api||v1||pods||"},
		{"POST", "/api/v1/pods", "create|api||v1||pods||"},
		{"POST", "/api/v1/namespaces/other/pods/foo/eviction", "create|api||v1|other|pods|eviction|foo"},
		{"PUT", "/api/v1/namespaces/other/pods/foo", "update|api||v1|other|pods||foo"},
		{"PATCH", "/api/v1/namespaces/other/pods/foo", "patch|api||v1|other|pods||foo"},
		{"DELETE", "/api/v1/namespaces/other/pods/foo", "delete|api||v1|other|pods||foo"},
		{"DELETE", "/api/v1/namespaces/other/pods", "deletecollection|api||v1|other|pods||"},
		{"OPTIONS", "/api/v1/namespaces/other/pods", "|api||v1|other|pods||"},
		{"FOO", "/api/v1/namespaces/other/pods/foo", "|api||v1|other|pods||foo"},
		{"GET", "/apis/apps/v1/namespaces/other/deployments/d/scale", "get|apis|apps|v1|other|deployments|scale|d"},
		{"GET", "/apis/apps/v1/deployments", "list|apis|apps|v1||deployments||"},
		{"GET", "/apis/batch/v1/namespaces/n/jobs/j/status/x/y", "get|apis|batch|v1|n|jobs|status|j"},
		// namespaces
		{"GET", "/api/v1/namespaces", "list|api||v1||namespaces||"},
		{"GET", "/api/v1/namespaces/other", "get|api||v1|other|namespaces||other"},
		{"PUT", "/api/v1/namespaces/other/finalize", "update|api||v1|other|namespaces|finalize|other"},
		{"PATCH", "/api/v1/namespaces/other/status", "patch|api||v1|other|namespaces|status|other"},
		{"GET", "/api/v1/namespaces/other/status/x", "get|api||v1|other|namespaces|status|other"},
		{"DELETE", "/api/v1/namespaces", "deletecollection|api||v1||namespaces||"},
		// old verbs in the path
		{"GET", "/api/v1/watch/pods", "watch|api||v1||pods||"},
		{"GET", "/api/v1/watch/namespaces/other/pods", "watch|api||v1|other|pods||"},
		{"GET", "/api/v1/watch/namespaces/other/pods/p", "watch|api||v1|other|pods||p"},
		{"GET", "/apis/apps/v1/watch/namespaces/other", "watch|apis|apps|v1|other|namespaces||other"},
		{"GET", "/api/v1/proxy/namespaces/other/pods/foo/status", "proxy|api||v1|other|pods||foo"},
		{"GET", "/api/v1/proxy/nodes/n", "proxy|api||v1||nodes||n"},
		{"GET", "/api/v1/namespaces/other/pods/foo/proxy/a/b", "get|api||v1|other|pods|proxy|foo"},
		// queries
		{"GET", "/api/v1/pods?watch=true", "watch|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=1", "watch|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=maybe", "watch|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch", "watch|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=", "watch|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=0", "list|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=False", "list|api||v1||pods||"},
		{"GET", "/api/v1/pods?watch=false&watch=true", "list|api||v1||pods||"},
		{"GET", "/api/v1/namespaces/n/pods/p?watch=true", "get|api||v1|n|pods||p"},
		{"POST", "/api/v1/namespaces/n/pods?watch=true", "create|api||v1|n|pods||"},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dx", "list|api||v1||pods||x"},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name=x&watch=1", "watch|api||v1||pods||x"},
		{"GET", "/api/v1/pods?fieldSelector=a=b,metadata.name==x", "list|api||v1||pods||x"},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name!=x", "list|api||v1||pods||"},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name=a/b", "list|api||v1||pods||"},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name=x,bad", "list|api||v1||pods||"},
		{"DELETE", "/api/v1/pods?fieldSelector=metadata.name=x", "deletecollection|api||v1||pods||"},
		// escapes and empty pieces
		{"GET", "/api/v1/namespaces/n/configmaps/a%2Fb", "get|api||v1|n|configmaps|b|a"},
		{"GET", "/api/v1/namespaces/n/configmaps/..%2f", "get|api||v1|n|configmaps||.."},
		{"GET", "/api/v1/namespaces/n/configmaps/a%20b", "get|api||v1|n|configmaps||a b"},
		{"GET", "/api/v1//x", "get|api||v1||||x"},
		{"GET", "/api/v1/namespaces//pods", "list|api||v1||pods||"},
		// no resources
		{"GET", "/", "get|||||||"},
		{"GET", "/api", "get|||||||"},
		{"GET", "/api/v1", "get|||||||"},
		{"GET", "/apis", "get|||||||"},
		{"GET", "/apis/apps", "get|||||||"},
		{"GET", "/apis/apps/v1", "get|apis||||||"},
		{"POST", "/healthz", "post|||||||"},
		{"DELETE", "/a/b/c/d", "delete|||||||"},
		{"TRACE", "/x", "trace|||||||"},
	} {
		i := parse(t, tt.method, tt.target)
		got := strings.Join([]string{i.Verb, i.APIPrefix, i.Group, i.Version, i.Namespace, i.Resource, i.Subresource, i.Name}, "|")
		if got != tt.want {
			t.Errorf("Parse(%s %s): got %q, want %q", tt.method, tt.target, got, tt.want)
		}
		if want := i.Version != ""; i.IsResource != want {
			t.Errorf("Parse(%s %s): IsResource: got %v, want %v", tt.method, tt.target, i.IsResource, want)
		}
	}
}

// TestParseInNamespace distinguishes resources inside a namespace, even one with an empty name,
// from all others, including the namespace itself.
func TestParseInNamespace(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/namespaces/n/pods":             true,
		"/api/v1/namespaces/n/pods/p/log":       true,
		"/api/v1/namespaces//pods":              true,
		"/api/v1/watch/namespaces/n/pods":       true,
		"/apis/apps/v1/namespaces/n/statuses/s": true,
		"/api/v1/pods":                          false,
		"/api/v1/nodes/n":                       false,
		"/api/v1/namespaces":                    false,
		"/api/v1/namespaces/n":                  false,
		"/api/v1/namespaces/n/status":           false,
		"/api/v1/namespaces/n/finalize":         false,
		"/healthz":                              false,
	} {
		if i := parse(t, "GET", path); i.InNamespace != want {
			t.Errorf("Parse(%s): InNamespace: got %v, want %v", path, i.InNamespace, want)
		}
	}
}

func TestParseSelectors(t *testing.T) {
	i := parse(t, "GET", "/api/v1/pods?labelSelector=a+in+(b,c)&fieldSelector=spec.nodeName%3Dn&limit=2")
	if i.LabelSelector != "a in (b,c)" || i.FieldSelector != "spec.nodeName=n" {
		t.Errorf("selectors: got %q and %q", i.LabelSelector, i.FieldSelector)
	}
	i = parse(t, "GET", "/api/v1/namespaces/n/pods/p?labelSelector=a")
	if i.LabelSelector != "" {
		t.Errorf("LabelSelector of a get: got %q, want none", i.LabelSelector)
	}
}

// TestParseLongSelector: a name is searched in selectors of up to maxNaming bytes.
func TestParseLongSelector(t *testing.T) {
	const name = "metadata.name=a,x="
	for length, want := range map[int]string{maxNaming: "a", maxNaming + 1: ""} {
		i := parse(t, "GET", "/api/v1/pods?fieldSelector="+url.QueryEscape(name+strings.Repeat("x", length-len(name))))
		if i.Name != want || len(i.FieldSelector) != length {
			t.Errorf("%d bytes: got the name %q of %d bytes, want %q", length, i.Name, len(i.FieldSelector), want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	long := strings.Repeat("a", 60_000)
	for _, tt := range []struct {
		target string
		code   int32  // of a Status; 0 for a PlainError
		want   string // how the message begins
	}{
		{"/api/v1/watch", 0, "failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch"},
		{"/api/v1/proxy/", 0, "failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/proxy/"},
		{"/apis/apps/v1/watch?" + long, 0, "failed to create RequestInfo: unable to determine kind and namespace from url, /apis/apps/v1/watch?aaa"},
		{"/api/v1/pods?dryRun=All;force=1", 400, "unable to parse the query: invalid semicolon separator in query"},
		{"/api/v1/pods?labelSelector=a%", 400, `unable to parse the query: invalid URL escape "%"`},
		{"/healthz?%zz" + long, 400, `unable to parse the query: invalid URL escape "%zz"`},
		{"/api/v1/pods?" + strings.Repeat("&", maxParams), 400, "unable to parse the query: number of URL query parameters exceeded limit"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(tt.target, "?")
		err, code := Parse(r, new(Info)), int32(-1)
		switch e := err.(type) {
		case PlainError:
			code = 0
		case *meta.StatusError:
			code = e.Status.Code
		}
		if code != tt.code || !strings.HasPrefix(err.Error(), tt.want) || len(err.Error()) > 2<<10 {
			t.Errorf("Parse(%.80s): got %.2000v, want %d %s", tt.target, err, tt.code, tt.want)
		}
	}
}

func TestParseLongPath(t *testing.T) {
	i := parse(t, "GET", "/api/v1/namespaces/n/pods/p/proxy/"+strings.Repeat("a/", 1<<16))
	if got := len(i.Parts); got > maxParts {
		t.Errorf("len(Parts): got %d, want at most %d", got, maxParts)
	}
	if want := strings.TrimSuffix(strings.Repeat("a/", 1<<16), "/"); !slices.Equal(i.Parts, []string{"pods", "p", "proxy", want}) {
		t.Errorf("Parts: got %.20q", i.Parts)
	}
}

// TestParseName: the name that a field selector requires is the one that is authorized.
func TestParseName(t *testing.T) {
	for _, tt := range []struct{ selector, want string }{
		{"", ""},
		{"metadata.name=a", "a"},
		{"metadata.name==a", "a"},
		{"metadata.name=", ""},
		{"metadata.name=b,metadata.name=a", "a"},
		{"metadata.name=x,,", "x"},
		{`metadata.name=a\,b`, "a,b"},
		{`metadata.name=a\\`, `a\`},
		{"metadata.name=\xff\\\\", "\ufffd\\"}, // as the list reads it
		{`metadata.name=a\b`, ""},
		{`metadata.name=a\`, ""},
		{"metadata.name=a=b", ""},
		{"metadata.name=a/b", ""},
		{"metadata.name=..", ""},
		{"metadata.name", ""},
		{"metadata.name!=a", ""},
		{"metadata.names=a", ""},
		{" metadata.name=a", ""},
	} {
		for _, watch := range []string{"", "&watch=1"} {
			if i := parse(t, "GET", "/api/v1/pods?fieldSelector="+url.QueryEscape(tt.selector)+watch); i.Name != tt.want {
				t.Errorf("name of %q%s: got %q, want %q", tt.selector, watch, i.Name, tt.want)
			}
		}
	}
}

// FuzzParse compares Parse with a plain implementation that splits the whole path.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"/api/v1/namespaces/n/pods/p/log", "/apis/apps/v1/watch/deployments", "/api/v1/proxy", "//api//v1//", "/api/v1/namespaces/n/status/x/y/z/a/b/c"} {
		f.Add("GET", s, "watch=1&fieldSelector=metadata.name%3Dx")
		f.Add("DELETE", s, "")
	}
	f.Fuzz(func(t *testing.T, method, path, query string) {
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}}
		var got Info
		err := Parse(r, &got)
		want, wantErr := plain(r)
		if _, queryErr := url.ParseQuery(query); (err != nil) != (wantErr || queryErr != nil) {
			t.Fatalf("Parse(%q): got error %v, want one: %v", path, err, wantErr)
		}
		if err != nil {
			return
		}
		if got.Verb != want.Verb || got.Group != want.Group || got.Version != want.Version || got.Namespace != want.Namespace ||
			got.Resource != want.Resource || got.Subresource != want.Subresource || got.IsResource != want.IsResource {
			t.Errorf("Parse(%s %q ?%q): got %+v, want %+v", method, path, query, &got, want)
		}
		if strings.Join(got.Parts, "/") != strings.Join(want.Parts, "/") {
			t.Errorf("Parse(%q): Parts: got %q, want %q", path, got.Parts, want.Parts)
		}
	})
}

func plain(r *http.Request) (i *Info, failed bool) {
	i = new(Info)
	i.Verb = strings.ToLower(r.Method)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		i.Group, parts = parts[1], parts[2:]
	default:
		return i, false
	}
	i.IsResource, i.Version, parts = true, parts[0], parts[1:]
	byPath := false
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) == 1 {
			return i, true
		}
		i.Verb, parts, byPath = parts[0], parts[1:], true
	} else {
		i.Verb = map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		i.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	i.Parts, i.Resource = parts, parts[0]
	if len(parts) > 2 && i.Verb != "proxy" {
		i.Subresource = parts[2]
	}
	if len(parts) > 1 && parts[1] != "" || byPath {
		return i, false
	}
	switch i.Verb {
	case "get":
		i.Verb = "list"
		q, _ := url.ParseQuery(r.URL.RawQuery)
		if v, ok := q["watch"]; ok && v[0] != "0" && !strings.EqualFold(v[0], "false") {
			i.Verb = "watch"
		}
	case "delete":
		i.Verb = "deletecollection"
	}
	return i, false
}

func TestParseAllocs(t *testing.T) {
	for _, target := range []string{
		"/api/v1/namespaces/n/configmaps/c",
		"/apis/apps/v1/namespaces/n/deployments?watch=true&resourceVersion=7&labelSelector=a",
		"/healthz",
	} {
		r := httptest.NewRequest("GET", target, nil)
		info := new(Info)
		if got := testing.AllocsPerRun(1000, func() {
			*info = Info{}
			if err := Parse(r, info); err != nil {
				t.Fatal(err)
			}
		}); got > 0 {
			t.Errorf("Parse(%s): got %v allocs, want 0", target, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, target := range map[string]string{
		"get":   "/api/v1/namespaces/n/configmaps/c",
		"watch": "/apis/apps/v1/namespaces/n/deployments?watch=true&resourceVersion=7&labelSelector=a",
	} {
		r := httptest.NewRequest("GET", target, nil)
		b.Run("verb="+name, func(b *testing.B) {
			b.ReportAllocs()
			info := new(Info)
			for b.Loop() {
				*info = Info{}
				if err := Parse(r, info); err != nil || info.Verb != name {
					b.Fatal(info.Verb, err)
				}
			}
		})
	}
}

// FuzzPath: parsing a path of any length allocates nothing, except for an error.
func FuzzPath(f *testing.F) {
	for _, piece := range []string{"/", "a/", "namespaces/", "watch/", "<", "../", "%2f"} {
		f.Add("/api/v1/", piece, uint16(1000))
		f.Add("/apis/g/v1/watch/namespaces/n/", piece, uint16(1000))
		f.Add("", piece, uint16(60_000))
	}
	f.Fuzz(func(t *testing.T, head, piece string, times uint16) {
		path := head + strings.Repeat(piece, min(int(times), 64<<10/max(1, len(piece))))
		r := &http.Request{Method: "GET", URL: &url.URL{Path: path}}
		var got Info
		err := Parse(r, &got)
		want, failed := plain(r)
		if (err != nil) != failed || err == nil && (got.Resource != want.Resource || got.Verb != want.Verb || got.Subresource != want.Subresource) {
			t.Errorf("Parse(%.80q): got %s %.40q/%.40q, %v, want %s %.40q/%.40q", path,
				got.Verb, got.Resource, got.Subresource, err, want.Verb, want.Resource, want.Subresource)
		}
		limit := 0.0
		if failed {
			limit = 40
		}
		if allocs := testing.AllocsPerRun(1, func() {
			got = Info{}
			_ = Parse(r, &got)
		}); allocs > limit {
			t.Errorf("Parse(%.80q) of %d bytes: got %v allocs, want at most %v", path, len(path), allocs, limit)
		}
	})
}
