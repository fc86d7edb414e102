package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/storage/cache"
)

// showLight shows light objects in another form, and hides dark ones. It notes how many objects
// each call asks about.
type showLight struct {
	asked []int
	fail  error
}

func (s *showLight) show(_ context.Context, objects []*cache.Object) ([]*cache.Object, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	out, n := make([]*cache.Object, len(objects)), 0
	for i, o := range objects {
		if o == nil {
			continue
		}
		n++
		if data, _ := o.Stored(); strings.Contains(string(data), "dark") {
			continue
		}
		const form = 77
		if out[i] = o.FormObject(form); out[i] == nil {
			out[i] = o.KeepForm(cache.Decoded{Data: []byte("shown"), Form: form, Labels: cache.Pairs{{Key: "seen", Value: "yes"}}})
		}
	}
	s.asked = append(s.asked, n)
	return out, nil
}

// TestShownLists: a list has the objects that Show shows, a page is full, and Show is asked about
// as few objects as possible.
func TestShownLists(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  cache.ListOptions
		keys  string // of 0 to 9; the odd ones are dark
		more  bool
		left  int64
		asked string
	}{
		{"all", cache.ListOptions{}, "0 2 4 6 8", false, 0, "[10]"},
		{"a page", cache.ListOptions{Limit: 3}, "0 2 4", true, -1, "[3 7]"},
		{"the first", cache.ListOptions{Limit: 1}, "0", true, 9, "[1]"},
		{"the last page", cache.ListOptions{After: things + "ns/5", Limit: 3}, "6 8", false, 0, "[3 1]"},
		{"one", cache.ListOptions{Only: things + "ns/4"}, "4", false, 0, "[1]"},
		{"one that is dark", cache.ListOptions{Only: things + "ns/5"}, "", false, 0, "[1]"},
		{"what matches", cache.ListOptions{Match: func(o *cache.Object) bool { return o.Key > things+"ns/6" }}, "8", false, 0, "[3]"},
	} {
		for _, from := range []string{"cache", "store"} {
			if tt.name == "all" && from == "store" {
				continue // a list of all loads the cache
			}
			t.Run(tt.name+" from the "+from, func(t *testing.T) {
				r, store, _ := open(t, cache.Config{})
				for i := range 10 {
					put(t, store, fmt.Sprintf("%sns/%d", things, i), []string{"light", "dark"}[i%2], nil)
				}
				if from == "cache" {
					if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil {
						t.Fatal(err)
					}
				}
				var s showLight
				tt.opts.Prefix, tt.opts.Show = things, s.show
				list, err := r.List(t.Context(), tt.opts)
				if err != nil {
					t.Fatal(err)
				}
				var keys []string
				for _, o := range list.Objects {
					keys = append(keys, o.Key[len(things+"ns/"):])
					if data, form := o.Stored(); string(data) != "shown" || form != 77 || o.Rev == 0 {
						t.Errorf("%s: got %q in form %d at %d", o.Key, data, form, o.Rev)
					}
				}
				asked := fmt.Sprint(s.asked)
				if got := strings.Join(keys, " "); got != tt.keys || list.More != tt.more || list.Remaining != tt.left || from == "cache" && asked != tt.asked {
					t.Errorf("got %s, more %v, %d left, asked about %s; want %s, more %v, %d left, asked about %s",
						got, list.More, list.Remaining, asked, tt.keys, tt.more, tt.left, tt.asked)
				}
				s.fail = errors.New("no light")
				if _, err := r.List(t.Context(), tt.opts); !errors.Is(err, s.fail) {
					t.Errorf("got %v, want %v", err, s.fail)
				}
			})
		}
	}
}

// TestShownWatch: an object that becomes visible is added. An object that becomes hidden is
// deleted: the event has its last visible state, at the revision of the change. A watch from before
// the window gets the same events.
func TestShownWatch(t *testing.T) {
	for _, from := range []string{"the window", "before the window"} {
		t.Run(from, func(t *testing.T) {
			r, store, _ := open(t, cache.Config{})
			load := func() {
				if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil {
					t.Fatal(err)
				}
			}
			first := put(t, store, things+"ns/a", "dark", nil)
			if from == "the window" {
				load()
			}
			for _, value := range []string{"light", "lighter", "dark", "darker", "light"} {
				put(t, store, things+"ns/a", value, nil)
			}
			remove(t, store, things+"ns/a")
			last := put(t, store, things+"ns/a", "light", nil)
			load()
			var s showLight
			w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: first, Show: s.show})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			s.fail = errors.New("no light")
			if _, err := w.Next(t.Context()); !errors.Is(err, s.fail) {
				t.Errorf("got %v, want %v", err, s.fail)
			}
			s.fail = nil
			var got []string
			for rev := first; rev < last; {
				events, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					rev = e.Rev
					data, _ := e.Object.Stored()
					got = append(got, fmt.Sprintf("%v+%d %s", []string{"added", "modified", "deleted"}[e.Type], rev-first, data))
					if e.Object.Rev != e.Rev {
						t.Errorf("the object of the event at %d is at %d", e.Rev, e.Object.Rev)
					}
				}
			}
			want := "added+1 shown, modified+2 shown, deleted+3 shown, added+5 shown, deleted+6 shown, added+7 shown"
			if strings.Join(got, ", ") != want {
				t.Errorf("got %s\nwant %s", strings.Join(got, ", "), want)
			}
			initial, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Initial: true, InitialEnd: true, Show: s.show})
			if err != nil {
				t.Fatal(err)
			}
			defer initial.Close()
			put(t, store, things+"ns/b", "dark", nil)
			if events, err := initial.Next(t.Context()); err != nil || len(events) != 2 || events[0].Type != cache.Added || !events[1].InitialEnd {
				t.Errorf("the initial state: got %v, %v, want an object and the end", events, err)
			}
		})
	}
}
