package registry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// These tests hold the law of admission.Settle: whichever step of a write fails, each thing that
// was taken for the write is settled exactly once, with the right fate.

// reservation is one thing that was taken for a try of a write.
type reservation struct {
	who, object string
	fates       []admission.Fate
}

// reservations records everything that is taken for writes, and its fates.
type reservations struct {
	t     *testing.T
	list  []*reservation
	harm  map[string]func() error // by who takes: a function that fails or panics, called first
	guard func() uint64           // the revision of the fence, if reservers ask for it
}

// take records a reservation. All reservers, the kind and the action take through it.
func (b *reservations) take(who, object string) (admission.Settle, error) {
	if fail := b.harm[who]; fail != nil {
		if err := fail(); err != nil {
			return nil, err
		}
	}
	l := &reservation{who: who, object: object}
	b.list = append(b.list, l)
	return func(ctx context.Context, fate admission.Fate) {
		if ctx.Err() != nil {
			b.t.Errorf("%s is settled with a context that has ended", who)
		}
		l.fates = append(l.fates, fate)
	}, nil
}

// reservingPlugin is a plugin: a validator that may refuse, and a reserver that records what it
// reserves.
type reservingPlugin struct {
	*reservations
	name string
}

func (l reservingPlugin) Name() string                      { return l.name }
func (reservingPlugin) Handles(op admission.Operation) bool { return true }

func (l reservingPlugin) Validate(context.Context, *admission.Attributes) error {
	if fail := l.harm["validator "+l.name]; fail != nil {
		return fail()
	}
	return nil
}

func (l reservingPlugin) Reserve(_ context.Context, a *admission.Attributes) (admission.Settle, error) {
	if l.guard != nil {
		if err := a.Fence(fenceKey, l.guard()); err != nil {
			return nil, err
		}
	}
	name := a.Name
	if old, ok := a.Old.(*widget); ok {
		name = old.Name // a deletion of a collection has no name
	}
	return l.take(l.name, name)
}

// broken is a store that calls functions before it writes. These may panic.
type broken struct {
	storage.Store
	before func()
	fenced func() // called before a write that carries a fence
}

func (b *broken) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	b.do()
	if b.fenced != nil && pre.Fence.Key != "" {
		b.fenced()
	}
	return b.Store.Put(ctx, key, value, pre, lease)
}

func (b *broken) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	b.do()
	return b.Store.Delete(ctx, key, pre)
}

func (b *broken) do() {
	if b.before != nil {
		b.before()
	}
}

// settling is a kit whose writes reserve.
type settling struct {
	*kit
	*reservations
	faulty *storagetest.Faulty
	store  *broken
	actor  *registry.Actor
	cancel context.CancelFunc
}

func newSettling(t *testing.T) *settling {
	t.Helper()
	s := &settling{reservations: &reservations{t: t, harm: map[string]func() error{}}}
	var widgets registry.View[*widget]
	s.kit = newKit(t, options{
		types: addPokes, chain: admission.Chain{
			&plugin{mutate: func(*admission.Attributes) error {
				if fail := s.harm["mutator"]; fail != nil {
					return fail()
				}
				return nil
			}},
			reservingPlugin{s.reservations, "first"}, reservingPlugin{s.reservations, "second"},
		},
		wrap: func(store storage.Store) storage.Store {
			s.faulty = storagetest.NewFaulty(store)
			s.store = &broken{Store: s.faulty}
			return s.store
		},
		resource: func(r *registry.ResourceOf[*widget]) {
			r.Reserve = func(_ context.Context, _ *registry.Request, w, old *widget) (admission.Settle, error) {
				if w == nil {
					w = old
				}
				return s.take("kind", w.Name)
			}
			r.Subresources = append(r.Subresources, registry.SubresourceOf[*widget]{Name: "poke", Kind: pokeV1beta1,
				Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
					settle, err := s.take("action", a.Name)
					if err != nil {
						return nil, err
					}
					a.Take(settle)
					_, err = widgets.Update(ctx, a.Namespace, a.Name, a.DryRun, func(w *widget) error { w.Spec.Size++; return nil })
					return a.Object, err
				}})
		},
	})
	var err error
	if widgets, err = registry.ViewOf[*widget](s.Store); err != nil {
		t.Fatal(err)
	}
	if s.actor, err = s.Actor(&s.Resource().Subresources[1]); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*widget{named("a", graceful(30)), named("b"), named("held", finalized("test.example.com/a"))} {
		s.create(w)
	}
	if _, err := s.delete("held", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.list = nil
	s.ctx, s.cancel = context.WithCancel(s.ctx)
	t.Cleanup(s.cancel)
	return s
}

// overtake changes all objects, as another writer does.
func (s *settling) overtake() {
	widgets, err := registry.ViewOf[*widget](s.Store)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "held"} {
		if _, err := widgets.Update(s.t.Context(), "ns", name, false, func(w *widget) error { w.Spec.Size += 100; return nil }); err != nil {
			s.t.Error(err)
		}
	}
}

// settledWrites are the writes to which TestSettleLaw applies each failure.
var settledWrites = []struct {
	name  string
	dry   bool
	do    func(s *settling) error
	takes []string // who takes something if the write succeeds
}{
	{"create", false, func(s *settling) error {
		_, err := s.Create(s.ctx, s.creation(named("c"), &meta.CreateOptions{}))
		return err
	}, []string{"kind", "first", "second"}},
	{"create of a generated name", false, func(s *settling) error {
		w := named("", func(w *widget) { w.GenerateName = "g-" })
		_, err := s.Create(s.ctx, s.creation(w, &meta.CreateOptions{}))
		return err
	}, []string{"kind", "first", "second"}},
	{"dry create", true, func(s *settling) error {
		_, err := s.Create(s.ctx, s.creation(named("c"), &meta.CreateOptions{DryRun: []string{"All"}}))
		return err
	}, []string{"kind", "first", "second"}},
	{"update", false, func(s *settling) error {
		_, _, err := s.put(s.Store, named("b", colored("blue")), unconditional)
		return err
	}, []string{"kind", "first", "second"}},
	{"update that changes nothing", false, func(s *settling) error {
		_, err := s.change("b", func(*widget) {})
		return err
	}, []string{"kind", "first", "second"}},
	{"update that creates", false, func(s *settling) error {
		_, _, err := s.Update(s.ctx, forced(s.write("c", func(context.Context, request.Current) (meta.Typed, error) { return named("c"), nil })))
		return err
	}, []string{"kind", "first", "second"}},
	{"update of the status", false, func(s *settling) error {
		_, _, err := s.put(s.Subresource("status"), named("b", func(w *widget) { w.Status.Phase = "new" }), unconditional)
		return err
	}, []string{"first", "second"}},
	{"patch", false, func(s *settling) error {
		_, err := s.change("b", colored("blue"))
		return err
	}, []string{"kind", "first", "second"}},
	{"dry patch", true, func(s *settling) error {
		_, _, err := s.put(s.Store, named("b", colored("blue")), unconditional, func(r *request.Write) { r.DryRun = true })
		return err
	}, []string{"kind", "first", "second"}},
	{"the last finalizer", false, func(s *settling) error {
		_, err := s.change("held", finalized())
		return err
	}, []string{"kind", "first", "second"}},
	{"delete", false, func(s *settling) error {
		_, err := s.delete("b", meta.DeleteOptions{})
		return err
	}, []string{"first", "second", "kind"}},
	{"delete after a mark", false, func(s *settling) error {
		_, err := s.delete("a", meta.DeleteOptions{GracePeriodSeconds: new(int64)})
		return err
	}, []string{"first", "second", "kind"}},
	{"delete that only begins", false, func(s *settling) error {
		_, err := s.delete("a", meta.DeleteOptions{})
		return err
	}, []string{"first", "second"}},
	{"dry delete", true, func(s *settling) error {
		_, err := s.delete("b", meta.DeleteOptions{DryRun: []string{"All"}})
		return err
	}, []string{"first", "second", "kind"}},
	{"deletecollection", false, func(s *settling) error {
		_, err := s.deleteCollection(s.ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{GracePeriodSeconds: new(int64)})
		return err
	}, []string{"first", "second", "kind"}},
	{"action", false, func(s *settling) error {
		_, err := s.actor.Create(s.ctx, s.sent("ns", "b", oldPokeOf(1)))
		return err
	}, []string{"first", "second", "action"}},
	{"dry action", true, func(s *settling) error {
		req := s.sent("ns", "b", oldPokeOf(1))
		req.DryRun = true
		_, err := s.actor.Create(s.ctx, req)
		return err
	}, []string{"first", "second", "action"}},
}

// unconditional makes an update valid for every state of its object, as one without a
// resourceVersion is.
func unconditional(r *request.Write) {
	change := r.Change
	r.Change = func(ctx context.Context, cur request.Current) (meta.Typed, error) {
		obj, err := change(ctx, cur)
		if err != nil || cur.Encoded == nil {
			return obj, err
		}
		now, err := cur.Object()
		if err != nil {
			return nil, err
		}
		w := scheme.Copy(obj.(*widget)).(*widget)
		w.ResourceVersion = now.GetObjectMeta().ResourceVersion
		return w, nil
	}
}

var errInjected = meta.NewForbidden(widgets, "b", errors.New("injected"))

// once calls f at the first call only, because f itself may write.
func once(f func()) func() error {
	done := false
	return func() error {
		if !done {
			done = true
			f()
		}
		return nil
	}
}

// faultyWrites makes each write of the store fail, and also the reads after a write, which would
// find its fate.
func (s *settling) faultyWrites(fault, reads storagetest.Fault) {
	writes := 0
	s.faulty.Plan(func(_ int, op string) storagetest.Fault {
		switch op {
		case "put", "delete":
			writes++
			return fault
		case "get", "range", "revision":
			if writes > 0 {
				return reads
			}
		}
		return storagetest.None
	})
}

// failures has each failure by its step, with the fate of what was taken for the last try.
var failures = []struct {
	name   string
	arm    func(s *settling)
	fate   admission.Fate
	action admission.Fate // for an action; InDoubt if the server fails after the action has begun
}{
	{"nothing", func(*settling) {}, admission.Stored, admission.Stored},
	{"a mutator refuses", saysNo("mutator"), admission.NotStored, admission.NotStored},
	{"the first validator refuses", saysNo("validator first"), admission.NotStored, admission.NotStored},
	{"the last validator refuses", saysNo("validator second"), admission.NotStored, admission.NotStored},
	{"the kind's reserve fails", saysNo("kind"), admission.NotStored, admission.Stored},
	{"the first reserver fails", saysNo("first"), admission.NotStored, admission.NotStored},
	{"the last reserver fails", saysNo("second"), admission.NotStored, admission.NotStored},
	{"the action's own fails", saysNo("action"), admission.Stored, admission.NotStored},
	{"the store refuses", func(s *settling) { s.faultyWrites(storagetest.Refuse, storagetest.None) }, admission.NotStored, admission.InDoubt},
	{"the store has written, and nobody knows", func(s *settling) { s.faultyWrites(storagetest.Pretend, storagetest.Refuse) },
		admission.InDoubt, admission.InDoubt},
	{"the store has not written, and nobody knows", func(s *settling) { s.faultyWrites(storagetest.Lose, storagetest.Refuse) },
		admission.InDoubt, admission.InDoubt},
	{"the store has written, and is found to have", func(s *settling) {
		s.faultyWrites(storagetest.Pretend, storagetest.None)
	}, admission.Stored, admission.Stored},
	{"others are faster", func(s *settling) { s.harm["second"] = once(s.overtake) }, admission.Stored, admission.Stored},
	{"others are faster, then a validator refuses", func(s *settling) {
		s.harm["second"] = once(func() { s.overtake(); saysNo("validator first")(s) })
	}, admission.NotStored, admission.Stored},
	{"the fence moves", func(s *settling) { s.fenced(1, func() {}) }, admission.Stored, admission.Stored},
	{"the fence moves, then a reserver refuses", func(s *settling) { s.fenced(1, func() { saysNo("second")(s) }) },
		admission.NotStored, admission.Stored},
	{"the fence moves, then the last reserver panics", func(s *settling) { s.fenced(1, func() { breaking("second")(s) }) },
		admission.NotStored, admission.Stored},
	{"the fence moves, then others are faster", func(s *settling) { s.fenced(1, s.overtake) }, admission.Stored, admission.Stored},
	{"the fence moves all the time", func(s *settling) { s.fenced(1000, func() {}) }, admission.NotStored, admission.Stored},
	{"the fence moves after a write that is lost in doubt", func(s *settling) {
		s.fenced(1, func() {
			s.faulty.FailAt(0, storagetest.Lose)
		})
	}, admission.Stored, admission.Stored},
	{"the request ends while it is validated", func(s *settling) { s.harm["validator first"] = once(s.cancel) },
		admission.NotStored, admission.InDoubt},
	{"a mutator panics", breaking("mutator"), admission.NotStored, admission.NotStored},
	{"a validator panics", breaking("validator second"), admission.NotStored, admission.NotStored},
	{"the kind's reserve panics", breaking("kind"), admission.NotStored, admission.Stored},
	{"the last reserver panics", breaking("second"), admission.NotStored, admission.NotStored},
	{"the action panics", breaking("action"), admission.Stored, admission.InDoubt},
	{"the store panics", func(s *settling) { s.store.before = func() { panic("boom") } }, admission.InDoubt, admission.InDoubt},
}

// fenced makes the reservers ask for a fence. It moves the fence before each of the next n writes
// that carry it, and calls f at the first of these writes.
func (s *settling) fenced(n int, f func()) {
	s.guard = s.kit.fence
	s.store.fenced = func() {
		if n--; n < 0 {
			return
		}
		do := f
		f = func() {}
		s.kit.moveFence()
		do()
	}
}

func saysNo(who string) func(s *settling) {
	return func(s *settling) { s.harm[who] = func() error { return errInjected } }
}

func breaking(who string) func(s *settling) {
	return func(s *settling) { s.harm[who] = func() error { panic("boom") } }
}

// TestSettleLaw runs each write with each failure.
func TestSettleLaw(t *testing.T) {
	for _, write := range settledWrites {
		for _, failure := range failures {
			t.Run(write.name+"/"+failure.name, func(t *testing.T) {
				s := newSettling(t)
				failure.arm(s)
				err := func() (err error) {
					defer func() {
						if cause := recover(); cause != nil {
							if !strings.HasPrefix(fmt.Sprint(cause), "boom") {
								panic(cause)
							}
							err = errInjected
						}
					}()
					return write.do(s)
				}()
				s.store.before, s.store.fenced = nil, nil
				s.faulty.Plan(func(int, string) storagetest.Fault { return storagetest.None })
				isAction := slices.Contains(write.takes, "action")
				want := failure.fate
				if isAction {
					want = failure.action
				}
				s.checkFates(write.name, want, write.dry, err)
				if failure.name == "nothing" {
					takes := map[string]bool{}
					for _, l := range s.list {
						takes[l.who] = true
					}
					if got := slices.Sorted(maps.Keys(takes)); err != nil || !slices.Equal(got, slices.Sorted(slices.Values(write.takes))) {
						t.Errorf("%q took something, want %q; %v", got, write.takes, err)
					}
				}
			})
		}
	}
}

// checkFates compares the fates of all reservations with the law. A write that the failure did not
// concern has succeeded.
func (s *settling) checkFates(write string, want admission.Fate, dry bool, err error) {
	s.t.Helper()
	if err == nil {
		want = admission.Stored
	}
	if dry {
		want = admission.NotStored
	}
	last := map[string]*reservation{}
	for _, l := range s.list {
		last[l.who+" of "+l.object] = l
	}
	for _, l := range s.list {
		fate := admission.NotStored // an overtaken try
		if last[l.who+" of "+l.object] == l {
			fate = want
		}
		if l.object == "held" && l.who != "kind" && write == "the last finalizer" {
			fate = admission.NotStored // the last finalizer goes, so that the object is deleted and not updated
		}
		if got := fmt.Sprint(l.fates); got != fmt.Sprint([]admission.Fate{fate}) {
			s.t.Errorf("%s of %s was told %s, want [%s]; the write ended with %v", l.who, l.object, got, fate, err)
		}
	}
}
