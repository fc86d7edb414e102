package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
)

// order says in which order the elements of two granular lists stand when they are merged. Those of wish have the order that they
// have there. Those that only live has stay behind the ones that they were behind, as far as that can be.
type order struct {
	inWish, inLive []int  // where the element of live is in wish, and the other way round; -1 if it is not there
	many           []bool // of wish: live has several like it
	done           []bool // of wish: it has had its turn
	shared         []int  // the elements of wish whose turn is yet to come and that live has, too
	i, j           int    // what comes next of live and of wish
}

// newOrder returns the order of what live, whose elements may repeat each other, and wish, whose elements may not, make.
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

// inOrder returns a function that finds an element in a list; -1 if it is not there.
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

// next returns what the next element is made of: the indexes in live and in wish, -1 if it is not taken from there. Several
// elements of live that are like one of wish are not merged with it, but give way to it.
func (o *order) next() (i, j int, more bool) {
	for o.i < len(o.inWish) || o.j < len(o.inLive) {
		if o.i < len(o.inWish) && o.j < len(o.inLive) {
			if o.inWish[o.i] == o.j {
				o.i++
				return o.takeWish()
			}
			if at := o.inWish[o.i]; at >= 0 && len(o.shared) > 0 && o.shared[0] != at { // not its turn
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

// takeWish returns the next element of wish.
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
