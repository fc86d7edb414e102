package router

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// script is an EventCursor that yields batches, then an error, or waits for its context.
type script struct {
	batches [][]request.Event
	end     error
	closed  bool
}

func (s *script) Next(ctx context.Context) ([]request.Event, error) {
	if len(s.batches) > 0 {
		b := s.batches[0]
		s.batches = s.batches[1:]
		return b, nil
	}
	if s.end != nil {
		return nil, s.end
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *script) Close() { s.closed = true }

func events() [][]request.Event {
	return [][]request.Event{
		{{Type: request.Added, Object: configMap("a", "1")}, {Type: request.Modified, Object: configMap("a", "2")}},
		{{Type: request.Bookmark, ResourceVersion: "8", InitialEnd: true}},
		{{Type: request.Deleted, Object: configMap("a", "2")}},
		{{Type: request.Bookmark, ResourceVersion: "9"}},
	}
}

// watch runs a scripted watch to its end, in fake time.
func watch(t *testing.T, query, accept string, s *script) (w *httptest.ResponseRecorder, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = httptest.NewRecorder()
		begun := time.Now()
		r, _ := parsed(t, "GET", maps+"?watch=1&"+query, "", "Accept", accept)
		core(t, &fake{cursor: s}).ServeHTTP(w, r)
		took = time.Since(begun)
	})
	if !s.closed {
		t.Error("the cursor is still open")
	}
	return w, took
}

type frame struct {
	Type   string
	Object struct {
		Kind     string
		Code     int
		Metadata struct {
			Name, ResourceVersion string
			Annotations           map[string]string
		}
		Data              map[string]string
		ColumnDefinitions []any
		Rows              []any
	}
}

// frames reads the events of a watch in JSON.
func frames(t *testing.T, body string) (out []frame) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(body)); ; {
		var f frame
		if err := dec.Decode(&f); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		out = append(out, f)
	}
}

func TestWatchFrames(t *testing.T) {
	for _, tt := range []struct {
		name, accept, typ string
		want              func(f frame) string
		say               []string
	}{
		{"JSON", "", "application/json", func(f frame) string {
			return fmt.Sprintf("%s %s %s/%s %s %v", f.Type, f.Object.Kind, f.Object.Metadata.Name, f.Object.Metadata.ResourceVersion,
				f.Object.Data["k"], len(f.Object.Metadata.Annotations))
		}, []string{"ADDED ConfigMap a/7 1 0", "MODIFIED ConfigMap a/7 2 0", "BOOKMARK ConfigMap /8  1", "DELETED ConfigMap a/7 2 0", "BOOKMARK ConfigMap /9  0"}},
		{"metadata", partial, "application/json", func(f frame) string {
			return fmt.Sprintf("%s %s %s/%s %d", f.Type, f.Object.Kind, f.Object.Metadata.Name, f.Object.Metadata.ResourceVersion, len(f.Object.Data))
		}, []string{"ADDED PartialObjectMetadata a/7 0", "MODIFIED PartialObjectMetadata a/7 0", "BOOKMARK PartialObjectMetadata /8 0",
			"DELETED PartialObjectMetadata a/7 0", "BOOKMARK PartialObjectMetadata /9 0"}},
		{"table", table, "application/json", func(f frame) string {
			return fmt.Sprintf("%s %s %s %d %d", f.Type, f.Object.Kind, f.Object.Metadata.ResourceVersion, len(f.Object.ColumnDefinitions), len(f.Object.Rows))
		}, []string{"ADDED Table 7 1 1", "MODIFIED Table 7 0 1", "BOOKMARK Table 8 0 1", "DELETED Table 7 0 1", "BOOKMARK Table 9 0 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := watch(t, "timeoutSeconds=5", tt.accept, &script{batches: events()})
			if w.Code != 200 || w.Header().Get("Content-Type") != tt.typ || !w.Flushed {
				t.Errorf("got %d %v, flushed %v", w.Code, w.Header(), w.Flushed)
			}
			var got []string
			for _, f := range frames(t, w.Body.String()) {
				got = append(got, tt.want(f))
			}
			if strings.Join(got, "\n") != strings.Join(tt.say, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.say, "\n"))
			}
		})
	}
}

// TestBookmarkRows: in a Table, a bookmark is the row of an empty object, with the part of the
// object that the request wants in rows. The bookmark that ends the initial events always has
// metadata.
func TestBookmarkRows(t *testing.T) {
	const whole, part = `{"kind":"ConfigMap","apiVersion":"v1",`, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%s",`
	const end, later = `"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}`, `"metadata":{"resourceVersion":"9"}}`
	bookmarks := [][]request.Event{
		{{Type: request.Bookmark, ResourceVersion: "8", InitialEnd: true}},
		{{Type: request.Bookmark, ResourceVersion: "9"}},
	}
	for _, version := range []string{"v1", "v1beta1"} {
		part := fmt.Sprintf(part, version)
		for _, tt := range []struct{ query, end, later string }{
			{"", part + end, part + later},
			{"includeObject=Metadata", part + end, part + later},
			{"includeObject=Object", whole + end, whole + later},
			{"includeObject=None", part + end, "null"},
		} {
			w, _ := watch(t, "timeoutSeconds=5&"+tt.query, "application/json;as=Table;g=meta.k8s.io;v="+version, &script{batches: bookmarks})
			var got []string
			for dec := json.NewDecoder(w.Body); dec.More(); {
				var f struct {
					Type   string
					Object struct {
						APIVersion        string
						Metadata          struct{ ResourceVersion string }
						ColumnDefinitions []any
						Rows              []struct {
							Cells  []any
							Object json.RawMessage
						}
					}
				}
				if err := dec.Decode(&f); err != nil {
					t.Fatal(err)
				}
				for _, row := range f.Object.Rows {
					got = append(got, fmt.Sprint(f.Type, " ", f.Object.APIVersion, " ", f.Object.Metadata.ResourceVersion, " ",
						len(f.Object.ColumnDefinitions), " ", row.Cells, " ", string(row.Object)))
				}
			}
			table := "BOOKMARK meta.k8s.io/" + version
			want := []string{table + " 8 1 [0] " + tt.end, table + " 9 0 [0] " + tt.later}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s %q: got\n%s\nwant\n%s", version, tt.query, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

func TestWatchProtobuf(t *testing.T) {
	w, _ := watch(t, "timeoutSeconds=5", protobuf, &script{batches: events()})
	if got := w.Header().Get("Content-Type"); got != protobuf+";stream=watch" {
		t.Errorf("Content-Type: got %q", got)
	}
	n, body := 0, w.Body.Bytes()
	for ; len(body) >= 4; n++ {
		size := binary.BigEndian.Uint32(body)
		if int(size) > len(body)-4 {
			t.Fatalf("frame %d of %d bytes, %d are there", n, size, len(body)-4)
		}
		body = body[4+size:]
	}
	if n != 5 || len(body) != 0 {
		t.Errorf("got %d frames and %d bytes, want 5 and 0", n, len(body))
	}
}

func TestWatchEnds(t *testing.T) {
	w, took := watch(t, "timeoutSeconds=7", "", &script{batches: events()})
	if n := len(frames(t, w.Body.String())); n != 5 || took != 7*time.Second {
		t.Errorf("timeoutSeconds=7: %d frames in %v, want 5 in 7s", n, took)
	}
	if _, took = watch(t, "", "", &script{}); took < 30*time.Minute || took > time.Hour {
		t.Errorf("without timeoutSeconds: ended after %v, want 30 to 60 min", took)
	}
	if _, took = watch(t, "timeoutSeconds=99999999999", "", &script{}); took > maxWatch {
		t.Errorf("a huge timeoutSeconds: ended after %v", took)
	}
	if w, _ = watch(t, "", "", &script{batches: events(), end: io.EOF}); len(frames(t, w.Body.String())) != 5 {
		t.Errorf("a watch that is to come again: got %s", w.Body)
	}
}

// TestWatchErrors: an error before the first event is the response, except for an expired revision;
// later errors are events.
func TestWatchErrors(t *testing.T) {
	for _, accept := range []string{"", partial, table} {
		w, _ := watch(t, "", accept, &script{batches: events(), end: meta.NewResourceExpired("too old")})
		all := frames(t, w.Body.String())
		if last := all[len(all)-1]; len(all) != 6 || last.Type != "ERROR" || last.Object.Kind != "Status" || last.Object.Code != 410 {
			t.Errorf("Accept %q: a late error: got %+v", accept, all)
		}
	}
	bad := [][]request.Event{{{Type: request.Added, Object: configMap("a", "1")}, {Type: request.Added, Object: &object{json: "{", forms: map[uint32][]byte{}}}}}
	w, _ := watch(t, "", partial, &script{batches: bad})
	if all := frames(t, w.Body.String()); len(all) != 2 || all[1].Type != "ERROR" || all[1].Object.Code != 500 {
		t.Errorf("an object that cannot be encoded: got %s", w.Body)
	}
	get := func(err error) *httptest.ResponseRecorder {
		return serve(t, core(t, &fake{err: err}), "GET", maps+"?watch=1", "")
	}
	if w := get(meta.NewResourceExpired("too old")); w.Code != 200 || frames(t, w.Body.String())[0].Object.Code != 410 {
		t.Errorf("a compacted revision: got %d %s, want 200 and an event", w.Code, w.Body)
	}
	if w := get(meta.NewBadRequest("no")); w.Code != 400 {
		t.Errorf("another error: got %d %s, want 400", w.Code, w.Body)
	}
	if w := serve(t, core(t, &fake{}), "GET", maps+"?watch=1&includeObject=x", "", "Accept", table); w.Code != 400 {
		t.Errorf("a bad includeObject: got %d, want 400", w.Code)
	}
}

// TestWatchCounts: WatchStarted's function is called for each flush and at the end.
func TestWatchCounts(t *testing.T) {
	var counted []int
	cfg := testConfig(t)
	cfg.WatchStarted = func(meta.GroupVersionResource) func(int) { return func(n int) { counted = append(counted, n) } }
	rr := NewRESTRouter(cfg)
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"},
		Resources: []Resource{all("configmaps", true, &fake{cursor: &script{batches: events(), end: io.EOF}})}})
	serve(t, rr, "GET", maps+"?watch=1", "")
	if got := fmt.Sprint(counted); got != "[2 1 1 1 -1]" {
		t.Errorf("got %s", got)
	}
}

// stalledConn is a connection whose client does not read: writes block until their deadline.
type stalledConn struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline chan time.Time
	log      []time.Time
}

func (s *stalledConn) SetWriteDeadline(d time.Time) error {
	s.mu.Lock()
	s.log = append(s.log, d)
	s.mu.Unlock()
	if !d.IsZero() {
		s.deadline <- d
	}
	return nil
}

func (s *stalledConn) Write([]byte) (int, error) {
	d := <-s.deadline
	time.Sleep(time.Until(d))
	return 0, errors.New("i/o timeout")
}

func (s *stalledConn) FlushError() error { return nil }

// TestWatchOfAStuckClient: a client that does not read is cut off, while its watch lasts and after
// its end; other clients are not.
func TestWatchOfAStuckClient(t *testing.T) {
	for _, tt := range []struct{ seconds, cut int }{{600, 60}, {30, 35}} {
		synctest.Test(t, func(t *testing.T) {
			w := &stalledConn{ResponseRecorder: httptest.NewRecorder(), deadline: make(chan time.Time, 1)}
			r, _ := parsed(t, "GET", fmt.Sprintf("%s?watch=1&timeoutSeconds=%d", maps, tt.seconds), "")
			begun := time.Now()
			core(t, &fake{cursor: &script{batches: events()}}).ServeHTTP(w, r)
			if took, want := time.Since(begun), time.Duration(tt.cut)*time.Second; took != want {
				t.Errorf("a watch of %d s ended after %v, want %v", tt.seconds, took, want)
			}
			if n := len(w.log); n < 3 || !w.log[0].IsZero() || !w.log[n-1].IsZero() {
				t.Errorf("write deadlines: got %v, want none at first and last", w.log)
			}
		})
	}
}

// TestIdleWatch: a client that has nothing to read is not cut off.
func TestIdleWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stalledConn{ResponseRecorder: httptest.NewRecorder(), deadline: make(chan time.Time, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := parsed(t, "GET", maps+"?watch=1", "")
		done := make(chan struct{})
		go func() {
			defer close(done)
			core(t, &fake{cursor: &script{}}).ServeHTTP(w, r.WithContext(request.NewContext(ctx, request.From(r.Context()))))
		}()
		time.Sleep(20 * time.Minute)
		w.mu.Lock()
		if len(w.log) != 1 || !w.log[0].IsZero() {
			t.Errorf("write deadlines: got %v, want none", w.log)
		}
		w.mu.Unlock()
		cancel()
		<-done
	})
}

func TestLegacyWatchOfOneObject(t *testing.T) {
	f := &fake{cursor: &script{end: io.EOF}}
	if w := serve(t, core(t, f), "GET", "/api/v1/watch/namespaces/ns/configmaps/a,b=c", ""); w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if name, ok := f.list.Fields.RequiresExact("metadata.name"); !ok || name != "a,b=c" {
		t.Errorf("watches %v, want the one name", f.list.Fields)
	}
}
