package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
)

// notingReserver is a reserver that notes its calls and those of its settle function.
type notingReserver struct {
	name  string
	notes *[]string
	err   error
	none  bool   // it takes nothing
	broke string // its settle function panics with this
}

func (p *notingReserver) Name() string                        { return p.name }
func (p *notingReserver) Handles(op admission.Operation) bool { return op != admission.Connect }

func (p *notingReserver) note(what string) { *p.notes = append(*p.notes, p.name+" "+what) }

func (p *notingReserver) Reserve(context.Context, *admission.Attributes) (admission.Settle, error) {
	p.note("asked")
	if p.err != nil || p.none {
		return nil, p.err
	}
	return func(ctx context.Context, fate admission.Fate) {
		if ctx.Err() != nil {
			p.note("cancelled")
		}
		p.note(fate.String())
		if p.broke != "" {
			panic(p.broke)
		}
	}, nil
}

// TestReservers: reservers run after all validators, wherever they stand in the chain. Each one
// that has reserved something is settled once, the last one first.
func TestReservers(t *testing.T) {
	failed := errors.New("no")
	for _, tt := range []struct {
		name   string
		op     admission.Operation
		change func(a, b, c *notingReserver)
		refuse error
		want   string
	}{
		{"all take", admission.Create, func(a, b, c *notingReserver) {}, nil,
			"a asked; b asked; c asked; c stored; b stored; a stored"},
		{"one takes nothing", admission.Create, func(a, b, c *notingReserver) { b.none = true }, nil,
			"a asked; b asked; c asked; c stored; a stored"},
		{"the last fails", admission.Create, func(a, b, c *notingReserver) { c.err = failed }, nil,
			"a asked; b asked; c asked; b stored; a stored"},
		{"the first fails", admission.Create, func(a, b, c *notingReserver) { a.err = failed }, nil, "a asked"},
		{"a validator behind them refuses", admission.Create, func(a, b, c *notingReserver) {}, failed, ""},
		{"another operation", admission.Connect, func(a, b, c *notingReserver) {}, nil, ""},
	} {
		for _, observed := range []bool{false, true} {
			var notes, told []string
			reservers := []*notingReserver{{name: "a", notes: &notes}, {name: "b", notes: &notes}, {name: "c", notes: &notes}}
			tt.change(reservers[0], reservers[1], reservers[2])
			chain := admission.Chain{reservers[0], reservers[1], reservers[2], actor{validate: func(context.Context, *admission.Attributes) error {
				return tt.refuse
			}}}
			if observed {
				chain = chain.WithObserver(func(name string) admission.Observer {
					return func(_ bool, _ admission.Operation, _ time.Duration, rejected bool) {
						told = append(told, fmt.Sprint(name, " ", rejected))
					}
				})
			}
			ctx, cancel := context.WithCancel(t.Context())
			attrs := &admission.Attributes{Operation: tt.op}
			err := chain.Validate(ctx, attrs)
			fails := tt.refuse != nil || slices.ContainsFunc(reservers, func(p *notingReserver) bool { return p.err != nil })
			if (err != nil) != fails {
				t.Errorf("%s: got %v", tt.name, err)
			}
			cancel()
			attrs.Settle(ctx, admission.Stored)
			attrs.Settle(ctx, admission.NotStored)
			if got := strings.Join(notes, "; "); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
			all := slices.DeleteFunc(told, func(text string) bool { return !strings.HasPrefix(text, " ") })
			if observed && !slices.Equal(all, []string{fmt.Sprint(" ", fails)}) {
				t.Errorf("%s: of all plugins together, observers were told %q", tt.name, all)
			}
		}
	}
}

// fencingReserver is a notingReserver that asks for a fence at its key. The revision grows with
// each call.
type fencingReserver struct {
	notingReserver
	key string
	rev uint64
}

func (p *fencingReserver) Reserve(ctx context.Context, a *admission.Attributes) (admission.Settle, error) {
	if err := a.Fence(p.key, p.rev); err != nil {
		return nil, err
	}
	p.rev++
	return p.notingReserver.Reserve(ctx, a)
}

// TestFence: reservers set the fence of a try, which ends with the try. If the fence did not hold,
// ReserveAgain runs only the reservers again, and keeps what others took.
func TestFence(t *testing.T) {
	for _, observed := range []bool{false, true} {
		var notes []string
		first := &fencingReserver{notingReserver{name: "first", notes: &notes}, "/fence", 7}
		second := &fencingReserver{notingReserver{name: "second", notes: &notes}, "/fence", 5}
		validated := 0
		chain := admission.Chain{first, &notingReserver{name: "between", notes: &notes, none: true}, second,
			actor{validate: func(context.Context, *admission.Attributes) error { validated++; return nil }}}
		if observed {
			chain = chain.WithObserver(func(string) admission.Observer {
				return func(bool, admission.Operation, time.Duration, bool) {}
			})
		}
		a := &admission.Attributes{Operation: admission.Create}
		fence := func(wantKey string, wantRev uint64) {
			t.Helper()
			if key, rev := a.Fenced(); key != wantKey || rev != wantRev {
				t.Errorf("the fence is %q at %d, want %q at %d", key, rev, wantKey, wantRev)
			}
		}
		fence("", 0)
		if err := a.ReserveAgain(t.Context()); err != nil {
			t.Errorf("without a fence: got %v", err)
		}
		a.Take(func(context.Context, admission.Fate) { notes = append(notes, "kind settled") })
		if err := chain.Validate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		fence("/fence", 5)
		for range 2 {
			if err := a.ReserveAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fence("/fence", 7)
		second.err = errors.New("no")
		if err := a.ReserveAgain(t.Context()); err != second.err {
			t.Errorf("got %v, want %v", err, second.err)
		}
		a.Settle(t.Context(), admission.NotStored)
		fence("", 0)
		again := "second not stored; first not stored; first asked; between asked; second asked; "
		want := "first asked; between asked; second asked; " + again + again + again + "first not stored; kind settled"
		if got := strings.Join(notes, "; "); got != want || validated != 1 {
			t.Errorf("got %q, and %d calls of the validator, want %q and one", got, validated, want)
		}
	}
}

// TestTwoFences: two reservers cannot set fences at different keys, because a write carries only
// one.
func TestTwoFences(t *testing.T) {
	var notes []string
	a := &admission.Attributes{Operation: admission.Create}
	err := admission.Chain{&fencingReserver{notingReserver{name: "a", notes: &notes}, "/fence", 7},
		&fencingReserver{notingReserver{name: "b", notes: &notes}, "/other", 7}}.Validate(t.Context(), a)
	if err == nil || err.Error() != "admission: two reservers want fences at different keys, and a write can carry only one" {
		t.Errorf("got %v", err)
	}
	if key, rev := a.Fenced(); key != "/fence" || rev != 7 {
		t.Errorf("the fence is %q at %d", key, rev)
	}
}

// TestSettleAfterPanic: a second Settle does not settle the reserver that panicked, but settles the
// others.
func TestSettleAfterPanic(t *testing.T) {
	var notes []string
	a := &admission.Attributes{Operation: admission.Create}
	chain := admission.Chain{&notingReserver{name: "a", notes: &notes}, &notingReserver{name: "b", notes: &notes, broke: "boom"}}
	if err := chain.Validate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic of a settle was lost")
			}
		}()
		defer a.Settle(t.Context(), admission.InDoubt)
		a.Settle(t.Context(), admission.Stored)
	}()
	if got := strings.Join(notes, "; "); got != "a asked; b asked; b stored; a in doubt" {
		t.Errorf("got %q", got)
	}
}

// TestConnectShowsOptions: plugins see the options of a connect as its object.
func TestConnectShowsOptions(t *testing.T) {
	options := thing("v1", 1)
	a := &admission.Attributes{Operation: admission.Connect, Object: options}
	if got, err := a.ObjectIn(t.Context(), "v1"); err != nil || got != options {
		t.Errorf("got %v, %v", got, err)
	}
	if err := a.Replace(t.Context(), options); err == nil {
		t.Error("what a client asks for was replaced as if it were an object of the resource")
	}
}
