package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// fenceKey is the key of the fence in these tests. No object has this key.
const fenceKey = "/registry/fence"

// fence returns the revision of the fence, 0 if there is none yet.
func (k *kit) fence() uint64 {
	e, _ := k.engine.Get(context.Background(), fenceKey)
	return uint64(e.Rev)
}

// moveFence writes the fence.
func (k *kit) moveFence() uint64 {
	k.tb.Helper()
	e, err := k.engine.Put(context.Background(), fenceKey, nil, storage.Pre{}, 0)
	if err != nil {
		k.tb.Error(err)
	}
	return uint64(e.Rev)
}

// fencing is a plugin that notes its calls. As a reserver it asks for the fence.
type fencing struct {
	k     *kit
	notes []string
	tries int
	after func(try int) // called when the fence has been asked for
}

func (f *fencing) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (*fencing) Name() string                     { return "fencing" }
func (*fencing) Handles(admission.Operation) bool { return true }

func (f *fencing) Mutate(context.Context, *admission.Attributes) error {
	f.note("mutate")
	return nil
}

func (f *fencing) Validate(context.Context, *admission.Attributes) error {
	f.note("validate")
	return nil
}

func (f *fencing) Reserve(_ context.Context, a *admission.Attributes) (admission.Settle, error) {
	f.tries++
	try := f.tries
	if err := a.Fence(fenceKey, f.k.fence()); err != nil {
		return nil, err
	}
	f.note("%d", try)
	if f.after != nil {
		f.after(try)
	}
	return func(_ context.Context, fate admission.Fate) { f.note("%d %s", try, fate) }, nil
}

// want compares the notes since its last call.
func (f *fencing) want(what, want string) {
	f.k.tb.Helper()
	if got := strings.Join(f.notes, "; "); got != want {
		f.k.tb.Errorf("%s: got %q, want %q", what, got, want)
	}
	f.notes, f.tries, f.after = nil, 0, nil
}

// newFencing returns a kit whose writes carry a fence. Its kind reserves, too.
func newFencing(t *testing.T) (*kit, *fencing) {
	t.Helper()
	f := &fencing{}
	f.k = newKit(t, options{chain: admission.Chain{f}, resource: func(r *registry.ResourceOf[*widget]) {
		r.Reserve = func(_ context.Context, _ *registry.Request, _, _ *widget) (admission.Settle, error) {
			f.note("kind")
			return func(_ context.Context, fate admission.Fate) { f.note("kind %s", fate) }, nil
		}
	}})
	return f.k, f
}

// TestFencedCreate: if the fence of a create has moved, only the reservers run again. The object is
// stored once, unchanged.
func TestFencedCreate(t *testing.T) {
	k, f := newFencing(t)
	f.after = func(try int) {
		if try < 3 {
			k.moveFence()
		}
	}
	before := k.engine.Current()
	w := k.create(named("", func(w *widget) { w.GenerateName = "g-" }))
	f.want("create", "mutate; kind; validate; 1; 1 not stored; 2; 2 not stored; 3; 3 stored; kind stored")
	// Two writes of the fence and one of the object.
	if now := k.engine.Current(); now != before+3 || w.ResourceVersion != fmt.Sprint(uint64(now)) {
		t.Errorf("the store went from revision %d to %d, and the object is at %s", before, now, w.ResourceVersion)
	}
	if got := k.get(w.Name); got == nil || got.UID != w.UID {
		t.Errorf("got %s, want %s", text(got), text(w))
	}
	_, err := k.Create(k.ctx, k.creation(named(w.Name), &meta.CreateOptions{}))
	wantReason(t, "create again", err, meta.StatusReasonAlreadyExists)
	f.want("create again", "mutate; kind; validate; 1; 1 not stored; kind not stored")
}

// TestFencedUpdate: if the fence of an update has moved, the update begins again, as after a write
// conflict.
func TestFencedUpdate(t *testing.T) {
	k, f := newFencing(t)
	k.create(named("a"))
	k.settle()
	f.want("create", "mutate; kind; validate; 1; 1 stored; kind stored")
	f.after = func(try int) {
		if try < 3 {
			k.moveFence()
		}
	}
	before := k.engine.Current()
	if _, err := k.change("a", colored("blue")); err != nil {
		t.Fatal(err)
	}
	f.want("update", "mutate; kind; validate; 1; 1 not stored; kind not stored; "+
		"mutate; kind; validate; 2; 2 not stored; kind not stored; mutate; kind; validate; 3; 3 stored; kind stored")
	if now := k.engine.Current(); now != before+3 {
		t.Errorf("the store went from revision %d to %d, want one write beside the moves of the fence", before, now)
	}

	k.settle()
	f.after = func(int) { k.moveFence() }
	if _, err := k.change("a", func(*widget) {}); err != nil {
		t.Fatal(err)
	}
	f.want("update that changes nothing", "mutate; kind; validate; 1; 1 stored; kind stored")
	f.after = func(int) { k.moveFence() }
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.want("delete", "mutate; validate; 1; kind; kind stored; 1 stored")
}

// TestFencedForEver: a write whose fence always moves ends after a few tries. The client may send
// it again.
func TestFencedForEver(t *testing.T) {
	k, f := newFencing(t)
	k.create(named("a"))
	for what, write := range map[string]func() error{
		"create": func() error {
			_, err := k.Create(k.ctx, k.creation(named("b"), &meta.CreateOptions{}))
			return err
		},
		"update": func() error {
			_, err := k.change("a", colored("blue"))
			return err
		},
	} {
		k.settle()
		f.notes, f.tries = nil, 0
		f.after = func(int) { k.moveFence() }
		err := write()
		wantReason(t, what, err, meta.StatusReasonServerTimeout)
		status, ok := err.(*meta.StatusError)
		if !ok || status.Status.Code != 500 || status.Status.Details.RetryAfterSeconds != 1 || status.Error() !=
			"The write operation against widgets.test.example.com could not be completed at this time, please try again." {
			t.Errorf("%s: got %v", what, err)
		}
		stored := slices.ContainsFunc(f.notes, func(note string) bool {
			return strings.HasSuffix(note, " stored") && !strings.HasSuffix(note, "not stored")
		})
		if f.tries != 8 || stored || k.get("b") != nil {
			t.Errorf("%s: got %d tries, and %q", what, f.tries, f.notes)
		}
	}
}

// counting is a reserver that counts objects. charged is the number of objects that writes have
// charged. The fence cuts off writes that were charged before a recount.
type counting struct {
	k       *kit
	mu      sync.Mutex
	charged int
}

func (*counting) Name() string                        { return "counting" }
func (*counting) Handles(op admission.Operation) bool { return op == admission.Create }

func (c *counting) Reserve(_ context.Context, a *admission.Attributes) (admission.Settle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charged++
	fence := c.k.fence()
	return func(_ context.Context, fate admission.Fate) {
		if fate == admission.Stored {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.k.fence() == fence { // a recount has not replaced the count since
			c.charged--
		}
	}, a.Fence(fenceKey, fence)
}

// recount moves the fence and sets charged to the number of objects at that revision: no write that
// was charged before is stored after it.
func (c *counting) recount() {
	c.mu.Lock()
	defer c.mu.Unlock()
	rev := c.k.moveFence()
	res, err := c.k.engine.Range(context.Background(), storage.RangeRequest{
		Prefix: "/registry/test.example.com/widgets/ns/", Rev: storage.Revision(rev), CountOnly: true})
	if err != nil {
		c.k.tb.Error(err)
	}
	c.charged = int(res.Count)
}

// TestFencesKeepCounts shows the purpose of fences: creates are charged before they are stored, and
// recounts come in between. In the end as many objects are charged as are stored.
func TestFencesKeepCounts(t *testing.T) {
	c := &counting{}
	c.k = newKit(t, options{chain: admission.Chain{c}})
	const writers, each = 8, 40
	var writing, recounting sync.WaitGroup
	var done atomic.Bool
	recounting.Go(func() {
		for !done.Load() {
			c.recount()
		}
	})
	var stored atomic.Int64
	for n := range writers {
		writing.Go(func() {
			for i := range each {
				_, err := c.k.Create(c.k.ctx, c.k.creation(named(fmt.Sprintf("w-%d-%d", n, i)), &meta.CreateOptions{}))
				if err == nil {
					stored.Add(1)
				} else if meta.ReasonFor(err) != meta.StatusReasonServerTimeout {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	recounting.Wait()
	if got := int64(c.charged); got != stored.Load() {
		t.Errorf("%d are charged, and %d stored", got, stored.Load())
	}
	c.recount()
	if got := int64(c.charged); got != stored.Load() {
		t.Errorf("%d are counted, and %d stored", got, stored.Load())
	}
}
