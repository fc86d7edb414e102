package registry_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// fill creates n widgets w00, w01, ... in each of the namespaces.
func (k *kit) fill(n int, namespaces ...string) {
	k.tb.Helper()
	for _, ns := range namespaces {
		for i := range n {
			w := named(fmt.Sprintf("w%02d", i), func(w *widget) { w.Labels = map[string]string{"even": fmt.Sprint(i%2 == 0)} })
			if w.Spec.Color = "red"; i%3 == 0 {
				w.Spec.Color = "blue"
			}
			req := k.creation(w, &meta.CreateOptions{})
			req.Namespace = ns
			if _, err := k.Create(k.ctx, req); err != nil {
				k.tb.Fatal(err)
			}
		}
	}
}

// selectors returns a list request.
func selectors(tb testing.TB, namespace, labels, fields string) request.ListRequest {
	tb.Helper()
	l, err := meta.ParseLabels(labels)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := meta.ParseFields(fields)
	if err != nil {
		tb.Fatal(err)
	}
	return request.ListRequest{Namespace: namespace, Labels: l, Fields: f}
}

func TestListSelects(t *testing.T) {
	k := newKit(t, options{})
	k.fill(6, "ns", "other")
	for _, tt := range []struct {
		namespace, labels, fields string
		want                      string
	}{
		{"ns", "", "", "w00 w01 w02 w03 w04 w05"},
		{"", "", "metadata.name=w01", "w01 w01"},
		{"ns", "even=true", "", "w00 w02 w04"},
		{"ns", "even!=true,even", "", "w01 w03 w05"},
		{"ns", "", "spec.color=blue", "w00 w03"},
		{"ns", "even=true", "spec.color=blue", "w00"},
		{"ns", "", "metadata.name=w03", "w03"},
		{"ns", "even=true", "metadata.name=w03", ""},
		{"ns", "", "metadata.name=w03,metadata.name=w04", ""},
		{"ns", "", "metadata.name!=w03", "w00 w01 w02 w04 w05"},
		{"ns", "", "metadata.namespace=other", ""},
		{"", "", "metadata.namespace=other,spec.color=blue", "w00 w03"},
		{"none", "", "", ""},
		{"..", "", "", ""},
		{"ns", "", `metadata.name=../ns/w01`, ""},
	} {
		got := strings.Join(k.names(selectors(t, tt.namespace, tt.labels, tt.fields)), " ")
		if got != tt.want {
			t.Errorf("List(namespace %q, labels %q, fields %q): got %q, want %q", tt.namespace, tt.labels, tt.fields, got, tt.want)
		}
	}
	req := selectors(t, "ns", "", "spec.size=1")
	_, err := k.List(k.ctx, &req)
	wantReason(t, "a field that cannot be selected by", err, meta.StatusReasonBadRequest)
	_, err = k.Watch(k.ctx, &req)
	wantReason(t, "watching by such a field", err, meta.StatusReasonBadRequest)
}

// TestPages lists page by page, with each sort of selector, while objects are deleted. All pages
// together are the list at the revision of the first page.
func TestPages(t *testing.T) {
	for _, tt := range []struct{ name, namespace, labels string }{
		{"all", "", ""}, {"namespace", "ns", ""}, {"labels", "", "even=true"}, {"labels in a namespace", "ns", "even=true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, options{})
			k.fill(10, "ns", "other")
			req := selectors(t, tt.namespace, tt.labels, "")
			want := k.names(req)
			var got []string
			var rv string
			req.Limit = 3
			for page := 1; ; page++ {
				list, err := k.List(k.ctx, &req)
				if err != nil {
					t.Fatal(err)
				}
				if rv == "" {
					rv = list.ResourceVersion
				}
				if list.ResourceVersion != rv || list.Len > 3 {
					t.Errorf("page %d: version %s, %d items, want version %s, at most 3", page, list.ResourceVersion, list.Len, rv)
				}
				got = append(got, k.namesOf(list)...)
				if list.Remaining != nil && (tt.labels != "" || int(*list.Remaining) != len(want)-len(got)) {
					t.Errorf("page %d: %d remaining, want %d", page, *list.Remaining, len(want)-len(got))
				}
				if req.Continue = list.Continue; req.Continue == "" {
					break
				}
				for _, ns := range []string{"ns", "other"} { // delete only objects of later pages
					gone := &meta.DeleteOptions{}
					req := k.deletion(fmt.Sprintf("w%02d", 10-page), gone)
					req.Namespace = ns
					if _, err := k.Delete(k.ctx, req, gone); err != nil && !meta.IsNotFound(err) {
						t.Fatal(err)
					}
				}
			}
			wantNames(t, "the pages", got, want...)
		})
	}
}

// TestExpiredPages continues a list whose revision is compacted, with the token in the error.
func TestExpiredPages(t *testing.T) {
	for _, namespace := range []string{"", "ns"} {
		k := newKit(t, options{cache: cache.Config{Snapshots: 1, SnapshotAge: time.Nanosecond, WindowEvents: 1, WindowAge: time.Nanosecond}})
		k.fill(6, "ns")
		req := request.ListRequest{Namespace: namespace, Limit: 2}
		list, err := k.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		wantNames(t, "first page", k.namesOf(list), "w00", "w01")
		for range 400 { // more changes than the smallest window keeps
			if _, err := k.change("w05", func(w *widget) { w.Spec.Size++ }); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.engine.Compact(k.ctx, k.revision()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.List(k.ctx, &req); err != nil { // a new list replaces the only snapshot
			t.Fatal(err)
		}
		req.Continue = list.Continue
		_, err = k.List(k.ctx, &req)
		wantReason(t, "the next page after compaction", err, meta.StatusReasonExpired)
		var status *meta.StatusError
		if !errors.As(err, &status) || status.Status.Continue == "" {
			t.Fatalf("got %v, want a token to go on with", err)
		}
		req.Continue = status.Status.Continue
		list, err = k.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		wantNames(t, "the next page with the token of the error", k.namesOf(list), "w02", "w03")
	}
}

func TestContinueTokens(t *testing.T) {
	k := newKit(t, options{})
	k.fill(4, "ns", "other")
	token := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	type tok struct {
		V     string `json:"v"`
		RV    int64  `json:"rv"`
		Start string `json:"start"`
	}
	good := int64(k.revision())
	for name, bad := range map[string]string{
		"no base64":       "$$$",
		"no JSON":         "eHg",
		"other version":   token(tok{"v9", good, "w00"}),
		"no revision":     token(tok{"meta.k8s.io/v1", 0, "w00"}),
		"no start":        token(tok{"meta.k8s.io/v1", good, ""}),
		"outside":         token(tok{"meta.k8s.io/v1", good, "../other/w00"}),
		"hidden outside":  token(tok{"meta.k8s.io/v1", good, "a/../../other/w00"}),
		"negative":        token(tok{"meta.k8s.io/v1", -7, "w00"}),
		"endless":         strings.Repeat("A", 1<<20),
		"number too long": token(map[string]any{"v": "meta.k8s.io/v1", "rv": json.Number("99999999999999999999999"), "start": "a"}),
	} {
		_, err := k.List(k.ctx, &request.ListRequest{Namespace: "ns", Continue: bad})
		wantReason(t, name, err, meta.StatusReasonBadRequest)
	}
	_, err := k.List(k.ctx, &request.ListRequest{Namespace: "ns", Continue: token(tok{"meta.k8s.io/v1", good, "w01\x00"}), ResourceVersion: "5"})
	wantReason(t, "a token and a version", err, meta.StatusReasonBadRequest)
	wantNames(t, "a token and version 0",
		k.names(request.ListRequest{Namespace: "ns", Continue: token(tok{"meta.k8s.io/v1", good, "w01\x00"}), ResourceVersion: "0"}), "w02", "w03")
	wantNames(t, "a token of another namespace stays in its own",
		k.names(request.ListRequest{Namespace: "ns", Continue: token(tok{"meta.k8s.io/v1", good, "other/w01\x00"})}), "w00", "w01", "w02", "w03")
}

func TestListVersions(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns")
	w := k.get("w01")
	at, err := k.change("w01", colored("green"))
	if err != nil {
		t.Fatal(err)
	}
	exact, notOlder := meta.ResourceVersionMatchExact, meta.ResourceVersionMatchNotOlderThan
	for _, tt := range []struct {
		name, rv string
		match    meta.ResourceVersionMatch
		limit    int64
		fields   string
		color    string // of w01
		reason   meta.StatusReason
	}{
		{name: "consistent", color: "green"},
		{name: "exact", rv: w.ResourceVersion, match: exact, color: "red"},
		{name: "exact by the limit", rv: w.ResourceVersion, limit: 10, color: "red"},
		{name: "not older, of one name", rv: w.ResourceVersion, limit: 10, fields: "metadata.name=w01", color: "green"},
		{name: "not older", rv: w.ResourceVersion, match: notOlder, color: "green"},
		{name: "not older, by default", rv: w.ResourceVersion, color: "green"},
		{name: "not older, limited", rv: w.ResourceVersion, match: notOlder, limit: 10, color: "green"},
		{name: "exact, present", rv: at.ResourceVersion, match: exact, color: "green"},
		{name: "malformed", rv: "x", reason: meta.StatusReasonBadRequest},
	} {
		req := selectors(t, "ns", "", tt.fields)
		req.ResourceVersion, req.ResourceVersionMatch, req.Limit = tt.rv, tt.match, tt.limit
		list, err := k.List(k.ctx, &req)
		if tt.reason != "" {
			wantReason(t, tt.name, err, tt.reason)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for enc := range list.Items {
			if got := k.decode(enc); got.Name == "w01" && got.Spec.Color != tt.color {
				t.Errorf("%s: got %s, want %s", tt.name, got.Spec.Color, tt.color)
			}
		}
		if tt.match == exact && list.ResourceVersion != tt.rv {
			t.Errorf("%s: got version %s, want %s", tt.name, list.ResourceVersion, tt.rv)
		}
	}
}

func TestFutureVersions(t *testing.T) {
	k := newKit(t, options{cache: cache.Config{MaxWait: time.Millisecond}})
	k.fill(1, "ns")
	_, err := k.List(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: "100000"})
	wantReason(t, "List", err, meta.StatusReasonTimeout)
	if err != nil && !strings.Contains(err.Error(), "Too large resource version") {
		t.Errorf("List: got %v", err)
	}
	_, err = k.Get(k.ctx, "ns", "w00", "100000")
	wantReason(t, "Get", err, meta.StatusReasonTimeout)
	_, err = k.Get(k.ctx, "ns", "w00", "x")
	wantReason(t, "Get of a malformed version", err, meta.StatusReasonBadRequest)
	for _, bad := range []struct{ namespace, name string }{{"ns", ""}, {"", "a"}, {"ns", ".."}, {"ns", "a/b"}, {"ns", "a%b"}, {"..", "a"}} {
		_, err := k.Get(k.ctx, bad.namespace, bad.name, "")
		wantReason(t, fmt.Sprintf("Get(%q, %q)", bad.namespace, bad.name), err, meta.StatusReasonBadRequest)
	}
}

// next returns the next events as "TYPE name". A bookmark is "BOOKMARK", or "END" if it ends the
// initial events.
func (k *kit) next(c request.EventCursor) []string {
	k.tb.Helper()
	events, err := c.Next(k.ctx)
	if err != nil {
		k.tb.Fatal(err)
	}
	var out []string
	for i := range events {
		switch e := &events[i]; {
		case e.InitialEnd:
			out = append(out, "END")
		case e.Type == request.Bookmark:
			out = append(out, "BOOKMARK")
		default:
			out = append(out, string(e.Type)+" "+k.decode(e.Object).Name)
		}
	}
	return out
}

func TestWatch(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name    string
		rv      string // "last" is the revision of the state
		initial *bool
		marks   bool
		want    []string // the events before the change
	}{
		{"from the start", "", nil, false, []string{"ADDED w00", "ADDED w01"}},
		{"any", "0", nil, false, []string{"ADDED w00", "ADDED w01"}},
		{"from a version", "last", nil, false, nil},
		{"initial events", "", &yes, true, []string{"ADDED w00", "ADDED w01", "END"}},
		{"initial events without bookmarks", "", &yes, false, []string{"ADDED w00", "ADDED w01"}},
		{"no initial events", "", &no, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, options{})
			k.fill(2, "ns")
			req := request.ListRequest{Namespace: "ns", ResourceVersion: tt.rv, SendInitialEvents: tt.initial, Bookmarks: tt.marks}
			if tt.rv == "last" {
				req.ResourceVersion = fmt.Sprint(k.revision())
			}
			c, err := k.Watch(k.ctx, &req)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if tt.want != nil {
				wantNames(t, "initial", k.next(c), tt.want...)
			}
			k.create(named("new"))
			wantNames(t, "change", k.next(c), "ADDED new")
		})
	}
}

// TestWatchSelector changes an object so that a selector begins to select it, and so that it ceases
// to.
func TestWatchSelector(t *testing.T) {
	for name, req := range map[string]request.ListRequest{
		"field": selectors(t, "ns", "", "spec.color=red"), "label": selectors(t, "ns", "color=red", ""),
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, options{})
			paint := func(c string) func(*widget) {
				return func(w *widget) { w.Spec.Color, w.Labels = c, map[string]string{"color": c} }
			}
			k.create(named("a", paint("blue")))
			req.ResourceVersion = fmt.Sprint(k.revision())
			c, err := k.Watch(k.ctx, &req)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, step := range []struct{ color, want string }{{"red", "ADDED a"}, {"blue", "DELETED a"}, {"red", "ADDED a"}} {
				if _, err := k.change("a", paint(step.color)); err != nil {
					t.Fatal(err)
				}
				wantNames(t, "to "+step.color, k.next(c), step.want)
			}
			if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			wantNames(t, "deletion", k.next(c), "DELETED a")
		})
	}
}

// TestWatchFromTheFuture: a watch from a revision that the store has not reached waits for it, up
// to the cache's limit, and fails.
func TestWatchFromTheFuture(t *testing.T) {
	yes := true
	k := newKit(t, options{cache: cache.Config{MaxWait: time.Millisecond}})
	k.fill(1, "ns")
	c, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: "100000", SendInitialEvents: &yes, Bookmarks: true})
	if err == nil {
		defer c.Close()
		_, err = c.Next(k.ctx)
	}
	wantReason(t, "a watch of the state at a revision in the future", err, meta.StatusReasonTimeout)
}

func TestWatchTooOld(t *testing.T) {
	k := newKit(t, options{history: 10})
	k.fill(1, "ns")
	for range 50 {
		if _, err := k.change("w00", func(w *widget) { w.Spec.Size++ }); err != nil {
			t.Fatal(err)
		}
	}
	fresh := newKitOver(t, k)
	c, err := fresh.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: "2"})
	if err == nil {
		defer c.Close()
		_, err = c.Next(k.ctx)
	}
	wantReason(t, "a watch from a revision that is gone", err, meta.StatusReasonExpired)
	if err != nil && !regexp.MustCompile(`too old resource version: 2 \([1-9][0-9]*\)$`).MatchString(err.Error()) {
		t.Errorf("got %v, want it to name the revision and the oldest that there is", err)
	}
	_, err = k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: "x"})
	wantReason(t, "a malformed version", err, meta.StatusReasonBadRequest)
}

// newKitOver returns a kit of another server on the same store.
func newKitOver(tb testing.TB, k *kit) *kit {
	tb.Helper()
	return newKit(tb, options{wrap: func(own storage.Store) storage.Store { own.Close(); return shared{k.store} }})
}

// shared is a store whose Close does nothing, because another kit owns it.
type shared struct{ storage.Store }

func (shared) Close() error { return nil }

// TestSlowWatcher: a watcher that falls behind ends without an error, because an error would make
// its client list again. A new watch can continue from the last revision.
func TestSlowWatcher(t *testing.T) {
	k := newKit(t, options{cache: cache.Config{WindowEvents: 1, WindowAge: time.Nanosecond, WindowBytes: 1}})
	k.fill(1, "ns")
	c, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantNames(t, "initial", k.next(c), "ADDED w00")
	rv := k.get("w00").ResourceVersion
	for range 2000 {
		if _, err := k.change("w00", func(w *widget) { w.Spec.Size++ }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Get(k.ctx, "ns", "w00", ""); err != nil { // wait until the cache has all changes
		t.Fatal(err)
	}
	for {
		if _, err = c.Next(k.ctx); err != nil {
			break
		}
		if k.get("w00") == nil {
			t.Fatal("gone")
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("the slow watcher ended with %v, want io.EOF", err)
	}
	again, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: rv})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := k.next(again); got[0] != "MODIFIED w00" {
		t.Errorf("going on: got %v", got)
	}
}

// TestBookmarkBeforeTheEnd: a bookmark comes two seconds before a watch ends.
func TestBookmarkBeforeTheEnd(t *testing.T) { synctest.Test(t, testBookmarkBeforeTheEnd) }

func testBookmarkBeforeTheEnd(t *testing.T) {
	k := newKit(t, options{})
	k.fill(1, "ns")
	ctx, cancel := context.WithTimeout(k.ctx, time.Minute/2)
	defer cancel()
	c, err := k.Watch(ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: fmt.Sprint(k.revision()), Bookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events, err := c.Next(ctx)
	if err != nil || len(events) != 1 || events[0].Type != request.Bookmark {
		t.Errorf("got %v, %v, want a bookmark", events, err)
	}
	if end, _ := ctx.Deadline(); time.Until(end) != 2*time.Second {
		t.Errorf("the bookmark came %v before the end, want 2s", time.Until(end))
	}
}

// TestWatchersAreGrouped: watchers are grouped by name, or by a field that is declared with Groups.
// The selector must require one value of the field, and the field must be the same in all stored
// versions.
func TestWatchersAreGrouped(t *testing.T) {
	for _, tt := range []struct{ version, fields, want string }{
		{"", "spec.color=red", "spec.color=red"},
		{"", "metadata.name=a", "metadata.name=a"},
		{"", "spec.color!=red", ""},
		{"v1", "spec.color=red", ""},
	} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Fields[0].Groups, r.Fields[0].Version = true, tt.version
		}})
		req := selectors(t, "", "", tt.fields)
		c, err := k.Watch(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Objects().Stats().Watchers[0].Field; got != tt.want {
			t.Errorf("%s, declared in %q: got the group %q, want %q", tt.fields, tt.version, got, tt.want)
		}
		c.Close()
	}
}
