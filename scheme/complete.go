package scheme

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Complete, the second step in the life of a Scheme: it puts versions in order, gives each kind a
// hub, and compiles descriptors, conversions and defaults. The order of the steps matters: each
// step reads what earlier steps have made.

// Complete ends the registration. It settles versions and hubs, and compiles the descriptors,
// defaults and conversions of all kinds that are not lazy. Its error joins all mistakes made so
// far, including those in the tags of the types that it compiles. Only if there is no error is the
// Scheme usable and safe for concurrent use.
func (s *Scheme) Complete() error {
	if s.done {
		return errors.Join(s.errs...)
	}
	s.describe()
	s.settleVersions()
	s.settleHubs()
	s.settleStored()
	s.joinDefaults()
	s.checkNeeds()
	s.checkHubDefaults()
	s.compile(s.planConversions())
	s.done = true
	return errors.Join(s.errs...)
}

// describe compiles the descriptors of all types except those of lazy kinds.
func (s *Scheme) describe() {
	for _, gvk := range s.sortedKinds() {
		if s.IsLazy(gvk.GroupKind()) {
			continue
		}
		if err := typeinfo.Register(s.types[gvk]); err != nil {
			s.fail("%s: %w", gvk, err)
		}
	}
	for _, gvk := range s.sortedStored() {
		if only := s.stored[gvk]; !s.IsLazy(only.of) {
			if err := typeinfo.Register(only.typ); err != nil {
				s.fail("%s: %w", gvk, err)
			}
		}
	}
	for _, gk := range sortedHubs(s.hubs) {
		if s.IsLazy(gk) {
			continue
		}
		if err := typeinfo.Register(s.hubs[gk]); err != nil {
			s.fail("hub of %s: %w", gk, err)
		}
	}
}

// sortedKinds returns all registered kinds in an order that does not depend on maps, so that errors
// come in the same order each time.
func (s *Scheme) sortedKinds() []meta.GroupVersionKind {
	var list []meta.GroupVersionKind
	for gvk := range s.types {
		list = append(list, gvk)
	}
	slices.SortFunc(list, func(a, b meta.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// sortedHubs returns the kinds with a hub in a fixed order.
func sortedHubs(hubs map[meta.GroupKind]reflect.Type) []meta.GroupKind {
	var list []meta.GroupKind
	for gk := range hubs {
		list = append(list, gk)
	}
	slices.SortFunc(list, func(a, b meta.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// settleVersions sorts the versions of each group, and the kinds of each type, by preference.
func (s *Scheme) settleVersions() {
	for group, order := range s.priority {
		for _, v := range order {
			if !slices.Contains(s.versions[group], v) {
				s.fail("SetVersionPriority: version %q of group %q has no types", v, group)
			}
		}
	}
	for group, versions := range s.versions {
		s.versions[group] = sortVersions(versions, s.priority[group])
	}
	for _, kinds := range s.kinds {
		slices.SortStableFunc(kinds, func(a, b meta.GroupVersionKind) int {
			if c := slices.Index(s.groups, a.Group) - slices.Index(s.groups, b.Group); c != 0 {
				return c
			}
			return slices.Index(s.versions[a.Group], a.Version) - slices.Index(s.versions[b.Group], b.Version)
		})
	}
}

// settleHubs gives a hub to each kind without one, the type of its preferred version, and registers
// all hubs under InternalVersion.
func (s *Scheme) settleHubs() {
	for _, gvk := range s.sortedKinds() {
		gk := gvk.GroupKind()
		if s.hubs[gk] != nil || s.isUnversioned(gvk) {
			continue
		}
		for _, v := range append(slices.Clone(s.versions[gk.Group]), gvk.Version) {
			if t := s.types[meta.GroupVersionKind{Group: gk.Group, Version: v, Kind: gk.Kind}]; t != nil {
				s.hubs[gk] = t
				break
			}
		}
	}
	for _, gk := range sortedHubs(s.hubs) {
		gvk, t := meta.GroupVersionKind{Group: gk.Group, Version: InternalVersion, Kind: gk.Kind}, s.hubs[gk]
		s.types[gvk] = t
		if spokes := s.kinds[t]; len(spokes) == 0 || spokes[0].Version == InternalVersion {
			s.kinds[t] = append(spokes, gvk)
		}
	}
}

// isUnversioned reports whether the kind is registered as unversioned.
func (s *Scheme) isUnversioned(gvk meta.GroupVersionKind) bool {
	registered, ok := s.unversioned[s.types[gvk]]
	return ok && registered == gvk
}

// planConversions prepares the conversions between all versions and their hubs, and those that
// ConvertFields calls. Nothing is compiled yet.
func (s *Scheme) planConversions() *deriver {
	d := &deriver{registered: s.conversions, hubs: map[reflect.Type]reflect.Type{}, converters: map[typePair]*converter{}}
	s.converters, s.derived = map[typePair]func() convertFunc{}, map[typePair]func() convertFunc{}
	for gvk, spoke := range s.types {
		hub := s.hubs[gvk.GroupKind()]
		if hub == nil {
			continue
		}
		d.hubs[spoke] = hub
		if spoke != hub {
			s.converters[typePair{spoke, hub}] = d.later(spoke, hub, strict)
			s.converters[typePair{hub, spoke}] = d.later(hub, spoke, strict)
		}
	}
	for _, only := range s.stored {
		hub := s.hubs[only.of]
		if hub == nil {
			continue
		}
		d.hubs[only.typ] = hub
		if only.typ != hub {
			s.converters[typePair{only.typ, hub}] = d.later(only.typ, hub, strict)
			s.converters[typePair{hub, only.typ}] = d.later(hub, only.typ, strict)
		}
	}
	for pair := range s.conversions {
		s.derived[pair] = d.later(pair.in, pair.out, lenient)
	}
	return d
}

// compile compiles the conversions and defaults of all kinds that are not lazy, so that the first
// request need not wait for it, and reports what cannot be derived.
func (s *Scheme) compile(d *deriver) {
	for _, gvk := range s.sortedKinds() {
		spoke, hub := s.types[gvk], s.hubs[gvk.GroupKind()]
		if s.IsLazy(gvk.GroupKind()) || typeinfo.Of(spoke) == nil || hub != nil && typeinfo.Of(hub) == nil {
			continue // describe has reported the type
		}
		s.defaulter.Needs(typeinfo.Of(spoke))
		if hub != nil && hub != spoke {
			s.converters[typePair{spoke, hub}]()
			s.converters[typePair{hub, spoke}]()
		}
	}
	// A stored version need not be written, so its conversion from the hub is not compiled here. If
	// it cannot be derived, converting to it is an error.
	for _, gvk := range s.sortedStored() {
		only := s.stored[gvk]
		hub := s.hubs[only.of]
		if hub == nil || s.IsLazy(only.of) || typeinfo.Of(only.typ) == nil || typeinfo.Of(hub) == nil {
			continue
		}
		s.defaulter.Needs(typeinfo.Of(only.typ))
		if only.typ != hub {
			s.converters[typePair{only.typ, hub}]()
		}
	}
	s.errs = append(s.errs, d.errs...)
}

// joinDefaults joins the defaults of tags and the registered functions into one Visitor.
func (s *Scheme) joinDefaults() { s.defaulter = typeinfo.NewVisitor(s.defaultAction) }

// defaultAction returns the function that completes a struct of type t: it sets the defaults of the
// tags and then calls the registered functions. It is nil if t has neither.
func (s *Scheme) defaultAction(t *typeinfo.Type) func(typeinfo.Pointer) {
	declared, registered := typeinfo.DefaultAction(t), s.defaulting[t.Go]
	switch {
	case len(registered) == 0:
		return declared
	case declared == nil && len(registered) == 1:
		return registered[0]
	}
	return func(p typeinfo.Pointer) {
		if declared != nil {
			declared(p)
		}
		for _, fn := range registered {
			fn(p)
		}
	}
}

// checkHubDefaults reports defaults of structs that only hubs have. Objects are completed in the
// versions in which they are written and stored, so these defaults would never apply.
func (s *Scheme) checkHubDefaults() {
	inVersions := map[*typeinfo.Type]bool{}
	for gvk, t := range s.types {
		if gvk.Version != InternalVersion && !s.IsLazy(gvk.GroupKind()) {
			structsBelow(typeinfo.Of(t), inVersions)
		}
	}
	for _, only := range s.stored {
		if !s.IsLazy(only.of) {
			structsBelow(typeinfo.Of(only.typ), inVersions)
		}
	}
	for _, gk := range sortedHubs(s.hubs) {
		if s.IsLazy(gk) {
			continue
		}
		inHub := map[*typeinfo.Type]bool{}
		structsBelow(typeinfo.Of(s.hubs[gk]), inHub)
		for t := range inHub {
			if !inVersions[t] && s.defaultAction(t) != nil {
				s.fail("hub of %s: the defaults of %s have no effect, because no version has that type: "+
					"objects are completed in their versions", gk, t.Go)
			}
		}
	}
}

// structsBelow adds to found the struct t, or the struct that t is a list or map of, and all
// structs that it can contain.
func structsBelow(t *typeinfo.Type, found map[*typeinfo.Type]bool) {
	for t != nil && (t.Kind == typeinfo.List || t.Kind == typeinfo.Map) {
		t = t.Elem
	}
	if t == nil || t.Kind != typeinfo.Struct || found[t] {
		return
	}
	found[t] = true
	for _, f := range t.Members {
		structsBelow(f.Type, found)
	}
}

// Needs returns what values of a struct type must have so that Default does not change them. known
// is false if some registered function has no needs declared. Needs does not cover structs inside
// the value.
func (s *Scheme) Needs(t *typeinfo.Type) (needs []typeinfo.Need, known bool) {
	needs, known, _ = s.parseNeeds(t)
	return needs, known
}

// parseNeeds returns the needs of t as Needs does, and the errors in them. Malformed needs make
// known false.
func (s *Scheme) parseNeeds(t *typeinfo.Type) (needs []typeinfo.Need, known bool, err error) {
	needs, known = typeinfo.DefaultNeeds(t), true
	for _, texts := range s.needs[t.Go] {
		known = known && len(texts) > 0
		for _, text := range texts {
			need, wrong := typeinfo.ParseNeed(t, text)
			if wrong != nil {
				known, err = false, errors.Join(err, wrong)
			}
			needs = append(needs, need)
		}
	}
	return needs, known, err
}

// checkNeeds reports malformed needs of all types that are described.
func (s *Scheme) checkNeeds() {
	types := slices.SortedFunc(maps.Keys(s.needs), func(a, b reflect.Type) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, goType := range types {
		if t := typeinfo.Compiled(goType); t != nil && t.Kind == typeinfo.Struct {
			if _, _, err := s.parseNeeds(t); err != nil {
				s.fail("AddDefaulting: %w", err)
			}
		}
	}
}
