package matching

import (
	"iter"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
)

// This file has Index, which finds the few hooks among many whose rules name a resource.

// Index finds hooks by operation, group and resource. T is a hook.
type Index[T any] struct {
	hooks []T
	// any has the hooks whose rules name any group and any resource; named has the others. Each
	// list is of indices of hooks, in ascending order.
	any   [len(bits)][]int32
	named map[named][]int32
}

// named is a key of Index: group or resource, but not both, may be the wildcard.
type named struct {
	operation       operations // exactly one
	group, resource string
}

// NewIndex returns the Index of hooks, which it keeps. matcher returns the Matcher of a hook.
func NewIndex[T any](hooks []T, matcher func(T) *Matcher) *Index[T] {
	x := &Index[T]{hooks: hooks, named: map[named][]int32{}}
	for i := range hooks {
		m := matcher(hooks[i])
		if m.anyResource {
			x.add(int32(i), 1<<len(bits)-1, wildcard, wildcard)
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
	for i := range bits {
		op := operations(1 << i)
		if ops&op == 0 {
			continue
		}
		if group == wildcard && resource == wildcard {
			x.any[i] = appendOnce(x.any[i], hook)
			continue
		}
		key := named{op, group, resource}
		x.named[key] = appendOnce(x.named[key], hook)
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
// request, or of an equivalent resource. Each has to be asked by its Matcher whether it is for the
// request.
func (x *Index[T]) Candidates(a *admission.Attributes, w *World) iter.Seq[T] {
	return func(yield func(T) bool) {
		if len(x.hooks) == 0 {
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
	i := slices.Index(bits[:], a.Operation)
	if i < 0 {
		return to
	}
	if len(x.any[i]) > 0 {
		to = append(to, x.any[i])
	}
	if len(x.named) == 0 {
		return to
	}
	key := named{1 << i, a.Resource.Group, a.Resource.Resource}
	to = x.namedBy(to, key)
	// Groups and resources are equal for all versions of a resource, so that there is rarely another.
	last := key
	for _, t := range w.equivalents(a) {
		key.group, key.resource = t.Resource.Group, t.Resource.Resource
		if key != last && (key.group != a.Resource.Group || key.resource != a.Resource.Resource) {
			to = x.namedBy(to, key)
			last = key
		}
	}
	return to
}

// namedBy appends the lists of a key, with a wildcard for the group, for the resource or for none.
func (x *Index[T]) namedBy(to [][]int32, key named) [][]int32 {
	for _, k := range [...]named{
		key, {key.operation, wildcard, key.resource}, {key.operation, key.group, wildcard},
	} {
		if list := x.named[k]; len(list) > 0 {
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

// after removes an item from the front of the lists, and lists that become empty.
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
