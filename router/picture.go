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

// picture is what is served at one moment: groups, their versions, the resources in them. It is immutable, and so is
// everything in it, apart from documents, which are made when somebody asks for them first.
//
// A change makes a new picture that shares with the old one all groups and versions that stay the same, and with
// them their finished documents. So a change costs copying the list of groups, and then making what it concerns: the
// documents of the version, of its group, and the lists of everything.
type picture struct {
	codecs *codec.Factory
	groups map[string]*group // all, the legacy one as ""
	listed []*group          // without the legacy one: by priority, then by name
	remote []*version        // those of other servers

	list       *document                      // at /apis
	aggregated [2]aggregatedForms             // at /apis, and at /api
	schemas    struct{ v2, index schemaSlot } // of OpenAPI
}

// group is an API group with at least one version.
type group struct {
	name     string
	priority int        // the highest that a version states
	versions []*version // in order of preference

	doc    *document                                 // at /apis/{group}
	head   [len(contentTypes)]atomic.Pointer[[]byte] // of the group in aggregated documents
	schema *schemaSlot                               // shared by all states of the group: it depends on the name only
}

// version is a version of a group. It may be without resources.
type version struct {
	meta.GroupVersion
	groupPriority, priority int               // the highest that a resource came with
	resources               []resourceAndSubs // by plural
	remote                  *RemoteVersion    // of another server, which has the resources and their list; nil: it is served here

	doc    *document                                 // the list of resources
	part   [len(contentTypes)]atomic.Pointer[[]byte] // of the version in aggregated documents
	schema schemaSlot
}

// resourceAndSubs is a resource with its subresources, sorted by name: the resource itself comes first.
type resourceAndSubs struct {
	plural                  string
	list                    []Resource
	groupPriority, priority int // stated by the GroupVersion that it came in
	model                   *modelSlot
}

func newPicture(codecs *codec.Factory, groups map[string]*group, listed []*group) *picture {
	p := &picture{codecs: codecs, groups: groups, listed: listed}
	p.list = newGroupList(p)
	return p
}

// all yields every version, the legacy ones first.
func (p *picture) all(yield func(*version) bool) {
	for _, g := range p.inOrder() {
		for _, v := range g.versions {
			if !yield(v) {
				return
			}
		}
	}
}

// inOrder lists the groups, the legacy one first.
func (p *picture) inOrder() []*group {
	if legacy := p.groups[""]; legacy != nil {
		return slices.Insert(slices.Clone(p.listed), 0, legacy)
	}
	return p.listed
}

// find returns a version of a group, nil if there is none.
func (p *picture) find(group, version string) *version {
	if g := p.groups[group]; g != nil {
		if i := g.index(version); i >= 0 {
			return g.versions[i]
		}
	}
	return nil
}

func (g *group) index(name string) int {
	return slices.IndexFunc(g.versions, func(v *version) bool { return v.Version == name })
}

// change returns the picture without the resources of out and with those of in. A version goes with its last resource,
// a group with its last version.
func (p *picture) change(out, in []GroupVersion) *picture {
	versions := map[meta.GroupVersion]*version{} // those that change; nil for one that goes
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
		versions[gv] = current(gv).with(&in[i])
	}
	if len(versions) == 0 {
		return p
	}
	groups, listed := p.copied()
	for gv, v := range versions {
		listed = put(groups, listed, p.newGroup(groups[gv.Group], gv, v))
	}
	return newPicture(p.codecs, groups, listed)
}

// copied returns the groups and the list of them, to be changed.
func (p *picture) copied() (map[string]*group, []*group) {
	groups := make(map[string]*group, len(p.groups)+1)
	for name, g := range p.groups {
		groups[name] = g
	}
	return groups, slices.Clone(p.listed)
}

// without returns v without the resources of gv: v itself if it has none of them, nil if none are left. v may be nil.
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

// with returns a version with the resources of v, which may be nil, and those of gv in place of the ones with their names.
func (v *version) with(gv *GroupVersion) *version {
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

// inList is the order of a resource and its subresources: by name, but those of custom resources as they are declared.
func inList(a, b Resource) int {
	if a.Custom && b.Custom {
		return cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/"))
	}
	return strings.Compare(a.Name, b.Name)
}

// newGroup returns the group that old, which may be nil, becomes when its version gv is v, which is nil if it goes.
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

// put puts a group into the map and the list of groups in place of that of the same name, or takes it out if it has no
// versions. It returns the list.
func put(groups map[string]*group, listed []*group, g *group) []*group {
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
