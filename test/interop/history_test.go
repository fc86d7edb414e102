package interop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// write is one state of an object: the value "n" in its data, or its deletion.
type write struct {
	n        int
	gone     bool
	revision uint64
}

// ledger records the writes of writers, by object. Each object has one writer.
type ledger struct {
	mu    sync.Mutex
	acked map[string][]write
	// doubt holds writes without an answer: the server may have made them.
	doubt map[string][]write
}

func newLedger() *ledger {
	return &ledger{acked: map[string][]write{}, doubt: map[string][]write{}}
}

func (l *ledger) ack(name string, w write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[name] = append(l.acked[name], w)
}

func (l *ledger) unsure(name string, w write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt[name] = append(l.doubt[name], w)
}

// count returns the number of acknowledged writes and the highest revision among them.
func (l *ledger) count() (n int, last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ws := range l.acked {
		n += len(ws)
		for _, w := range ws {
			last = max(last, w.revision)
		}
	}
	return n, last
}

// writer writes objects of its own, each a few times, and deletes some, until ctx ends or a request
// fails.
type writer struct {
	client kubernetes.Interface
	ns, id string
	ledger *ledger
}

// writeThroughFailures runs a writer again whenever it fails, with other objects.
func writeThroughFailures(ctx context.Context, t *testing.T, log *ledger, c kubernetes.Interface, ns, id string) {
	for life := 0; ctx.Err() == nil; life++ {
		w := &writer{client: c, ns: ns, id: fmt.Sprintf("%s-%d", id, life), ledger: log}
		var refused errServer
		if err := w.run(ctx); errors.As(err, &refused) {
			t.Log(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const updates = 3 // of each object

func (w *writer) run(ctx context.Context) error {
	for i := 0; ctx.Err() == nil; i++ {
		if err := w.object(fmt.Sprintf("%s-%d", w.id, i), i%4 == 3); err != nil {
			return err
		}
	}
	return nil
}

// object creates, updates and maybe deletes one object. A write without an answer is in doubt.
func (w *writer) object(name string, remove bool) error {
	c := w.client.CoreV1().ConfigMaps(w.ns)
	ctx := context.Background() // the client never cancels a write
	var cm *corev1.ConfigMap
	for n := 0; n <= updates; n++ {
		var err error
		if n == 0 {
			cm, err = c.Create(ctx, configMap(name, "n", "0"), metav1.CreateOptions{})
		} else {
			next := cm.DeepCopy()
			next.Data["n"] = strconv.Itoa(n)
			cm, err = c.Update(ctx, next, metav1.UpdateOptions{})
		}
		if err != nil {
			return w.failed(name, write{n: n}, err)
		}
		w.ledger.ack(name, write{n: n, revision: revision(cm.ResourceVersion)})
	}
	if !remove {
		return nil
	}
	if err := c.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return w.failed(name, write{n: updates, gone: true}, err)
	}
	w.ledger.ack(name, write{n: updates, gone: true})
	return nil
}

// errServer is an error that the server should not have returned.
type errServer struct{ error }

func (w *writer) failed(name string, about write, err error) error {
	w.ledger.unsure(name, about)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return errServer{fmt.Errorf("%s: %w", name, err)}
	}
	return err
}

func revision(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// follower watches ConfigMaps. Whenever the watch breaks, it resumes from the last event or
// bookmark.
type follower struct {
	client kubernetes.Interface
	ns     string

	mu      sync.Mutex
	seen    map[string][]write
	order   []string // every event as text, for comparing followers
	last    uint64
	resumed int
	wrong   []string
}

// follow runs until ctx ends.
func (f *follower) follow(ctx context.Context, from string) {
	f.mu.Lock()
	f.last, f.seen = revision(from), map[string][]write{}
	f.mu.Unlock()
	for ctx.Err() == nil {
		f.mu.Lock()
		after := strconv.FormatUint(f.last, 10)
		f.mu.Unlock()
		w, err := f.client.CoreV1().ConfigMaps(f.ns).Watch(ctx, metav1.ListOptions{ResourceVersion: after, AllowWatchBookmarks: true})
		if err != nil {
			if status := apierrors.APIStatus(nil); ctx.Err() == nil && errors.As(err, &status) && !apierrors.IsTooManyRequests(err) {
				f.complain("watch from " + after + ": " + err.Error())
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for e := range w.ResultChan() {
			f.take(e)
		}
		w.Stop()
		f.mu.Lock()
		f.resumed++
		f.mu.Unlock()
	}
}

func (f *follower) complain(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = append(f.wrong, text)
}

func (f *follower) take(e watch.Event) {
	cm, ok := e.Object.(*corev1.ConfigMap)
	if !ok {
		if status := apierrors.FromObject(e.Object); apierrors.HasStatusCause(status, metav1.CauseTypeUnexpectedServerResponse) {
			return // client-go's error for a broken connection
		}
		f.complain(fmt.Sprintf("%s event: %v", e.Type, e.Object))
		return
	}
	rev := revision(cm.ResourceVersion)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case e.Type == watch.Bookmark && rev < f.last, e.Type != watch.Bookmark && rev <= f.last:
		f.wrong = append(f.wrong, fmt.Sprintf("%s of %s at revision %d after %d", e.Type, cm.Name, rev, f.last))
	case e.Type != watch.Bookmark:
		n, err := strconv.Atoi(cm.Data["n"])
		if err != nil {
			f.wrong = append(f.wrong, err.Error())
		}
		f.seen[cm.Name] = append(f.seen[cm.Name], write{n: n, gone: e.Type == watch.Deleted, revision: rev})
		f.order = append(f.order, fmt.Sprintf("%s %s %d %d", e.Type, cm.Name, n, rev))
	}
	f.last = rev
}

// caughtUp returns an error unless the follower has seen all changes up to a revision.
func (f *follower) caughtUp(rev uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last < rev {
		return fmt.Errorf("a watcher has seen revision %d, not %d", f.last, rev)
	}
	return nil
}

// check compares the events of a follower with the ledger: it must have every acknowledged write
// once and in order, and besides them only writes in doubt.
func (l *ledger) check(t *testing.T, f *follower) {
	t.Helper()
	for _, text := range f.wrong {
		t.Error(text)
	}
	names := map[string]bool{}
	for name := range l.acked {
		names[name] = true
	}
	for name := range f.seen {
		names[name] = true
	}
	for name := range names {
		acked, seen := l.acked[name], f.seen[name]
		for i, s := range seen {
			switch {
			case i < len(acked) && matches(acked[i], s):
			case i >= len(acked) && slices.ContainsFunc(l.doubt[name], func(w write) bool { return matches(w, s) }):
			default:
				t.Errorf("%s: event %d is %+v; acknowledged %+v, in doubt %+v", name, i, s, acked, l.doubt[name])
			}
		}
		if len(seen) < len(acked) {
			t.Errorf("%s: a watcher has seen %+v of %+v", name, seen, acked)
		}
	}
}

// checkStored compares the stored objects with the ledger: each is the last acknowledged write of
// its object, or a write in doubt.
func (l *ledger) checkStored(t *testing.T, items []corev1.ConfigMap) {
	t.Helper()
	stored := map[string]write{}
	for i := range items {
		if n, err := strconv.Atoi(items[i].Data["n"]); err == nil {
			stored[items[i].Name] = write{n: n, revision: revision(items[i].ResourceVersion)}
		}
	}
	for name, acked := range l.acked {
		last := acked[len(acked)-1]
		got, ok := stored[name]
		switch {
		case !ok && last.gone, ok && !last.gone && matches(last, got):
		case !ok && slices.ContainsFunc(l.doubt[name], func(w write) bool { return w.gone }):
		case ok && slices.ContainsFunc(l.doubt[name], func(w write) bool { return matches(w, got) }):
		default:
			t.Errorf("%s: stored %+v (%v); acknowledged last %+v, in doubt %+v", name, got, ok, last, l.doubt[name])
		}
	}
}

// matches reports whether b is the write a, of which the revision may be unknown.
func matches(a, b write) bool {
	return a.n == b.n && a.gone == b.gone && (a.revision == 0 || a.revision == b.revision)
}

// checkState compares the stored objects with the last event of a follower for each object.
func checkState(t *testing.T, f *follower, items []corev1.ConfigMap) {
	t.Helper()
	want := map[string]write{}
	for name, ws := range f.seen {
		if last := ws[len(ws)-1]; !last.gone {
			want[name] = last
		}
	}
	got := map[string]write{}
	for i := range items {
		if n, err := strconv.Atoi(items[i].Data["n"]); err == nil {
			got[items[i].Name] = write{n: n, revision: revision(items[i].ResourceVersion)}
		}
	}
	if !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: stored %+v, watched %+v", name, got[name], want[name])
			}
		}
		t.Errorf("the list has %d objects, the watch %d", len(got), len(want))
	}
}
