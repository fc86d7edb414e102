package registry_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
)

// joined is a Derived that joins the names and colors of all widgets, and counts how often it is
// built.
type joined struct {
	*registry.Derived[*widget, string]
	built int
	last  map[string]*widget
}

func newJoined(s registry.Stores) *joined {
	j := &joined{}
	j.Derived = registry.NewDerived(s, widgets, func(objects []*widget) string {
		j.built++
		j.last = map[string]*widget{}
		var text []string
		for _, w := range objects {
			text = append(text, w.Name+":"+w.Spec.Color)
			j.last[w.Name] = w
		}
		return strings.Join(text, " ")
	})
	return j
}

// TestDerived: Now includes each write of this server as soon as the write has been answered, and
// builds the value only if something has changed.
func TestDerived(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns")
	j := newJoined(stores{k.Store})
	want := func(want string) {
		t.Helper()
		if got, err := j.Now(k.ctx); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	want("w00:blue w01:red")
	want("w00:blue w01:red")
	if j.built != 1 {
		t.Errorf("built %d times, want once", j.built)
	}
	kept := j.last["w00"]
	for _, color := range []string{"black", "white", "green"} {
		if _, err := k.change("w01", colored(color)); err != nil {
			t.Fatal(err)
		}
		want("w00:blue w01:" + color)
	}
	if j.last["w00"] != kept {
		t.Error("an object that did not change was decoded again")
	}
	if _, err := k.delete("w00", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("w01:green")
	if n := testing.AllocsPerRun(100, func() { _, _ = j.Now(k.ctx) }); n > 0 {
		t.Errorf("got %v allocations while nothing changes, want none", n)
	}

	none := newJoined(stores{})
	for range 2 {
		if got, err := none.Now(k.ctx); err != nil || got != "" || none.built != 1 {
			t.Errorf("without a resource: got %q, %v, built %d times", got, err, none.built)
		}
	}
}

// TestDerivedBetweenWriters calls Now after each of many writes, in parallel with other readers and
// writers.
func TestDerivedBetweenWriters(t *testing.T) {
	k := newKit(t, options{})
	k.fill(4, "ns")
	j := newJoined(stores{k.Store})
	var wg sync.WaitGroup
	for _, name := range []string{"w00", "w01", "w02", "w03"} {
		wg.Go(func() {
			for _, color := range strings.Fields("blue red green white black pink grey cyan") {
				if _, err := k.change(name, colored(color)); err != nil {
					t.Error(err)
					return
				}
				if got, err := j.Now(k.ctx); err != nil || !strings.Contains(got, name+":"+color) {
					t.Errorf("after %s was %s: got %q, %v", name, color, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestDerivedUnread: Now fails while an object cannot be read, and returns the value when that
// object is gone.
func TestDerivedUnread(t *testing.T) {
	for name, tt := range unread {
		t.Run(name, func(t *testing.T) {
			k := withUnread(t, tt.value, nil, nil)
			k.master()
			j := newJoined(stores{k.Store})
			if got, err := j.Now(k.ctx); err == nil {
				t.Errorf("got %q and no error", got)
			}
			ignore := true
			unsafe := meta.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore}
			if _, err := k.delete("x", unsafe); err != nil {
				t.Fatal(err)
			}
			if got, err := j.Now(k.ctx); err != nil || got != "good:" {
				t.Errorf("after its deletion: got %q, %v", got, err)
			}
		})
	}
}
