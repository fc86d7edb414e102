package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
)

// order merges the orders of two granular lists, live and wish. Elements of wish keep their order.
// An element that only live has comes after the elements that it followed in live, as far as the
// order of wish allows. The steps of next are those of visitListItems in structured-merge-diff
// (typed/merge.go), because other steps would give other orders.
//
// For example, live [a, b, c] and wish [c, x, a] give [b, c, x, a].
type order struct {
	// inWish is, for each element of live, its index in wish; inLive is, for each element of
	// wish, the index of the first element of live with its identity. -1 means that the other side
	// lacks the element.
	inWish, inLive []int
	many           []bool // for each element of wish, whether live has several elements of its identity
	done           []bool // for each element of wish, whether next has returned it
	shared         []int  // indexes in wish of elements in both lists that next has yet to return
	i, j           int    // the next index of live, and of wish
}

// newOrder returns the order for merging live and wish. Elements of live may repeat an identity,
// elements of wish may not.
func newOrder(m *meter.Meter, live, wish []identified) *order {
	o := &order{
		inWish: make([]int, len(live)), inLive: make([]int, len(wish)),
		many: make([]bool, len(wish)), done: make([]bool, len(wish)),
	}
	find := inOrder(m, wish)
	for j := range o.inLive {
		o.inLive[j] = -1
	}
	for i, each := range live {
		j := find(each.element)
		if o.inWish[i] = j; j < 0 {
			continue
		}
		if o.many[j] = o.inLive[j] >= 0; !o.many[j] {
			o.inLive[j] = i
		}
	}
	for j := range wish {
		if o.inLive[j] >= 0 {
			o.shared = append(o.shared, j)
		}
	}
	return o
}

// inOrder returns a function that finds an element's index in list by binary search; -1 if it is
// not there.
func inOrder(m *meter.Meter, list []identified) func(e Element) int {
	sorted := make([]int, len(list))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(i, j int) int { return list[i].element.compare(m, list[j].element) })
	return func(e Element) int {
		k, ok := slices.BinarySearchFunc(sorted, e, func(i int, e Element) int { return list[i].element.compare(m, e) })
		if !ok {
			return -1
		}
		return sorted[k]
	}
}

// next returns the indexes in live and in wish of the elements that make the next element of the
// result; an index is -1 if that side has no part in it. If several elements of live have the
// identity of one in wish, wish's element replaces all of them.
func (o *order) next() (i, j int, more bool) {
	for o.i < len(o.inWish) || o.j < len(o.inLive) {
		if o.i < len(o.inWish) && o.j < len(o.inLive) {
			if o.inWish[o.i] == o.j {
				o.i++
				return o.takeWish()
			}
			if at := o.inWish[o.i]; at >= 0 && len(o.shared) > 0 && o.shared[0] != at {
				// wish has this element, but another shared element comes first.
				o.i++
				continue
			}
		}
		if o.i < len(o.inWish) {
			if at := o.inWish[o.i]; at < 0 {
				o.i++
				return o.i - 1, -1, true
			} else if o.done[at] {
				o.i++
			}
		}
		if o.j < len(o.inLive) {
			return o.takeWish()
		}
	}
	return -1, -1, false
}

// takeWish returns the next element of wish, and the element of live with its identity if there is
// exactly one.
func (o *order) takeWish() (i, j int, more bool) {
	j = o.j
	o.j++
	o.done[j] = true
	if len(o.shared) > 0 && o.shared[0] == j {
		o.shared = o.shared[1:]
	}
	if i = o.inLive[j]; o.many[j] {
		i = -1
	}
	return i, j, true
}
