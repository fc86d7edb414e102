package patch

import (
	"math/bits"
	"slices"
	"sort"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Lists of a strategic merge are compared with one another element by element. The keys of each list are hashed once, so
// that this takes as long as the lists are, and not as their product.

// scalar returns a value that is equal (==) for values that are the same (see same); ok is false for objects and lists,
// which are the same as nothing.
func scalar(v any) (key any, ok bool) {
	switch v := v.(type) {
	case object, list:
		return nil, false
	case number:
		return native(v), true
	}
	return v, true
}

// places says where in a list a value stands first.
type places map[any]int

// placesIn finds the places of what value makes of the elements of a list.
func placesIn(l list, value func(any) any) places {
	x := make(places, len(l))
	for i, v := range l {
		key, ok := scalar(value(v))
		if _, known := x[key]; ok && !known {
			x[key] = i
		}
	}
	return x
}

// of returns the place of a value, -1 if it is not in the list.
func (x places) of(v any) int {
	if key, ok := scalar(v); ok {
		if i, ok := x[key]; ok {
			return i
		}
	}
	return -1
}

// itself is the value of a scalar in a list.
func itself(v any) any { return v }

// keyed are the places in a list of objects of the values of a merge key. What is no object ends it: nothing behind that is found.
type keyed struct {
	places
	next []int // of each element: the next one of the same key, -1 if there is none
	err  error // instead of what is not found
}

func keyedBy(l list, key string, m *meter.Meter) *keyed {
	x := &keyed{places: make(places, len(l))}
	for i, v := range l {
		if _, ok := v.(object); !ok {
			x.err = unmergeable("value for key " + strconv.Itoa(i) + " is not a map")
			l = l[:i]
			break
		}
	}
	x.next = make([]int, len(l))
	for i := len(l) - 1; i >= 0; i-- {
		x.next[i] = -1
		if value, ok := lookup(l[i].(object), key, m); ok {
			x.next[i] = x.of(value)
			x.put(value, i)
		}
	}
	return x
}

// put notes that an element with a value for the key stands at i.
func (x places) put(value any, i int) {
	if key, ok := scalar(value); ok {
		x[key] = i
	}
}

// append notes an element behind the others, whose value for the key is a new one.
func (x *keyed) append(value any) {
	x.put(value, len(x.next))
	x.next = append(x.next, -1)
}

// drop forgets the first element with a value.
func (x *keyed) drop(value any) {
	key, _ := scalar(value)
	if next := x.next[x.places[key]]; next >= 0 {
		x.places[key] = next
	} else {
		delete(x.places, key)
	}
}

// find returns the place of the first element whose key has the value, or -1.
func (x *keyed) find(value any) (int, error) {
	if i := x.of(value); i >= 0 {
		return i, nil
	}
	return -1, x.err
}

// without removes the elements that have one of some values for a key, in place, and returns what is left. The rest of
// the array looks as if each had been removed by itself, in the order of values: callers still hold the list at its old
// length, and its order counts for the result.
func without(l list, key string, values []any, m *meter.Meter) list {
	at := map[any][]int{}
	for i, v := range l {
		if value, ok := lookup(v.(object), key, m); ok {
			if k, ok := scalar(value); ok {
				at[k] = append(at[k], i)
			}
		}
	}
	gone := make([]bool, len(l))
	var tail list // what each removal leaves at the end
	last := len(l) - 1
	for _, value := range values {
		k, ok := scalar(value)
		if !ok {
			continue
		}
		for _, i := range at[k] {
			for gone[last] {
				last--
			}
			tail = append(tail, l[last])
			gone[i] = true
		}
		delete(at, k)
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

// distinct removes scalars that are there already. What stands last takes the place of a duplicate, as it does in
// Kubernetes; the order is made afterwards.
func distinct(l list) list {
	keys := make([]any, len(l))
	at := make(map[any][]int, len(l)) // of each value; what has moved since is found elsewhere
	for i, v := range l {
		keys[i], _ = scalar(v)
		at[keys[i]] = append(at[keys[i]], i)
	}
	for i := 0; i < len(l)-1; i++ {
		same := at[keys[i]]
		slices.Sort(same)
		for _, j := range same {
			for j > i && j < len(l) && keys[j] == keys[i] {
				last := len(l) - 1
				l[j], keys[j] = l[last], keys[last]
				l = l[:last]
				if j < last && keys[j] != keys[i] {
					at[keys[j]] = append(at[keys[j]], j)
				}
			}
		}
	}
	return l
}

// ranked is an element and its place in the list by which it is sorted, -1 if it is not there.
type ranked struct {
	value any
	place int
}

// sortSteps is about how many steps it takes to rank n elements.
func sortSteps(n int) int {
	levels := bits.Len(uint(n))
	return n * levels * levels / 4
}

// rank sorts a list in place by the places of its elements. One that has none counts as less than everything. That is no
// proper order, so the result depends on the algorithm; Kubernetes uses this one.
func rank(l list, place func(any) int) {
	all := make([]ranked, len(l))
	for i, v := range l {
		all[i] = ranked{v, place(v)}
	}
	sort.SliceStable(all, func(i, j int) bool {
		pi, pj := all[i].place, all[j].place
		return pi < 0 || pj < 0 || pi < pj
	})
	for i := range all {
		l[i] = all[i].value
	}
}
