package patch

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
)

// listindex.go finds elements of lists by value or by merge key, for strategic.go and order.go. In
// Kubernetes, a strategic merge compares each element of one list with each of the other. Here the
// keys of long lists are hashed once, so the time is proportional to the sum of the lengths and not
// to their product. The results are the same, even where Kubernetes' depend on its algorithm; tests
// compare the functions with plain loops.

// few is the length up to which elements are compared one after the other, because that is faster
// than hashing.
const few = 16

// scalar returns a map key for v, equal for values that are the same (see same in tree.go). ok is
// false for objects and lists, which are never the same as another value.
func scalar(v any) (key any, ok bool) {
	switch v := v.(type) {
	case object, list:
		return nil, false
	case raw:
		return v.Number(), true
	}
	return v, true
}

// valueIndex finds the first index of a value in a list.
type valueIndex struct {
	l     list
	value func(any) any // returns the part of an element that is compared
	first map[any]int   // from scalar of the value to the index; nil if the list is short
}

// indexOf returns a valueIndex of a list whose elements are compared by the results of value. The
// list must not change while the index is in use.
func indexOf(l list, value func(any) any) valueIndex {
	x := valueIndex{l: l, value: value}
	if len(l) <= few {
		return x
	}
	x.first = make(map[any]int, len(l))
	for i, v := range l {
		key, ok := scalar(value(v))
		if _, repeated := x.first[key]; ok && !repeated {
			x.first[key] = i
		}
	}
	return x
}

// of returns the index of the first element with a value, or -1.
func (x *valueIndex) of(v any) int {
	if x.first == nil {
		return slices.IndexFunc(x.l, func(e any) bool { return same(x.value(e), v) })
	}
	return at(x.first, v)
}

// at returns the index that a map has for a value, or -1.
func at(first map[any]int, v any) int {
	if key, ok := scalar(v); ok {
		if i, ok := first[key]; ok {
			return i
		}
	}
	return -1
}

// itself is the value function of lists of scalars.
func itself(v any) any { return v }

// keyed is a list of objects that are found by the value of a merge key. It ends before the first
// element that is not an object: a value that is not found up to there gives err, as the search of
// Kubernetes fails when it arrives there.
type keyed struct {
	l   list
	key string
	m   *meter.Meter

	first map[any]int // from the value of the key to the first element with it; nil if l is short
	next  []int       // for each element, the next one with the same value, or -1
	err   error       // returned when a value is not found; nil if all elements are objects
}

// keyedBy returns the objects in l, to be found by key.
func keyedBy(l list, key string, m *meter.Meter) keyed {
	x := keyed{l: l, key: key, m: m}
	for i, v := range l {
		if _, ok := v.(object); !ok {
			x.err = unmergeable("value for key " + strconv.Itoa(i) + " is not a map")
			x.l = l[:i]
			break
		}
	}
	if len(x.l) > few {
		x.hash()
	}
	return x
}

// hash fills first and next. It goes backwards, so that first ends at the first element.
func (x *keyed) hash() {
	x.first, x.next = make(map[any]int, len(x.l)), make([]int, len(x.l))
	for i := len(x.l) - 1; i >= 0; i-- {
		if value, ok := lookup(x.l[i].(object), x.key, x.m); ok {
			x.next[i] = at(x.first, value)
			x.put(value, i)
		}
	}
}

// put records in first that the element at i has a value for the key.
func (x *keyed) put(value any, i int) {
	if key, ok := scalar(value); ok {
		x.first[key] = i
	}
}

// append adds an element whose value for the key is not in the list yet.
func (x *keyed) append(element, value any) {
	x.l = append(x.l, element)
	switch {
	case x.first != nil:
		x.put(value, len(x.next))
		x.next = append(x.next, -1)
	case len(x.l) > few:
		x.hash()
	}
}

// drop removes the first element with a value from the index, because a merge has removed its key.
// The next element with that value is found from then on.
func (x *keyed) drop(value any) {
	if x.first == nil {
		return
	}
	key, _ := scalar(value)
	if next := x.next[x.first[key]]; next >= 0 {
		x.first[key] = next
	} else {
		delete(x.first, key)
	}
}

// find returns the index of the first element whose key has the value. If there is none, it returns
// -1 and x.err.
func (x *keyed) find(value any) (int, error) {
	var i int
	if x.first != nil {
		i = at(x.first, value)
	} else {
		i = slices.IndexFunc(x.l, func(e any) bool {
			found, ok := lookup(e.(object), x.key, x.m)
			return ok && same(found, value)
		})
	}
	if i >= 0 {
		return i, nil
	}
	return -1, x.err
}

// without removes the elements of l whose key has one of the values, in place, and returns the
// rest.
//
// Kubernetes removes one element after the other by append(l[:i], l[i+1:]...), which moves the
// elements after i forward. Its caller still holds the list at the old length, and later sorts by
// that list. So without must leave behind the result what those moves leave there: for example,
// [a b c d] without d and then b becomes [a c], and c d stand behind it in the array.
func without(l list, key string, values []any, m *meter.Meter) list {
	byValue := map[any][]int{}
	for i, v := range l {
		if value, ok := lookup(v.(object), key, m); ok {
			if k, ok := scalar(value); ok {
				byValue[k] = append(byValue[k], i)
			}
		}
	}
	gone := make([]bool, len(l))
	var tail list // the element that each removal leaves at the end, from the end backwards
	last := len(l) - 1
	for _, value := range values {
		k, ok := scalar(value)
		if !ok {
			continue
		}
		for _, i := range byValue[k] {
			for gone[last] {
				last--
			}
			tail = append(tail, l[last])
			gone[i] = true
		}
		delete(byValue, k)
	}
	kept := l[:0]
	for i, v := range l {
		if !gone[i] {
			kept = append(kept, v)
		}
	}
	slices.Reverse(tail)
	copy(l[len(kept):], tail)
	return kept
}

// distinct removes duplicates from a list of scalars. As in Kubernetes, the last element of the
// list moves to the position of a removed one; order sorts the result later, but with a comparison
// for which the input order matters (see rank).
func distinct(l list) list {
	keys := make([]any, len(l))
	at := make(map[any][]int, len(l)) // indexes of each value, some of them outdated by moves
	for i, v := range l {
		keys[i], _ = scalar(v)
		at[keys[i]] = append(at[keys[i]], i)
	}
	for i := 0; i < len(l); i++ {
		same := at[keys[i]]
		slices.Sort(same)
		for _, j := range same {
			for j > i && j < len(l) && keys[j] == keys[i] {
				last := len(l) - 1
				l[j], keys[j] = l[last], keys[last]
				l = l[:last]
				if keys[j] != keys[i] {
					at[keys[j]] = append(at[keys[j]], j)
				}
			}
		}
	}
	return l
}

// ranked is an element of the list that rank sorts. index is its position in the list that gives
// the order, -1 if it is not in that list.
type ranked struct {
	value any
	index int
}

// sortSteps estimates the work of rank for n elements, in steps: n log² n, as for any in-place
// stable sort.
func sortSteps(n int) int {
	levels := bits.Len(uint(n))
	return n * levels * levels / 4
}

// rank sorts a list in place by the results of index, the position of an element in another list.
// An element without an index (-1) compares as less than every other, in both directions. That is
// no proper order, so the result depends on the algorithm. Kubernetes uses sort.SliceStable, whose
// algorithm slices.SortStableFunc shares.
func rank(l list, index func(any) int) {
	var space [few]ranked
	all := space[:0]
	for _, v := range l {
		all = append(all, ranked{v, index(v)})
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if a.index < 0 || b.index < 0 || a.index < b.index {
			return -1
		}
		return 1
	})
	for i := range all {
		l[i] = all[i].value
	}
}
