package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestWindowLaws publishes random batches of changes. It compares each state, and the watchers that
// it wakes, with a model that keeps all changes. A fault of the window would make watchers of other
// tests wait for ever; here it is an error.
func TestWindowLaws(t *testing.T) {
	for _, cfg := range []Config{{WindowEvents: 3}, {WindowEvents: 30}, {WindowEvents: 1000, WindowBytes: 8 << 10}} {
		t.Run(fmt.Sprintf("events=%d", cfg.WindowEvents), func(t *testing.T) {
			store := memory.New(memory.Config{})
			defer store.Close()
			c := New(store, cfg)
			defer c.Close()
			r := c.Resource(ResourceConfig{Name: "things", Prefix: lawPrefix, GroupBy: []string{"color"},
				Decode: func(_ string, value []byte) (Decoded, error) { return Decoded{Data: value}, nil }})
			if _, err := r.List(t.Context(), ListOptions{Prefix: lawPrefix}); err != nil {
				t.Fatal(err)
			}
			m := &windowModel{r: r, e: r.epoch.Load(), rnd: rand.New(rand.NewPCG(1, uint64(cfg.WindowEvents))), objects: map[string]*Object{}}
			m.base = m.e.state.Load().last
			m.rev = m.base
			for _, key := range []groupKey{
				{prefix: lawPrefix}, {prefix: lawPrefix + "a/"}, {prefix: lawPrefix + "b/"}, {prefix: lawPrefix + "a/0"},
				{prefix: lawPrefix, field: "color", value: "red"}, {prefix: lawPrefix + "b/", field: "color", value: "blue"},
			} {
				w := &Watcher{key: key}
				m.watched = append(m.watched, watchedGroup{key, m.e.join(w)})
				defer m.e.leave(w)
			}
			for range 400 {
				if m.step(); len(m.wrong) > 0 {
					t.Fatalf("after %d changes, at revision %d:\n%s", len(m.all), m.rev, strings.Join(m.wrong, "\n"))
				}
			}
		})
	}
}

const lawPrefix = "/registry/things/"

// watchedGroup is a group with its key.
type watchedGroup struct {
	groupKey
	group *group
}

// concerns reports whether a change concerns the group.
func (g *watchedGroup) concerns(ch *change) bool {
	if strings.HasSuffix(g.prefix, "/") && !strings.HasPrefix(ch.key, g.prefix) || !strings.HasSuffix(g.prefix, "/") && ch.key != g.prefix {
		return false
	}
	is, has := ch.obj.field("color")
	was, had := ch.prev.field("color")
	return g.field == "" || has && is == g.value || had && was == g.value
}

// windowModel is the state that a resource must have.
type windowModel struct {
	r       *Resource
	e       *epoch
	rnd     *rand.Rand
	base    storage.Revision // the revision of the load
	rev     storage.Revision
	objects map[string]*Object
	all     []*change // the change with number i+1 is at i
	first   uint64    // number of the oldest change in the window
	watched []watchedGroup
	wrong   []string
}

func (m *windowModel) expect(ok bool, format string, args ...any) {
	if !ok {
		m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
	}
}

// batch makes changes of up to three revisions. A revision may have two changes. Some changes are
// already part of the loaded state. counted are the changes that the window must count.
func (m *windowModel) batch() (published, counted []*change) {
	if m.rnd.IntN(8) == 0 {
		o := &Object{Key: lawPrefix + "a/old", Rev: m.base, data: []byte("old")}
		published = append(published, &change{rev: m.base, key: o.Key, obj: o})
	}
	for range 1 + m.rnd.IntN(3) {
		m.rev++
		used := map[string]bool{}
		for range 1 + m.rnd.IntN(2) {
			key := fmt.Sprintf("%s%c/%d", lawPrefix, 'a'+rune(m.rnd.IntN(2)), m.rnd.IntN(5))
			if used[key] {
				continue
			}
			used[key] = true
			ch := &change{rev: m.rev, key: key}
			before := m.objects[key]
			if m.rnd.IntN(3) > 0 {
				ch.obj = &Object{Key: key, Rev: m.rev, data: []byte(strings.Repeat("x", m.rnd.IntN(300)))}
				if color := []string{"", "red", "blue"}[m.rnd.IntN(3)]; color != "" {
					ch.obj.Fields = Pairs{{Key: "color", Value: color}}
				}
			}
			published = append(published, ch)
			if before == nil && ch.obj == nil {
				continue // nothing was deleted
			}
			if m.objects[key] = ch.obj; ch.obj == nil {
				delete(m.objects, key)
			}
			model := &change{rev: ch.rev, key: key, obj: ch.obj, prev: before}
			m.all, counted = append(m.all, model), append(counted, model)
		}
	}
	return published, counted
}

// step publishes a batch and checks the state after it.
func (m *windowModel) step() {
	published, counted := m.batch()
	cells := map[*cell]*watchedGroup{}
	for i := range m.watched {
		g := &m.watched[i]
		cells[g.group.cell.Load()] = g
	}
	since := uint64(len(m.all)-len(counted)) + 1
	woken := m.publish(published)
	s := m.e.state.Load()
	m.numbers(s)
	m.content(s)
	for c, g := range cells {
		m.wakes(g, c, slices.Contains(woken, c), s, since, counted)
	}
	for _, c := range woken {
		close(c.woken)
	}
}

func (m *windowModel) publish(changes []*change) []*cell {
	m.r.mu.Lock()
	defer m.r.mu.Unlock() // also if it panics; otherwise the test would not end
	return m.r.publishLocked(m.e, changes)
}

// numbers checks which changes are in the window.
func (m *windowModel) numbers(s *state) {
	m.expect(s.end() == uint64(len(m.all))+1, "the next change gets number %d, want %d", s.end(), len(m.all)+1)
	m.expect(s.first >= max(m.first, 1), "the window begins with number %d, and has begun with %d before", s.first, m.first)
	m.expect(len(m.all) == 0 || s.last == m.all[len(m.all)-1].rev, "the newest change has revision %d, want that of the last one", s.last)
	if len(m.wrong) > 0 {
		return
	}
	m.first = s.first
	cfg := &m.r.c.cfg
	var bytes, kept int64
	for i, ch := range s.events {
		want := m.all[s.first-1+uint64(i)]
		m.expect(ch.key == want.key && ch.rev == want.rev && ch.obj == want.obj && ch.prev == want.prev,
			"change %d is %s at %d, want %s at %d", s.first+uint64(i), ch.key, ch.rev, want.key, want.rev)
		m.expect(ch.rev > s.floor, "change %d has revision %d, and all after %d are in the window", s.first+uint64(i), ch.rev, s.floor)
		bytes += ch.size()
	}
	m.expect(s.bytes == bytes, "the window counts %d bytes, and has %d", s.bytes, bytes)
	m.expect(len(s.events) <= cfg.WindowEvents && bytes <= cfg.WindowBytes, "the window has %d changes and %d bytes, which is beyond its bounds", len(s.events), bytes)
	if s.first == 1 {
		m.expect(s.floor == m.base, "nothing was dropped, and the window reaches back to revision %d, not to the load at %d", s.floor, m.base)
	} else {
		dropped := m.all[s.first-2]
		m.expect(s.floor == dropped.rev, "the last change that was dropped has revision %d, and the window reaches back to %d", dropped.rev, s.floor)
		newest := int64(0)
		for i := int(s.first) - 2; i >= 0 && m.all[i].rev == dropped.rev; i-- {
			newest += m.all[i].size()
			kept++
		}
		m.expect(len(s.events)+int(kept) > cfg.WindowEvents || bytes+newest > cfg.WindowBytes, "revision %d was dropped, and there was room for it", dropped.rev)
	}
	for rev := s.floor; rev <= s.last+1; rev++ {
		want := s.first
		for want < s.end() && m.all[want-1].rev <= rev {
			want++
		}
		m.expect(s.seqAfter(rev) == want, "the first change after revision %d is %d, want %d", rev, s.seqAfter(rev), want)
	}
}

// content checks the objects.
func (m *windowModel) content(s *state) {
	stored := int64(0)
	for key, want := range m.objects {
		got, _ := s.tree.Get(key)
		m.expect(got == want, "%s is not what the last change has made it", key)
		stored += int64(len(want.data))
	}
	m.expect(s.tree.Len() == len(m.objects), "there are %d objects, want %d", s.tree.Len(), len(m.objects))
	m.expect(s.stored == stored, "the objects count %d bytes, and have %d", s.stored, stored)
}

// wakes checks that the groups that a change concerns are woken, and learn the numbers of the first
// and the last of these changes.
func (m *windowModel) wakes(g *watchedGroup, c *cell, woken bool, s *state, since uint64, counted []*change) {
	var from, upto uint64
	for i, ch := range counted {
		if g.concerns(ch) {
			if from == 0 {
				from = since + uint64(i)
			}
			upto = since + uint64(i) + 1
		}
	}
	if s.first > since { // some changes have left the window already: all groups must look
		from, upto = since, since+1
	}
	m.expect(woken == (from != 0), "group %v: woken %v, want %v", g.groupKey, woken, from != 0)
	m.expect(c.from.Load() == from && c.upto == upto, "group %v is told of changes %d to %d, want %d to %d", g.groupKey, c.from.Load(), c.upto, from, upto)
	fresh := g.group.cell.Load()
	m.expect(woken == (fresh != c), "group %v waits on the cell of before: %v, want %v", g.groupKey, fresh == c, !woken)
	m.expect(fresh.from.Load() == 0, "group %v: the next cell is marked already", g.groupKey)
}
