package apply

import (
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Atomics returns the paths of all objects and lists in tree that schema s makes atomic, in the
// order of the walk: an object comes before its fields, and fields come in the order of their
// names. Whoever merges an atomic value replaces all of it, so mutating admission policies may not
// set one. tree has passed Check. The error is that of m.
func Atomics(m *meter.Meter, tree any, s *schema.Schema) ([]string, error) {
	f := atomFinder{walker: newWalker(m)}
	defer f.done()
	f.look(partOf(tree), rootShape(s))
	return f.found, f.err()
}

// atomFinder walks one tree and collects the paths of atomic values.
type atomFinder struct {
	*walker
	found []string
}

// look visits a value and the values in it that the schema declares. Entries of maps are not
// visited, as in Kubernetes.
func (f *atomFinder) look(p part, sh shape) {
	if f.ends() {
		return
	}
	switch class := p.class(); {
	case class == objectClass && sh.object != impossible:
		if sh.object == atomic {
			f.found = append(f.found, f.at.String())
		}
		entries := f.entries(p, f.depth())
		defer f.freeEntries(entries)
		for _, each := range entries {
			if part, declared := sh.field(each.name); declared {
				f.enter(Field(each.name))
				f.look(each.part, part)
				f.leave()
			}
		}
	case class == listClass && sh.list != impossible:
		if sh.list == atomic {
			f.found = append(f.found, f.at.String())
		}
		items := f.items(p, f.depth())
		defer f.freeItems(items)
		for i, each := range items {
			f.enter(Element{sort: index, at: i})
			f.look(each, sh.items())
			f.leave()
		}
	}
}
