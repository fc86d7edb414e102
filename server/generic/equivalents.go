package generic

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the equivalents of a resource, which hooks of admission ask for: the same stored
// objects in other versions and groups.

// named is a resource or a subresource in a version.
type named struct {
	resource    meta.GroupVersionResource
	subresource string
}

// Equivalents returns the resource in all versions and under all names that show its objects, as
// matching.World wants them. If subresource is not "", it returns those that have the subresource.
// The first name of the resource comes first. The versions under one name are in the order of
// preference; those of a custom resource are in the order of its definition, and versions that are
// not served come last. kube-apiserver has the same order, but for versions that are not served.
//
// The result is read-only. It is nil for a resource that does not exist. It is made once for each
// State; other calls take one look-up in a map and allocate nothing.
func (s Stores) Equivalents(resource meta.GroupVersionResource, subresource string) []matching.Target {
	return s.table.Now().equivalentsOf(named{resource, subresource})
}

func (s *State) equivalentsOf(n named) []matching.Target {
	kept := s.equivalents.Load()
	if kept != nil {
		if list, ok := (*kept)[n]; ok {
			return list
		}
	}
	o := s.Offers[n.resource.GroupResource()]
	if o == nil {
		return nil
	}
	var list []matching.Target
	for _, o := range s.inOrder(o.Entry) {
		list = append(list, o.targets(n.subresource)...)
	}
	if !slices.ContainsFunc(list, func(t matching.Target) bool { return t.Resource == n.resource }) {
		return list // nobody can ask this often: there is no such resource to write to
	}
	// Another goroutine may keep its list at the same time. One of the two is then made again.
	next := map[named][]matching.Target{}
	if kept != nil {
		next = maps.Clone(*kept)
	}
	next[n] = list
	s.equivalents.CompareAndSwap(kept, &next)
	return list
}

// inOrder returns all offers of an entry, the first name first and the others by group.
func (s *State) inOrder(e *Entry) []*Offer {
	if s.Offers[e.Name] == nil {
		return nil
	}
	offers := s.OffersOf(e)
	slices.SortFunc(offers[1:], func(a, b *Offer) int { return cmp.Compare(a.Name.Group, b.Name.Group) })
	return offers
}

// targets returns the versions in which o shows the resource, or one of its subresources.
func (o *Offer) targets(subresource string) (list []matching.Target) {
	name := o.Name.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	add := func(gv meta.GroupVersion, resources []router.Resource) {
		for i := range resources {
			if r := &resources[i]; r.Name == name {
				list = append(list, matching.Target{
					Resource: gv.WithResource(o.Name.Resource), Subresource: subresource, Kind: r.Kind, Type: r.Type,
				})
			}
		}
	}
	for i := range o.Versions {
		add(o.Versions[i].GroupVersion, o.Versions[i].Resources)
	}
	if !o.IsCustom() {
		return list
	}
	served := o.View.Resource().Served
	slices.SortStableFunc(list, func(a, b matching.Target) int {
		return cmp.Compare(slices.Index(served, a.Resource.Version), slices.Index(served, b.Resource.Version))
	})
	for _, v := range o.View.Kind().Versions() {
		if !slices.Contains(served, v.GVK.Version) {
			if resources, err := o.routes(v.GVK); err == nil {
				add(v.GVK.GroupVersion(), resources)
			}
		}
	}
	return list
}
