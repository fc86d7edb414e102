package router

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file holds the state of Discovery and how a change makes the next state. Discovery.Change
// calls change and withRemote, Discovery.SetRemote calls withRemote.

// picture is what is served at one moment: the groups, their versions and the resources in them. It
// is immutable, and so is everything in it except the documents, which the first request for them
// makes.
//
// A change makes a new picture that shares with the old one all groups and versions that stay the
// same, and their finished documents. So a change costs a copy of the list of groups. Later, when
// requests ask for them, it costs the documents that contain the change: that of the version, that
// of its group, and those of all groups.
type picture struct {
	codecs *codec.Factory
	groups map[string]*group // all groups by name; "" is the legacy group
	listed []*group          // all but the legacy group, by priority, then by name
	remote []*version        // the versions of aggregated servers

	list       *document                      // at /apis
	aggregated [2]aggregatedForms             // at /apis and at /api
	schemas    struct{ v2, index schemaSlot } // of OpenAPI
}

// group is an API group with at least one version.
type group struct {
	name     string
	priority int        // the highest group priority of its versions
	versions []*version // preferred one first

	doc    *document                                 // at /apis/{group}
	head   [len(contentTypes)]atomic.Pointer[[]byte] // the group in aggregated documents
	schema *schemaSlot                               // depends on the name only, so all states of the group share it
}

// version is a version of a group. It may have no resources.
type version struct {
	meta.GroupVersion
	groupPriority, priority int               // the highest of its resources
	resources               []resourceAndSubs // sorted by plural
	// remote is set if an aggregated server serves the version; it lists the resources.
	remote *RemoteVersion

	doc    *document                                 // the list of resources
	part   [len(contentTypes)]atomic.Pointer[[]byte] // the version in aggregated documents
	schema schemaSlot
}

// resourceAndSubs is a resource followed by its subresources. The list may lack the resource
// itself.
type resourceAndSubs struct {
	plural                  string
	list                    []Resource
	groupPriority, priority int // of the GroupVersion that it came in
	model                   *modelSlot
}

// newPicture returns a picture of groups; listed must be sorted.
func newPicture(codecs *codec.Factory, groups map[string]*group, listed []*group) *picture {
	p := &picture{codecs: codecs, groups: groups, listed: listed}
	p.list = newGroupList(p)
	return p
}

// versions yields every version, those of the legacy group first.
func (p *picture) versions(yield func(*version) bool) {
	for _, g := range p.groupsInOrder() {
		for _, v := range g.versions {
			if !yield(v) {
				return
			}
		}
	}
}

// groupsInOrder returns the groups, the legacy group first.
func (p *picture) groupsInOrder() []*group {
	if legacy := p.groups[""]; legacy != nil {
		return slices.Insert(slices.Clone(p.listed), 0, legacy)
	}
	return p.listed
}

// find returns a version of a group, or nil.
func (p *picture) find(group, version string) *version {
	if g := p.groups[group]; g != nil {
		if i := g.index(version); i >= 0 {
			return g.versions[i]
		}
	}
	return nil
}

// index returns the index of the version called name, or -1.
func (g *group) index(name string) int {
	return slices.IndexFunc(g.versions, func(v *version) bool { return v.Version == name })
}

// change returns the picture without the resources of out and with those of in. A version without
// resources is removed, and so is a group without versions.
func (p *picture) change(out, in []GroupVersion) *picture {
	versions := map[meta.GroupVersion]*version{} // the versions that change; nil for one that is removed
	current := func(gv meta.GroupVersion) *version {
		if v, ok := versions[gv]; ok {
			return v
		}
		return p.find(gv.Group, gv.Version)
	}
	for i := range out {
		v := current(out[i].GroupVersion)
		if next := v.without(&out[i]); next != v {
			versions[v.GroupVersion] = next
		}
	}
	for i := range in {
		gv := in[i].GroupVersion
		versions[gv] = current(gv).withResources(&in[i])
	}
	if len(versions) == 0 {
		return p
	}
	groups, listed := p.copied()
	for gv, v := range versions {
		listed = putGroup(groups, listed, p.newGroup(groups[gv.Group], gv, v))
	}
	return newPicture(p.codecs, groups, listed)
}

// copied returns copies of the map and the list of groups, for the caller to change.
func (p *picture) copied() (map[string]*group, []*group) {
	groups := make(map[string]*group, len(p.groups)+1)
	for name, g := range p.groups {
		groups[name] = g
	}
	return groups, slices.Clone(p.listed)
}

// without returns v without the resources of gv. It returns v itself if v has none of them, and nil
// if none are left. v may be nil.
func (v *version) without(gv *GroupVersion) *version {
	if v == nil {
		return nil
	}
	gone := byPlural(gv.Resources)
	rest := slices.DeleteFunc(slices.Clone(v.resources), func(r resourceAndSubs) bool { return gone[r.plural] != nil })
	switch len(rest) {
	case 0:
		return nil
	case len(v.resources):
		return v
	}
	return newVersion(v.GroupVersion, rest)
}

// newVersion returns a version with the given resources, which must be sorted by plural.
func newVersion(gv meta.GroupVersion, resources []resourceAndSubs) *version {
	v := &version{GroupVersion: gv, resources: resources}
	for i, r := range resources {
		if i == 0 {
			v.groupPriority, v.priority = r.groupPriority, r.priority
		}
		v.groupPriority, v.priority = max(v.groupPriority, r.groupPriority), max(v.priority, r.priority)
	}
	return v
}

// withResources returns a version with the resources of v and those of gv. A resource of gv
// replaces the one of v with the same name. v may be nil.
func (v *version) withResources(gv *GroupVersion) *version {
	var resources []resourceAndSubs
	if v != nil {
		resources = slices.Clone(v.resources)
	}
	for plural, list := range byPlural(gv.Resources) {
		slices.SortStableFunc(list, inList)
		i, found := slices.BinarySearchFunc(resources, plural, func(r resourceAndSubs, plural string) int {
			return strings.Compare(r.plural, plural)
		})
		r := resourceAndSubs{plural, list, gv.GroupPriority, gv.VersionPriority, &modelSlot{}}
		if found {
			resources[i] = r
		} else {
			resources = slices.Insert(resources, i, r)
		}
	}
	next := newVersion(gv.GroupVersion, resources)
	if len(resources) == 0 {
		next.groupPriority, next.priority = gv.GroupPriority, gv.VersionPriority
	}
	return next
}

// inList orders a resource and its subresources: by name, but custom resources in the order of
// their definition.
func inList(a, b Resource) int {
	if a.Custom && b.Custom {
		return cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/"))
	}
	return strings.Compare(a.Name, b.Name)
}

// newGroup returns the group after its version gv has become v; nil removes the version. old is the
// group before, and may be nil.
func (p *picture) newGroup(old *group, gv meta.GroupVersion, v *version) *group {
	g := &group{name: gv.Group, schema: &schemaSlot{}}
	if old != nil {
		g.schema = old.schema
		for _, other := range old.versions {
			if other.Version != gv.Version {
				g.versions = append(g.versions, other)
			}
		}
	}
	if v != nil {
		if v.remote == nil {
			v.doc = newResourceList(p.codecs, v)
		}
		g.versions = append(g.versions, v)
	}
	slices.SortFunc(g.versions, func(a, b *version) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), scheme.CompareVersions(a.Version, b.Version))
	})
	for _, v := range g.versions {
		g.priority = max(g.priority, v.groupPriority)
	}
	g.doc = newGroupDoc(p.codecs, g)
	return g
}

// putGroup replaces the group of g's name in groups and listed by g, or removes it if g has no
// versions. It changes both and returns the new listed.
func putGroup(groups map[string]*group, listed []*group, g *group) []*group {
	listed = slices.DeleteFunc(listed, func(other *group) bool { return other.name == g.name })
	if len(g.versions) == 0 {
		delete(groups, g.name)
		return listed
	}
	groups[g.name] = g
	if g.name == "" {
		return listed
	}
	i, _ := slices.BinarySearchFunc(listed, g, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.name, b.name))
	})
	return slices.Insert(listed, i, g)
}
