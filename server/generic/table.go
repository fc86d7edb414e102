package generic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

// This file is the Table and its States. Resources changes the Table (resources.go). Package server
// and the parts read it, and each operation on a store looks a key up in it (OfKey).

// Table is the one list of the resources that exist at this moment; a resource that is not in it
// does not exist. Resources.Install, Replace and Remove change it. Routes, discovery and OpenAPI
// are made from its offers.
//
// A State is immutable, so readers load it without a lock, even at each operation on the store.
type Table struct {
	root string // prefix of all keys, ends in "/"
	now  atomic.Pointer[State]

	// change serialises the changes of the table, routes and discovery.
	change struct {
		sync.Mutex
		closed bool // the server is closing; every further change is refused
	}
}

// State is the content of a Table between two changes. Nobody changes its maps. Each change copies
// them, which costs 0.1 ms with 600 resources (BenchmarkInstall).
type State struct {
	Offers map[meta.GroupResource]*Offer // by each name of each resource
	Kinds  map[meta.GroupKind]*Offer     // by kind; if resources share the kind, one of them
	// entries has the entries by the prefix of their keys. The entry of a removed resource stays
	// until its last requests have ended: the entry says how their writes are encrypted.
	entries map[string]*Entry
	// equivalents keeps results of Stores.Equivalents. nil: none yet.
	equivalents atomic.Pointer[map[named][]matching.Target]

	Replaced chan struct{} // closed when the Table has a newer State
}

// Entry is a resource, under all its names. For a resource without a store it has only the first
// name and bare. Records that are no resource (RecordsOf) have an Entry with neither a store nor
// bare, so that the Table finds their keys.
type Entry struct {
	backing.Record                 // its Name is the first name of the resource
	bare           bare            // set if there is no store
	Store          *registry.Store // nil if the resource is only created or only read
}

// bare is a resource without a store: acting or observed.
type bare interface {
	Kind() kind.Kind
	// route returns the route of the resource in one version.
	route(gvk meta.GroupVersionKind) router.Resource
}

// acting is a resource that is only created, such as a TokenReview. Its answer is not stored.
type acting struct {
	declared registry.Actions
	*registry.Actor
}

// observed is a resource that is only read; its objects are made at each read.
type observed struct{ *registry.ComputedReader }

// Offer is a resource under one of its names. The same objects may be served in several groups, as
// events are; all offers of a resource share one Entry.
type Offer struct {
	*Entry
	Name meta.GroupResource // this name; Entry.Name is the first name of the resource
	Kind meta.GroupKind     // the kind of the objects under this name
	View *registry.Store    // the store as this name shows it; nil for a bare resource
	// Versions are the served versions, each with only this resource and its subresources. There
	// are none if the configuration has switched this name off.
	Versions []router.GroupVersion
	groupSettings
	// earlier are the routes of earlier declarations that may still have requests inside. Guarded
	// by Table.change.
	earlier router.Retired
}

// groupSettings are what Resources.Install was told about the whole group of an Offer.
type groupSettings struct {
	On       *Server
	Priority int                                  // of the group in discovery
	chosen   func(meta.GroupVersionResource) bool // whether a resource is served; nil serves all
}

// Serves reports whether the version gv of o has the subresource. If subresource is "", it reports
// whether o is served in gv at all.
func (o *Offer) Serves(gv meta.GroupVersion, subresource string) bool {
	name := o.Name.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	for i := range o.Versions {
		if o.Versions[i].GroupVersion == gv {
			return slices.ContainsFunc(o.Versions[i].Resources, func(r router.Resource) bool {
				return r.Name == name
			})
		}
	}
	return false
}

// NewTable returns an empty table. root is the prefix of all keys and ends in "/".
func NewTable(root string) *Table {
	t := &Table{root: root}
	t.now.Store(&State{Replaced: make(chan struct{})})
	return t
}

// Now returns the present State of the Table. A State that was returned does not change later.
func (t *Table) Now() *State { return t.now.Load() }

// Root returns the prefix of all keys. It ends in "/".
func (t *Table) Root() string { return t.root }

// PrefixOf returns the prefix of the keys of a resource, which ends in "/". The resource need not
// be in the table.
func (t *Table) PrefixOf(gr meta.GroupResource) string { return t.root + registry.KeyPrefix(gr) + "/" }

// set replaces the State and closes Replaced of the old one. The caller holds change.
func (t *Table) set(next *State) { close(t.now.Swap(next).Replaced) }

// Close makes Install, Replace and Remove fail with ErrClosing from then on. It waits for a change
// that is under way.
func (t *Table) Close() {
	t.change.Lock()
	defer t.change.Unlock()
	t.change.closed = true
}

// Find returns the present offer of a name, or nil.
func (t *Table) Find(gr meta.GroupResource) *Offer { return t.now.Load().Offers[gr] }

// OfKey returns the entry to which a key of the store belongs, or nil. key may also be a prefix of
// keys that is at least as long as the entry's.
//
//	OfKey("/registry/apps/deployments/default/web").Prefix == "/registry/apps/deployments/"
//
// Every operation on the store calls it. It looks up each prefix of key that ends in "/", from the
// shortest on, and finds an entry in one to three steps. It allocates nothing.
func (t *Table) OfKey(key string) *Entry {
	if !strings.HasPrefix(key, t.root) {
		return nil
	}
	entries := t.now.Load().entries
	for end := len(t.root); ; end++ {
		n := strings.IndexByte(key[end:], '/')
		if n < 0 {
			return nil
		}
		end += n
		if e := entries[key[:end+1]]; e != nil {
			return e
		}
	}
}

// Of returns the record of the entry to which a key belongs, or nil. It implements backing.Keys.
func (t *Table) RecordOf(key string) *backing.Record {
	if e := t.OfKey(key); e != nil {
		return &e.Record
	}
	return nil
}

// Stored yields every resource with a store once, by its first name.
func (s *State) Stored(yield func(*Entry) bool) {
	for name, o := range s.Offers {
		if name == o.Entry.Record.Name && o.Store != nil && !yield(o.Entry) {
			return
		}
	}
}

// OffersOf returns all offers of the resource e. The first of them is that under the first name of
// e, which must be offered.
func (s *State) OffersOf(e *Entry) []*Offer {
	list := []*Offer{s.Offers[e.Name]}
	for name, o := range s.Offers {
		if o.Entry == e && name != e.Name {
			list = append(list, o)
		}
	}
	return list
}

// clone returns a copy of s that may be changed until it is set.
func (s *State) clone() *State {
	next := &State{
		Offers:   maps.Clone(s.Offers),
		Kinds:    maps.Clone(s.Kinds),
		entries:  maps.Clone(s.entries),
		Replaced: make(chan struct{}),
	}
	if next.Offers == nil { // the first state
		next.Offers, next.Kinds, next.entries =
			map[meta.GroupResource]*Offer{}, map[meta.GroupKind]*Offer{}, map[string]*Entry{}
	}
	return next
}

// with returns a State that has offers in addition to those of s. Each replaces an offer of the
// same name. It fails if the key prefix of an offer overlaps with that of another resource, because
// one of the two would see the objects of the other.
func (s *State) with(offers []*Offer) (*State, error) {
	next := s.clone()
	for _, o := range offers {
		if old := next.Offers[o.Name]; old != nil {
			first := next.Kinds[o.Kind] == old
			next.drop(old)
			if first { // so that ResourceOf does not change to another resource of the kind
				next.Kinds[o.Kind] = o
			}
		}
		next.Offers[o.Name] = o
		if next.Kinds[o.Kind] == nil {
			next.Kinds[o.Kind] = o
		}
		if o.Store == nil {
			continue
		}
		if other := next.overlapping(o.Entry); other != nil {
			return nil, fmt.Errorf("server: the keys of %s, %q, overlap with those of %s, %q",
				o.Name, o.Prefix, other.Name, other.Prefix)
		}
		next.entries[o.Prefix] = o.Entry
	}
	return next, nil
}

// withRecords returns a State that also has the entry of records that are no resource.
func (s *State) withRecords(e *Entry) *State {
	next := s.clone()
	next.entries[e.Prefix] = e
	return next
}

// without returns a State that lacks offers. Their entries stay: see State.entries.
func (s *State) without(offers []*Offer) *State {
	next := s.clone()
	for _, o := range offers {
		next.drop(o)
	}
	return next
}

// drop removes an offer from a State that is being made. Another resource of the same kind, if
// there is one, becomes the resource of the kind.
func (s *State) drop(o *Offer) {
	delete(s.Offers, o.Name)
	if s.Kinds[o.Kind] != o {
		return
	}
	delete(s.Kinds, o.Kind)
	for _, other := range s.Offers {
		if other.Kind == o.Kind {
			s.Kinds[o.Kind] = other
			return
		}
	}
}

// overlapping returns an offered resource, not e, whose keys overlap with those of e: the key
// prefix of one begins with that of the other. It returns nil if there is none. It ignores removed
// resources and records.
func (s *State) overlapping(e *Entry) *Entry {
	for prefix, other := range s.entries {
		if other == e || !strings.HasPrefix(prefix, e.Prefix) && !strings.HasPrefix(e.Prefix, prefix) {
			continue
		}
		if o := s.Offers[other.Name]; o != nil && o.Entry == other {
			return other
		}
	}
	return nil
}

// IsCustom reports whether the resource is defined by a CustomResourceDefinition.
func (o *Offer) IsCustom() bool { return o.Store != nil && o.Store.Resource().Custom }
