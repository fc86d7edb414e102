package matching

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has Index, which finds the few hooks among many whose rules name a resource. The
// plugins of webhooks and admissionpolicy make an Index when a hook has changed. At each write,
// they go through its Candidates and ask the Matcher of each.

// Index finds hooks by operation, group and resource. T is a hook.
type Index[T any] struct {
	hooks []T
	by    [4]lists // by the number of the operation's bit
}

// lists are the hooks for one operation, by the group and the resource that their rules name. Each
// list has indices into Index.hooks, in ascending order. Rules with a wildcard have lists and maps
// of their own. The maps are often empty, and a look-up in an empty map costs almost nothing.
type lists struct {
	both       map[meta.GroupResource][]int32
	byResource map[string][]int32 // any group
	byGroup    map[string][]int32 // any resource
	any        []int32            // any group and any resource
}

// NewIndex returns the Index of hooks, which it keeps. matcher returns the Matcher of a hook.
func NewIndex[T any](hooks []T, matcher func(T) *Matcher) *Index[T] {
	x := &Index[T]{hooks: hooks}
	for i := range x.by {
		x.by[i] = lists{
			both: map[meta.GroupResource][]int32{}, byResource: map[string][]int32{}, byGroup: map[string][]int32{},
		}
	}
	for i := range hooks {
		m := matcher(hooks[i])
		if m.anyResource {
			x.add(int32(i), everyOperation, wildcard, wildcard)
		}
		for j := range m.rules {
			r := &m.rules[j]
			for _, group := range r.groups {
				for k := range r.resources {
					x.add(int32(i), r.operations, group, r.resources[k].resource)
				}
			}
		}
	}
	return x
}

// add adds a hook to the lists of a group and a resource, once to each.
func (x *Index[T]) add(hook int32, ops operations, group, resource string) {
	for i := range x.by {
		if ops&(1<<i) == 0 {
			continue
		}
		switch l := &x.by[i]; {
		case group == wildcard && resource == wildcard:
			l.any = appendOnce(l.any, hook)
		case group == wildcard:
			l.byResource[resource] = appendOnce(l.byResource[resource], hook)
		case resource == wildcard:
			l.byGroup[group] = appendOnce(l.byGroup[group], hook)
		default:
			gr := meta.GroupResource{Group: group, Resource: resource}
			l.both[gr] = appendOnce(l.both[gr], hook)
		}
	}
}

func appendOnce(list []int32, hook int32) []int32 {
	if len(list) > 0 && list[len(list)-1] == hook {
		return list
	}
	return append(list, hook)
}

// Len returns the number of hooks.
func (x *Index[T]) Len() int { return len(x.hooks) }

// Candidates yields in order the hooks of which a rule names the operation, group and resource of a
// request, or of an equivalent resource. The caller must ask the Matcher of each whether it matches
// the request, because Candidates ignores versions, subresources, scopes, names and selectors. If
// somebody wants the story of the request, Candidates yields all hooks, so that the story says of
// each why it is not called.
func (x *Index[T]) Candidates(a *admission.Attributes, w *World) iter.Seq[T] {
	return func(yield func(T) bool) {
		if len(x.hooks) == 0 {
			return
		}
		if a.Told() {
			slices.Values(x.hooks)(yield)
			return
		}
		var room [8][]int32
		lists := x.lists(room[:0], a, w)
		for len(lists) > 0 {
			next := least(lists)
			if !yield(x.hooks[next]) {
				return
			}
			lists = after(lists, next)
		}
	}
}

// lists appends the lists with the candidates for a request.
func (x *Index[T]) lists(to [][]int32, a *admission.Attributes, w *World) [][]int32 {
	op := bit(a.Operation)
	if op == 0 {
		return to
	}
	l := &x.by[bits.TrailingZeros8(uint8(op))]
	if len(l.any) > 0 {
		to = append(to, l.any)
	}
	if len(l.both)+len(l.byResource)+len(l.byGroup) == 0 {
		return to
	}
	asked := a.Resource.GroupResource()
	to = l.appendOf(to, asked)
	// All versions of a resource have the same group and resource, so another pair is rare.
	last := asked
	equivalents := w.equivalents(a)
	for i := range equivalents {
		if gr := equivalents[i].Resource.GroupResource(); gr != last && gr != asked {
			to = l.appendOf(to, gr)
			last = gr
		}
	}
	return to
}

// appendOf appends the lists for a group and a resource that are not empty.
func (l *lists) appendOf(to [][]int32, gr meta.GroupResource) [][]int32 {
	for _, list := range [...][]int32{l.both[gr], l.byResource[gr.Resource], l.byGroup[gr.Group]} {
		if len(list) > 0 {
			to = append(to, list)
		}
	}
	return to
}

// least returns the least of the first items of lists, none of which is empty.
func least(lists [][]int32) int32 {
	first := lists[0][0]
	for _, list := range lists[1:] {
		first = min(first, list[0])
	}
	return first
}

// after removes item from the front of the lists, and removes the lists that are then empty.
func after(lists [][]int32, item int32) [][]int32 {
	kept := lists[:0]
	for _, list := range lists {
		if list[0] == item {
			list = list[1:]
		}
		if len(list) > 0 {
			kept = append(kept, list)
		}
	}
	return kept
}
