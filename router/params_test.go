package router

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// checkOneAnswer compares how authorization and the handlers understand a query.
func checkOneAnswer(t *testing.T, query string) {
	t.Helper()
	e := newEndpoint(testConfig(t), meta.GroupVersion{Version: "v1"}, &Resource{Description: meta.Description{Name: "configmaps"}, Encoder: encoder{}})
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		r := httptest.NewRequest(method, maps, nil)
		r.URL.RawQuery = query
		info := &request.Info{}
		if request.Parse(r, info) != nil {
			continue // the request is refused
		}
		seen := info.Attributes
		list, _, err := e.listRequest(info)
		if err != nil {
			continue
		}
		labels, labelErr := meta.ParseLabels(seen.LabelSelector)
		fields, fieldErr := meta.ParseFields(seen.FieldSelector)
		if labelErr != nil || labels.String() != list.Labels.String() || fieldErr != nil || !slices.Equal(fields, list.Fields) {
			t.Errorf("%s ?%.80s: authorization sees %+v, the list selects %v and %v", method, query, seen, list.Labels, list.Fields)
		}
		if name, ok := list.Fields.RequiresExact("metadata.name"); seen.Name != "" && (!ok || name != seen.Name) {
			t.Errorf("%s ?%.80s: authorization sees %q, the list selects %q", method, query, seen.Name, name)
		}
		if opts, err := e.deleteOptions(r, info); err == nil && len(opts.DryRun) > 0 != (info.Query.Get("dryRun") != "") {
			t.Errorf("%s ?%.80s: dryRun is %q, and for others %q", method, query, opts.DryRun, info.Query.Get("dryRun"))
		}
	}
}

// TestWatchesFromNowhere: a watch without a revision begins with the existing objects, and can have
// a bookmark at their end.
func TestWatchesFromNowhere(t *testing.T) {
	for _, tt := range []struct {
		query   string
		without bool // the server has no watch lists
		initial bool
	}{
		{"watch=1", false, true},
		{"watch=1&resourceVersion=0", false, true},
		{"watch=1&resourceVersion=5", false, false},
		{"watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", false, false},
		{"watch=1", true, false},
		{"limit=5", false, false},
	} {
		cfg := testConfig(t)
		cfg.NoWatchLists = tt.without
		e := newEndpoint(cfg, meta.GroupVersion{Version: "v1"}, &Resource{Description: meta.Description{Name: "configmaps"}, Encoder: encoder{}})
		info := &request.Info{}
		if err := request.Parse(httptest.NewRequest(http.MethodGet, maps+"?"+tt.query, nil), info); err != nil {
			t.Fatal(err)
		}
		req, _, err := e.listRequest(info)
		if err != nil {
			t.Fatalf("?%s: %v", tt.query, err)
		}
		if got := req.SendInitialEvents != nil && *req.SendInitialEvents; got != tt.initial {
			t.Errorf("?%s: initial events %v, want %v", tt.query, got, tt.initial)
		}
	}
}

var strangeQueries = []string{
	"labelSelector=a%3Db&labelSelector=c", "label%53elector=a&fieldSelector=metadata.name==x", "labelSelector=a;labelSelector=b", "labelSelector=%zz&labelSelector=b",
	"fieldSelector=metadata.name%3Db,metadata.name%3Da", "fieldSelector=metadata.name%3D%ff%5C%5C", "fieldSelector=,,metadata.name=x&watch=1", "watch=0&watch=1",
	"dryRun=All", "dryRun=All&dryRun=All", "dryRun", "dry%52un=All", "dryRun=%41ll;", strings.Repeat("a&", 9_999) + "labelSelector=b", strings.Repeat("a&", 10_000) + "labelSelector=b",
	strings.Repeat("a&", 10_000) + "dryRun=All",
}

// TestOneAnswer: authorization sees the selectors that the list uses, and all readers agree about
// dryRun; otherwise the request is refused.
func TestOneAnswer(t *testing.T) {
	for _, query := range strangeQueries {
		checkOneAnswer(t, query)
	}
}

// TestRefusedQueries: a query that cannot be parsed completely is refused. A partly understood one
// could delete objects that were to be kept.
func TestRefusedQueries(t *testing.T) {
	for _, query := range []string{
		"dryRun=All;", "dryRun=All&a=%zz", "dryRun=%", "labelSelector=a%3Db;c=d", strings.Repeat("a&", 10_000) + "dryRun=All",
	} {
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPost} {
			r := httptest.NewRequest(method, maps, nil)
			r.URL.RawQuery = query
			if err := request.Parse(r, &request.Info{}); !meta.IsBadRequest(err) {
				t.Errorf("%s ?%.40s: got %v, want a bad request", method, query, err)
			}
		}
	}
}

// FuzzOneAnswer is TestOneAnswer with random queries.
func FuzzOneAnswer(f *testing.F) {
	for _, query := range strangeQueries {
		f.Add(query)
	}
	f.Fuzz(checkOneAnswer)
}
