package apply

import (
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file merges an applied configuration into the live object, as structured-merge-diff's Merge
// does. Only Door.Apply calls it. It makes new objects and lists only along changed paths: wherever
// the result equals one side, the result is that side, lazy or not.

// Merge returns the tree that results when config, which lists the fields an applier wants, is put
// into live. Values that only one of the two has, or that both have as the same text, are not
// looked into. The error is that of m, or lists what does not fit the schema.
func Merge(m *meter.Meter, live, config any, s *schema.Schema) (any, error) {
	g := merger{walker: newWalker(m)}
	defer g.done()
	out := g.merge(partOf(live), partOf(config), rootShape(s))
	if err := g.err(); err != nil {
		return nil, err
	}
	return out.value(), nil
}

// merger walks live and config at once. config's values are called wish.
type merger struct {
	*walker
	outStack []outcome // results of the open objects and lists; used like the stacks of reader
}

// outcome is the merged value at one path. asLive and asWish say that it is exactly the value of
// live, or of wish, so that no new value has to be made; both may be true.
type outcome struct {
	part
	name           string // of a field
	asLive, asWish bool
}

// merge returns the merged value at one path. At most one of live and wish may be missing.
func (m *merger) merge(live, wish part, sh shape) outcome {
	switch {
	case m.ends():
		return outcome{}
	case !wish.there:
		return outcome{part: live, asLive: true}
	case !live.there:
		return outcome{part: wish, asWish: true}
	case live.raw != "" && live.raw == wish.raw:
		return outcome{part: live, asLive: true, asWish: true}
	}
	switch sh = m.given(sh, wish.class()); {
	case sh.object != impossible:
		a, b := live.as(objectClass), wish.as(objectClass)
		switch {
		case sh.object == atomic || a.isEmpty():
		case b.isEmpty(): // null, too
			return outcome{part: live, asLive: true}
		default:
			return m.objects(a, b, sh)
		}
	case sh.scalar != noScalar:
		if !m.scalars(live, wish, sh.scalar) {
			return outcome{}
		}
	case sh.list != impossible:
		a, b := live.as(listClass), wish.as(listClass)
		switch {
		case sh.list == atomic || a.isEmpty():
		case b.isEmpty():
			return outcome{part: live, asLive: true}
		default:
			return m.lists(a, b, sh)
		}
	default:
		m.failShape()
		return outcome{}
	}
	return outcome{part: wish, asWish: true}
}

// objects merges two granular objects that are not empty.
func (m *merger) objects(live, wish part, sh shape) outcome {
	as, bs := m.entries(live, m.depth()), m.entries(wish, m.depth())
	start := len(m.outStack)
	defer func() {
		m.outStack = m.outStack[:start]
		m.freeEntries(bs)
		m.freeEntries(as)
	}()
	join(as, bs, func(name string, a, b part) {
		part, _ := sh.field(name)
		m.enter(Field(name))
		out := m.merge(a, b, part)
		m.leave()
		if out.there {
			out.name = name
			m.outStack = append(m.outStack, out)
		}
	})
	outs := m.outStack[start:]
	if same, ok := unchanged(outs, live, len(as), wish, len(bs)); ok {
		return same
	}
	if len(outs) == 0 {
		return outcome{}
	}
	object := make(map[string]any, len(outs))
	for _, out := range outs {
		object[out.name] = out.value()
	}
	return outcome{part: partOf(object)}
}

// unchanged returns live or wish if the merged parts outs are exactly its parts: all of outs come
// from it, and none of its parts is left out. It reports false if neither is.
func unchanged(outs []outcome, live part, inLive int, wish part, inWish int) (outcome, bool) {
	same := outcome{part: live, asLive: len(outs) == inLive, asWish: len(outs) == inWish}
	for _, out := range outs {
		same.asLive = same.asLive && out.asLive
		same.asWish = same.asWish && out.asWish
	}
	if !same.asLive {
		same.part = wish
	}
	return same, same.asLive || same.asWish
}

// lists merges two granular lists that are not empty. order decides which element comes next.
func (m *merger) lists(live, wish part, sh shape) outcome {
	as, bs := m.items(live, m.depth()), m.items(wish, m.depth())
	start := len(m.outStack)
	defer func() {
		m.outStack = m.outStack[:start]
		m.freeItems(bs)
		m.freeItems(as)
	}()
	bs2, as2 := m.identify(sh, bs), m.identify(sh, as)
	if m.refuse(bs2) || len(as2) < len(as) || len(bs2) < len(bs) {
		return outcome{}
	}
	o := newOrder(m.meter, as2, bs2)
	for {
		i, j, more := o.next()
		if !more {
			break
		}
		var a, b part
		e := Element{}
		switch {
		case j < 0:
			a, e = as[i], as2[i].element
		case i >= 0:
			a = as[i]
			fallthrough
		default:
			b, e = bs[j], bs2[j].element
		}
		m.enter(e)
		out := m.merge(a, b, sh.items())
		m.leave()
		out.asLive = out.asLive && i == len(m.outStack)-start
		out.asWish = out.asWish && j == len(m.outStack)-start
		if out.there {
			m.outStack = append(m.outStack, out)
		}
	}
	outs := m.outStack[start:]
	if same, ok := unchanged(outs, live, len(as), wish, len(bs)); ok {
		return same
	}
	if len(outs) == 0 {
		return outcome{}
	}
	list := make([]any, len(outs))
	for i, out := range outs {
		list[i] = out.value()
	}
	return outcome{part: partOf(list)}
}

// refuse notes a problem for each element that repeats the identity of another, and reports whether
// there are any.
func (m *merger) refuse(list []identified) bool {
	again := m.repeated(list)
	for i := range again {
		if again[i] {
			m.fail("duplicate entries for key %v", list[i].element)
		}
	}
	return again != nil
}
