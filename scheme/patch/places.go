package patch

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Strategic merges compare lists element by element. The keys of long lists are hashed once, so
// that the time is proportional to the sum of their lengths and not to the product.

// few is the length up to which elements are compared one by one, because hashing would cost more.
const few = 16

// scalar returns a value that is equal (==) for values that are the same (see same); ok is false
// for objects and lists, which are the same as nothing.
func scalar(v any) (key any, ok bool) {
	switch v := v.(type) {
	case object, list:
		return nil, false
	case raw:
		return v.Number(), true
	}
	return v, true
}

// places finds the first index of a value in a list.
type places struct {
	l     list
	value func(any) any // of an element
	first map[any]int   // by value; nil if the elements are few
}

// placesIn returns the places of a list by what value returns for its elements. The list must not
// change meanwhile.
func placesIn(l list, value func(any) any) places {
	x := places{l: l, value: value}
	if len(l) <= few {
		return x
	}
	x.first = make(map[any]int, len(l))
	for i, v := range l {
		key, ok := scalar(value(v))
		if _, known := x.first[key]; ok && !known {
			x.first[key] = i
		}
	}
	return x
}

// of returns the first index of a value, -1 if it is not in the list.
func (x *places) of(v any) int {
	if x.first == nil {
		return slices.IndexFunc(x.l, func(e any) bool { return same(x.value(e), v) })
	}
	return at(x.first, v)
}

// at returns what a map of places has for a value, -1 if there is nothing.
func at(first map[any]int, v any) int {
	if key, ok := scalar(v); ok {
		if i, ok := first[key]; ok {
			return i
		}
	}
	return -1
}

// itself is the value of a scalar in a list.
func itself(v any) any { return v }

// keyed is a list of objects that are found by the value of a merge key. Nothing behind the first
// element that is not an object is found.
type keyed struct {
	l   list
	key string
	m   *meter.Meter

	first map[any]int // by value; nil as long as the elements are few
	next  []int       // of each element with a value: the next one of the same, -1 if there is none
	err   error       // instead of what is not found
}

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

// hash notes where the elements are.
func (x *keyed) hash() {
	x.first, x.next = make(map[any]int, len(x.l)), make([]int, len(x.l))
	for i := len(x.l) - 1; i >= 0; i-- {
		if value, ok := lookup(x.l[i].(object), x.key, x.m); ok {
			x.next[i] = at(x.first, value)
			x.put(value, i)
		}
	}
}

// put notes that an element with a value for the key stands at i.
func (x *keyed) put(value any, i int) {
	if key, ok := scalar(value); ok {
		x.first[key] = i
	}
}

// append adds an element, whose value for the key is a new one.
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

// drop removes the first element with a value from the index, because its key has been removed.
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

// find returns the place of the first element whose key has the value, or -1.
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

// without removes the elements that have one of some values for a key, in place, and returns what
// is left. The rest of the array looks as if each had been removed by itself, in the order of
// values: callers still hold the list at its old length, and its order counts for the result.
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
	var tail list // what each removal leaves at the end
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

// distinct removes scalars that are there already. What stands last takes the place of a duplicate,
// as it does in Kubernetes; the order is made afterwards.
func distinct(l list) list {
	keys := make([]any, len(l))
	at := make(map[any][]int, len(l)) // of each value; what has moved since is found elsewhere
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

// rank sorts a list in place by the places of its elements. One that has none counts as less than
// everything. That is no proper order, so the result depends on the algorithm; Kubernetes uses this
// one (that of sort.SliceStable).
func rank(l list, place func(any) int) {
	var space [few]ranked
	all := space[:0]
	for _, v := range l {
		all = append(all, ranked{v, place(v)})
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if a.place < 0 || b.place < 0 || a.place < b.place {
			return -1
		}
		return 1
	})
	for i := range all {
		l[i] = all[i].value
	}
}
