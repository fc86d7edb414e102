package registry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// ledger reserves sizes and keeps a line for each of its calls. The line "1: red over blue" is the
// first call of reserve, which changes the color from blue to red. When that reservation is
// settled, a line says "1 stored" or "1 returned".
type ledger struct {
	tb    testing.TB
	k     *kit
	mu    sync.Mutex
	lines []string
	n     int
	fail  func(n int) error // the error of the n-th call
}

func (l *ledger) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *ledger) reserve(_ context.Context, r *registry.Request, w, old *widget) (admission.Settle, error) {
	color := func(w *widget) string {
		if w == nil {
			return "nothing"
		}
		return w.Spec.Color
	}
	l.n++
	n, dry := l.n, ""
	if r.DryRun {
		dry = ", dry"
	}
	l.note("%d: %s over %s%s", n, color(w), color(old), dry)
	if l.fail != nil {
		if err := l.fail(n); err != nil {
			return nil, err
		}
	}
	if w != nil {
		if w.Namespace != "ns" || w.Name == "" || old == nil && w.UID == "" {
			l.tb.Errorf("%d: it is not known what for: %q in %q, UID %q", n, w.Name, w.Namespace, w.UID)
		}
		w.Spec.Size = int64(n)
	}
	return func(ctx context.Context, fate admission.Fate) {
		if ctx.Err() != nil {
			l.tb.Errorf("%d is settled with a context that has ended", n)
		}
		l.note("%d %s", n, map[admission.Fate]string{
			admission.Stored: "stored", admission.NotStored: "returned", admission.InDoubt: "in doubt"}[fate])
	}, nil
}

// want compares the notes since its last call.
func (l *ledger) want(what, want string) {
	l.tb.Helper()
	l.k.settle()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.lines, "; "); got != want {
		l.tb.Errorf("%s: got %q, want %q", what, got, want)
	}
	l.lines, l.n = nil, 0
}

// reserving returns a kit of widgets whose sizes are reserved.
func reserving(t *testing.T, o options) (*kit, *ledger) {
	t.Helper()
	l := &ledger{tb: t}
	o.resource = func(r *registry.ResourceOf[*widget]) { r.Reserve = l.reserve }
	l.k = newKit(t, o)
	return l.k, l
}

// settle waits until the cache has all writes. Until then, an update may begin with an older state.
func (k *kit) settle() {
	_, _ = k.List(k.ctx, &request.ListRequest{}) // ignores errors: the store may be one that fails
}

func TestReserveForCreate(t *testing.T) {
	p := &plugin{}
	k, l := reserving(t, options{chain: admission.Chain{p}})
	if w := k.create(named("a", colored("red"))); w.Spec.Size != 1 {
		t.Errorf("got %s, want the size that was reserved", text(w))
	}
	l.want("create", "1: red over nothing; 1 stored")

	for _, tt := range []struct {
		name string
		w    *widget
		fail error
		opts meta.CreateOptions
		want string
		err  meta.StatusReason // "" for none
	}{
		{"taken", named("a", colored("red")), nil, meta.CreateOptions{}, "1: red over nothing; 1 returned", meta.StatusReasonAlreadyExists},
		{"invalid", named("B", colored("red")), nil, meta.CreateOptions{}, "1: red over nothing; 1 returned", meta.StatusReasonInvalid},
		{"forbidden", named("forbidden", colored("red")), nil, meta.CreateOptions{}, "1: red over nothing; 1 returned", meta.StatusReasonForbidden},
		{"used up", named("b", colored("red")), meta.NewConflict(widgets, "b", errStale), meta.CreateOptions{}, "1: red over nothing", meta.StatusReasonConflict},
		{"used up, plainly", named("b", colored("red")), errStale, meta.CreateOptions{}, "1: red over nothing", meta.StatusReasonInternalError},
		{"dry", named("b", colored("red")), nil, meta.CreateOptions{DryRun: []string{"All"}}, "1: red over nothing, dry; 1 returned", ""},
		{"with a version", named("b", colored("red"), func(w *widget) { w.ResourceVersion = "1" }), nil, meta.CreateOptions{}, "1: red over nothing; 1 returned", meta.StatusReasonBadRequest},
		{"not even tried", named("b", func(w *widget) { w.Namespace = "else" }), nil, meta.CreateOptions{}, "", meta.StatusReasonBadRequest},
	} {
		l.fail = func(int) error { return tt.fail }
		p.validate = func(a *admission.Attributes) error {
			if a.Name == "forbidden" {
				return a.Forbidden("no")
			}
			return nil
		}
		_, err := k.Create(k.ctx, k.creation(tt.w, &tt.opts))
		if tt.err != "" {
			wantReason(t, tt.name, err, tt.err)
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		l.want(tt.name, tt.want)
	}
}

var errStale = fmt.Errorf("all are taken")

// TestReserveForGeneratedNames: each generated name is a try with a reservation of its own.
func TestReserveForGeneratedNames(t *testing.T) {
	store := &failingCreates{kind: storage.Exists}
	k, l := reserving(t, options{wrap: func(s storage.Store) storage.Store { store.Store = s; return store }})
	store.left = 2
	w := k.create(named("", colored("red"), func(w *widget) { w.GenerateName = "g-" }))
	l.want("create", "1: red over nothing; 1 returned; 2: red over nothing; 2 returned; 3: red over nothing; 3 stored")
	if w.Spec.Size != 3 {
		t.Errorf("got size %d, want that of the try that was stored", w.Spec.Size)
	}
}

func TestReserveForUpdate(t *testing.T) {
	p := &plugin{}
	k, l := reserving(t, options{chain: admission.Chain{p}})
	k.create(named("a", colored("red")))
	l.want("create", "1: red over nothing; 1 stored")

	if w, err := k.change("a", colored("blue")); err != nil || w.Spec.Size != 1 {
		t.Errorf("got %s, %v", text(w), err)
	}
	l.want("update", "1: blue over red; 1 stored")
	if _, err := k.change("a", func(*widget) {}); err != nil {
		t.Error(err)
	}
	l.want("update without change", "1: blue over blue; 1 stored")
	if _, err := k.change("a", func(w *widget) { w.Namespace = "" }); err != nil {
		t.Error(err)
	}
	l.want("update that leaves out the namespace", "1: blue over blue; 1 stored")
	if _, err := k.change("a", func(w *widget) { w.Labels = map[string]string{"x y": ""} }); !meta.IsInvalid(err) {
		t.Errorf("invalid: got %v", err)
	}
	l.want("invalid", "1: blue over blue; 1 returned")
	_, _, err := k.put(k.Store, k.get("a"), func(r *request.Write) { r.DryRun = true })
	if err != nil {
		t.Error(err)
	}
	l.want("dry", "1: blue over blue, dry; 1 returned")
	if _, err := k.change("none", colored("red")); !meta.IsNotFound(err) {
		t.Errorf("of nothing: got %v", err)
	}
	l.want("of nothing", "")
	if _, _, err := k.put(k.Store, named("b", colored("red")), func(r *request.Write) { r.ForceCreate = true }); err != nil {
		t.Error(err)
	}
	l.want("update that creates", "1: red over nothing; 1 stored")
	l.fail = func(int) error { return meta.NewForbidden(widgets, "a", errStale) }
	_, err = k.change("a", colored("green"))
	wantReason(t, "used up", err, meta.StatusReasonForbidden)
	l.want("used up", "1: green over blue")
	l.fail = nil

	// Another write comes between: the reservation of the overtaken try is returned before the next
	// try reserves.
	calls := 0
	p.validate = func(*admission.Attributes) error {
		if calls++; calls == 1 {
			if _, err := k.change("a", colored("between")); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	w, err := k.change("a", func(w *widget) { w.Spec.Color += "!" })
	if err != nil || w.Spec.Color != "between!" {
		t.Errorf("got %s, %v", text(w), err)
	}
	l.want("overtaken", "1: blue! over blue; 2: between over blue; 2 stored; 1 returned; 3: between! over between; 3 stored")

	// The second try is invalid: its reservation is returned, too.
	calls = 0
	w, err = k.change("a", func(w *widget) {
		if w.Spec.Color += "!"; calls > 0 {
			w.Labels = map[string]string{"x y": ""}
		}
	})
	if !meta.IsInvalid(err) {
		t.Errorf("got %s, %v, want an error of the second try", text(w), err)
	}
	l.want("overtaken, then invalid",
		"1: between!! over between!; 2: between over between!; 2 stored; 1 returned; 3: between! over between; 3 returned")
}

func TestReserveForDelete(t *testing.T) {
	store := &hooked{}
	k, l := reserving(t, options{wrap: func(s storage.Store) storage.Store { store.Store = s; return store }})
	const finalizer = "test.example.com/a"
	remove := func(name string, opts meta.DeleteOptions) {
		t.Helper()
		if _, err := k.delete(name, opts); err != nil {
			t.Fatal(err)
		}
	}
	made := func(name string, change ...func(*widget)) {
		t.Helper()
		k.create(named(name, append(change, colored("red"))...))
		l.want("create", "1: red over nothing; 1 stored")
	}

	made("a")
	remove("a", meta.DeleteOptions{DryRun: []string{"All"}})
	l.want("dry", "1: nothing over red, dry; 1 returned")
	remove("a", meta.DeleteOptions{})
	l.want("delete", "1: nothing over red; 1 stored")

	made("held", finalized(finalizer))
	remove("held", meta.DeleteOptions{})
	l.want("a deletion that begins", "")
	if _, _, err := k.put(k.Store, k.get("held"), func(r *request.Write) { r.DryRun = true }); err != nil {
		t.Fatal(err)
	}
	l.want("dry update of what is held", "1: red over red, dry; 1 returned")
	if _, err := k.change("held", finalized()); err != nil || k.get("held") != nil {
		t.Fatalf("got %v", err)
	}
	l.want("the last finalizer", "1: red over red; 1 returned; 2: nothing over red; 2 stored")

	made("held", finalized(finalizer))
	remove("held", meta.DeleteOptions{})
	w := k.get("held")
	w.Finalizers = nil
	if _, _, err := k.put(k.Store, w, func(r *request.Write) { r.DryRun = true }); err != nil || k.get("held") == nil {
		t.Fatalf("got %v", err)
	}
	l.want("the last finalizer, dry", "1: red over red, dry; 1 returned; 2: nothing over red, dry; 2 returned")

	// The deletion is refused: the object does not change, although its grace period would have
	// been over at once.
	made("kept", graceful(30))
	l.fail = func(int) error { return meta.NewForbidden(widgets, "kept", errStale) }
	zero := int64(0)
	_, err := k.delete("kept", meta.DeleteOptions{GracePeriodSeconds: &zero})
	wantReason(t, "a deletion that is refused", err, meta.StatusReasonForbidden)
	l.want("refused", "1: nothing over red")
	if w := k.get("kept"); w == nil || w.DeletionTimestamp != nil {
		t.Errorf("a refused deletion left %s", text(w))
	}
	l.fail = nil

	// Another client adds a finalizer between the decision and the deletion.
	made("between")
	store.before = func() {
		if _, err := k.change("between", finalized(finalizer)); err != nil {
			t.Error(err)
		}
	}
	remove("between", meta.DeleteOptions{})
	l.want("a finalizer comes between", "1: nothing over red; 2: red over red; 2 stored; 1 returned")
	if w := k.get("between"); w == nil || w.DeletionTimestamp == nil {
		t.Errorf("got %s, want it marked", text(w))
	}

	// Another client deletes the object after it has been marked.
	made("gone", graceful(30))
	store.before = func() { store.remove(t, "gone") }
	remove("gone", meta.DeleteOptions{GracePeriodSeconds: &zero})
	l.want("somebody else finishes", "1: nothing over red; 1 returned")

	made("gone", finalized(finalizer))
	remove("gone", meta.DeleteOptions{})
	k.settle()
	store.before = func() { store.remove(t, "gone") }
	if _, err := k.change("gone", finalized()); err != nil {
		t.Fatal(err)
	}
	l.want("somebody else finishes after the last finalizer", "1: red over red; 1 returned; 2: nothing over red; 2 returned")

	_, err = k.delete("none", meta.DeleteOptions{})
	wantReason(t, "delete of nothing", err, meta.StatusReasonNotFound)
	l.want("delete of nothing", "")
}

// hooked is a store that calls before once, just before a deletion.
type hooked struct {
	storage.Store
	before func()
}

func (h *hooked) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if before := h.before; before != nil {
		h.before = nil
		before()
	}
	return h.Store.Delete(ctx, key, pre)
}

// remove deletes a widget from the store directly.
func (h *hooked) remove(t *testing.T, name string) {
	t.Helper()
	if _, err := h.Store.Delete(t.Context(), "/registry/test.example.com/widgets/ns/"+name, storage.Pre{}); err != nil {
		t.Error(err)
	}
}

// TestReserveInDoubt: the fate of a reservation follows from what the store has. If that is
// unknown, the fate is InDoubt and the repair decides.
func TestReserveInDoubt(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault storagetest.Fault
		read  storagetest.Fault // the fault of the reads after the write
		keep  bool              // whether the fault stays
		ok    bool
		end   string
	}{
		{"refused", storagetest.Refuse, storagetest.None, true, false, "; 1 returned"},
		{"done, and found so", storagetest.Pretend, storagetest.None, false, true, "; 1 stored"},
		{"lost, and tried again", storagetest.Lose, storagetest.None, false, true, "; 1 stored"},
		{"done, nobody knows", storagetest.Pretend, storagetest.Refuse, true, false, "; 1 in doubt"},
		{"lost, nobody knows", storagetest.Lose, storagetest.Refuse, true, false, "; 1 in doubt"},
	} {
		for _, op := range []string{"create", "update", "delete", "the last finalizer"} {
			t.Run(op+"/"+tt.name, func(t *testing.T) {
				var faulty *storagetest.Faulty
				k, l := reserving(t, options{wrap: func(s storage.Store) storage.Store {
					faulty = storagetest.NewFaulty(s)
					return faulty
				}})
				if op != "create" {
					k.create(named("a", colored("red"), finalized("test.example.com/a")))
				}
				begun := ""
				switch op {
				case "delete":
					if _, err := k.change("a", finalized()); err != nil {
						t.Fatal(err)
					}
				case "the last finalizer":
					if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				k.settle()
				l.lines, l.n = nil, 0
				writes := 0
				faulty.Plan(func(_ int, what string) storagetest.Fault {
					switch what {
					case "put", "delete":
						if writes++; writes == 1 || tt.keep {
							return tt.fault
						}
					case "get", "range", "revision":
						if writes > 0 {
							return tt.read
						}
					}
					return storagetest.None
				})
				var err error
				switch op {
				case "create":
					_, err = k.Create(k.ctx, k.creation(named("a", colored("red")), &meta.CreateOptions{}))
					begun = "1: red over nothing"
				case "update":
					_, err = k.change("a", colored("blue"))
					begun = "1: blue over red"
				case "delete":
					_, err = k.delete("a", meta.DeleteOptions{})
					begun = "1: nothing over red"
				case "the last finalizer":
					_, err = k.change("a", finalized())
					begun = "1: red over red; 1 returned; 2: nothing over red"
				}
				if (err == nil) != tt.ok {
					t.Errorf("got %v, want success: %v", err, tt.ok)
				}
				end := tt.end
				if op == "the last finalizer" {
					end = strings.Replace(end, "1", "2", 1)
				}
				l.want("told", begun+end)
				if err != nil && tt.end == "; 1 in doubt" {
					wantReason(t, "a write in doubt", err, meta.StatusReasonServerTimeout)
				}
			})
		}
	}
}

// TestSettleOutlivesTheRequest: reservations are settled although the request ends during the
// write.
func TestSettleOutlivesTheRequest(t *testing.T) {
	p := &plugin{}
	k, l := reserving(t, options{chain: admission.Chain{p}})
	ctx, cancel := context.WithCancel(k.ctx)
	p.validate = func(*admission.Attributes) error { cancel(); return nil }
	if _, err := k.Create(ctx, k.creation(named("a", colored("red")), &meta.CreateOptions{})); err == nil {
		t.Fatal("got no error")
	}
	l.want("create", "1: red over nothing; 1 returned")
}
