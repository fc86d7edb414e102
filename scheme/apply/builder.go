package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
)

// builder makes Sets bottom-up: a nested Set is begun and ended while the Set around it is still
// open. The nodes of all open sets share one stack, and finished sets are cut from large blocks, so
// that a walk makes few allocations. The zero builder is ready to use.
type builder struct {
	pushed []node // of the sets that are begun
	nodes  []node // blocks from which the nodes of finished sets, and the sets themselves, are cut
	sets   []Set
}

// begin opens a set and returns the position on the stack that the caller has to pass to end.
func (b *builder) begin() int { return len(b.pushed) }

// push adds a node to the innermost open set. It drops a node that is neither a member nor has
// members below it.
func (b *builder) push(n node) {
	if n.there() {
		b.pushed = append(b.pushed, n)
	}
}

// end closes the innermost open set and returns it, sorted; nil if it has no nodes. If several
// nodes have the same element, join merges them, two at a time.
func (b *builder) end(m *meter.Meter, start int, join func(a, b node) node) *Set {
	pushed := b.pushed[start:]
	if len(pushed) == 0 {
		return nil
	}
	for i := 1; i < len(pushed); i++ {
		if pushed[i-1].element.compare(m, pushed[i].element) >= 0 {
			pushed = sortAndJoin(m, pushed, join)
			break
		}
	}
	if cap(b.nodes)-len(b.nodes) < len(pushed) {
		b.nodes = make([]node, 0, max(len(pushed), 8, min(2*cap(b.nodes), 128)))
	}
	from := len(b.nodes)
	b.nodes = append(b.nodes, pushed...)
	if len(b.sets) == cap(b.sets) {
		b.sets = make([]Set, 0, max(4, min(2*cap(b.sets), 64)))
	}
	b.sets = append(b.sets, Set{nodes: b.nodes[from:len(b.nodes):len(b.nodes)]})
	clear(b.pushed[start:]) // so that the stack does not keep trees alive
	b.pushed = b.pushed[:start]
	return &b.sets[len(b.sets)-1]
}

// sortAndJoin sorts nodes in place and joins nodes that have the same element.
func sortAndJoin(m *meter.Meter, nodes []node, join func(a, b node) node) []node {
	slices.SortStableFunc(nodes, func(a, b node) int { return a.element.compare(m, b.element) })
	n := 0
	for _, next := range nodes[1:] {
		if nodes[n].element.compare(m, next.element) == 0 {
			nodes[n] = join(nodes[n], next)
			continue
		}
		n++
		nodes[n] = next
	}
	return nodes[:n+1]
}
