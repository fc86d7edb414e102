package request

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// checkQuery compares a Query with url.ParseQuery.
func checkQuery(t *testing.T, raw string, names ...string) {
	t.Helper()
	want, wantErr := url.ParseQuery(raw)
	var got Query
	err := got.parse(raw)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("parse(%.80q): got %v, want %v", raw, err, wantErr)
	}
	if err != nil {
		want = nil
	}
	for name := range want {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		value, ok := got.Lookup(name)
		if all := got.All(name); !slices.Equal(all, want[name]) || value != want.Get(name) || ok != want.Has(name) || got.Get(name) != value {
			t.Errorf("%.80q: %.20q: got %q, %v, %.80q, want %.80q", raw, name, value, ok, all, want[name])
		}
	}
}

func TestQuery(t *testing.T) {
	for _, raw := range []string{
		"", "watch", "watch=", "watch=1", "%77atch=1", "a%39=1", "%6A%6f=1", "=", "=watch", "&", "&&watch&&", "watch&watch=2&watch=3", "a=b&watch=%31", "wat%63h", "wat%63h=+", "+watch", "w%20atch=1",
		"w+atch=a%20b+c", "watch==1=2", "watch%3D1", "watch=1;a", "watch=%", "watch=%3", "wat%3=h", "watch=%zz", "%=watch", "watch=%26%3d%3b",
		"a=b", "a%3Db=c", "a=1&b=2&c=3&d=4&e=5&f=6&g=7&watch=8", "a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&watch=9&watch=10",
		strings.Repeat("&", maxParams-1), strings.Repeat("&", maxParams), strings.Repeat("a&", maxParams-1) + "watch", strings.Repeat("a&", maxParams) + "watch",
	} {
		checkQuery(t, raw, "watch", "w atch", " watch", "a", "a=b")
	}
	for c := range 256 { // as either digit of an escape
		checkQuery(t, "watch=%"+string([]byte{byte(c)})+"1")
		checkQuery(t, "watch=%1"+string([]byte{byte(c)}))
	}
	for name, raw := range map[string]bool{"": true, "=": false} {
		var q Query
		if err := q.parse(name); err != nil || q.Empty() != raw {
			t.Errorf("%q: Empty is %v, %v", name, q.Empty(), err)
		}
	}
}

func TestQueryBool(t *testing.T) {
	for raw, want := range map[string]bool{
		"": false, "watch": true, "watch=": true, "watch=1": true, "watch=no": true, "watch=0": false, "watch=False": false, "watch=0&watch=1": false,
	} {
		var q Query
		err := q.parse(raw)
		if got := q.Bool("watch"); got != want || err != nil {
			t.Errorf("Bool of %q: got %v, %v, want %v", raw, got, err, want)
		}
	}
}

// TestQueryOf: outside of the chain, QueryOf gives the same answers as inside.
func TestQueryOf(t *testing.T) {
	r := httptest.NewRequest("GET", "/?pretty=1", nil)
	if got := QueryOf(r).Get("pretty"); got != "1" {
		t.Errorf("without an Info: got %q, want 1", got)
	}
	info := &Info{}
	if err := Parse(r, info); err != nil {
		t.Fatal(err)
	}
	if got := QueryOf(r.WithContext(NewContext(r.Context(), info))); got != &info.Query {
		t.Error("with an Info: got another query than the Info's")
	}
	r.URL.RawQuery = "pretty=1;"
	if got := QueryOf(r).Get("pretty"); got != "" {
		t.Errorf("of a query that is refused: got %q, want nothing", got)
	}
}

// TestQueryAllocs: the cost of a query is bounded by its length, and is nothing up to fewParams
// parameters.
func TestQueryAllocs(t *testing.T) {
	ask := func(q *Query) {
		for _, name := range []string{"watch", "labelSelector", "fieldSelector", "timeout", "pretty", "dryRun"} {
			q.Get(name)
		}
	}
	for _, tt := range []struct {
		raw  string
		want float64
	}{
		{"", 0},
		{"allowWatchBookmarks=true&labelSelector=a&resourceVersion=7&timeout=9m&timeoutSeconds=540&watch=true", 0},
		{strings.Repeat("a&", fewParams-1) + "a", 0},
		{"labelSelector=a%3Db", 1},
		{strings.Repeat("a&", maxParams-1), 1},
		{strings.Repeat("%41=%41&", maxParams-1), 1},
		{strings.Repeat("watc%68=%41&", maxParams-1), 2}, // the first parameter is watch, and its value has an escape
	} {
		if got := testing.AllocsPerRun(10, func() {
			var q Query
			if err := q.parse(tt.raw); err != nil {
				t.Fatal(err)
			}
			ask(&q)
		}); got > tt.want {
			t.Errorf("%.40q (%d bytes): got %v allocs, want at most %v", tt.raw, len(tt.raw), got, tt.want)
		}
	}
}

// FuzzQuery compares queries with net/url, and authorization's view with the list's.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "watch=1", "a=b&watch=%31", "wat%63h", "watch=a;b&watch=c", "watch=%zz&watch=+", "&&watch&", "=watch",
		"fieldSelector=metadata.name%3Dx&labelSelector=a+in+(b)", "fieldSelecto%72=metadata.name=x&dryRun=All&d%72yRun=", strings.Repeat("a&", 12) + "limit=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		checkQuery(t, query, "watch", "dryRun", "fieldSelector", "labelSelector")
		r := httptest.NewRequest("GET", "/api/v1/pods", nil)
		r.URL.RawQuery = query
		var info Info
		if Parse(r, &info) != nil {
			return
		}
		seen := info.Attributes
		want, _ := url.ParseQuery(query)
		if seen.FieldSelector != want.Get("fieldSelector") || seen.LabelSelector != want.Get("labelSelector") {
			t.Errorf("%q: authorization sees the selectors %q and %q", query, seen.FieldSelector, seen.LabelSelector)
		}
		if listed, err := meta.ParseFields(info.Query.Get("fieldSelector")); seen.Name != "" {
			if name, ok := listed.RequiresExact("metadata.name"); err != nil || !ok || name != seen.Name {
				t.Errorf("%q: authorization sees the name %q, the list %q", query, seen.Name, name)
			}
		}
	})
}

func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{5, 8, 9, 100, maxParams} {
		raw := strings.TrimSuffix(strings.Repeat("a=b&", n), "&")
		b.Run(fmt.Sprintf("parameters=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var q Query
				if err := q.parse(raw); err != nil || q.Get("watch") != "" {
					b.Fatal(err)
				}
			}
		})
	}
}
