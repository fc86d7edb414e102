package server

import (
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
)

// choice says what of the configured groups is served: first comes the profile, then APIConfig.Runtime. Whoever speaks of a
// version takes back what was said of single resources in it. What a choice does not know is served.
type choice struct {
	scheme    *scheme.Scheme
	versions  map[meta.GroupVersion]bool
	resources map[meta.GroupVersionResource]bool // these count before versions
}

// profiles are the resources that a profile keeps of the built-in ones.
var profiles = map[string][]meta.GroupResource{
	ProfileCRDOnly: append(access.RoleResources(), []meta.GroupResource{
		{Resource: "namespaces"}, {Resource: "configmaps"}, {Resource: "secrets"}, {Resource: "serviceaccounts"},
		{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}, {Group: "coordination.k8s.io", Resource: "leases"},
		customResourceDefinitions,
	}...),
}

// choose returns groups with what c serves of them. Their kinds are in s.
func choose(c *APIConfig, groups []Group, s *scheme.Scheme) ([]Group, error) {
	ch := &choice{s, map[meta.GroupVersion]bool{}, map[meta.GroupVersionResource]bool{}}
	for i := range groups {
		for _, gv := range s.VersionsOf(groups[i].Name) {
			ch.versions[gv] = true
		}
	}
	if kept, ok := profiles[c.Profile]; ok {
		for i := range groups {
			ch.keep(kept, &groups[i])
		}
	}
	settings, err := readRuntime(c.Runtime, ch.versions, slices.ContainsFunc(groups, func(g Group) bool { return g.BuiltIn }))
	if err != nil {
		return nil, err
	}
	for _, set := range settings {
		set(ch)
	}
	return ch.apply(groups), nil
}

func (c *choice) serves(gvr meta.GroupVersionResource) bool {
	if on, said := c.resources[gvr]; said {
		return on
	}
	on, known := c.versions[gvr.GroupVersion()]
	return on || !known
}

// setVersion serves a version with all its resources, or not.
func (c *choice) setVersion(gv meta.GroupVersion, on bool) {
	c.versions[gv] = on
	maps.DeleteFunc(c.resources, func(gvr meta.GroupVersionResource, _ bool) bool { return gvr.GroupVersion() == gv })
}

// keep turns off all resources of a built-in group but some.
func (c *choice) keep(some []meta.GroupResource, g *Group) {
	for _, gr := range g.Names() {
		if !g.BuiltIn || slices.Contains(some, gr) {
			continue
		}
		for _, gv := range c.scheme.VersionsOf(g.Name) {
			c.resources[gv.WithResource(gr.Resource)] = false
		}
	}
}

// apply returns groups with what is served of them. A resource that is served under the name of another group alone stays, but
// is not served under its own.
func (c *choice) apply(groups []Group) []Group {
	out, kinds := slices.Clone(groups), map[meta.GroupResource]string{}
	shared := map[meta.GroupResource]bool{}
	for i := range out {
		g := &out[i]
		g.Chosen = c.serves
		for _, res := range g.Resources {
			kinds[res.GroupResource] = res.Kind
		}
		g.Shared = slices.DeleteFunc(slices.Clone(g.Shared), func(other meta.GroupResource) bool {
			off := c.off(meta.GroupResource{Group: g.Name, Resource: other.Resource}, kinds[other])
			shared[other] = shared[other] || !off
			return off
		})
	}
	for i := range out {
		g := &out[i]
		g.Resources = slices.DeleteFunc(slices.Clone(g.Resources), func(res registry.Resource) bool {
			return c.off(res.GroupResource, res.Kind) && !shared[res.GroupResource]
		})
		g.Observed = slices.DeleteFunc(slices.Clone(g.Observed), func(o registry.Observed) bool { return c.off(o.GroupResource, o.Kind) })
		g.Actions = slices.DeleteFunc(slices.Clone(g.Actions), func(a registry.Actions) bool { return c.off(a.GroupResource, a.Kind) })
	}
	return out
}

// off reports whether a resource is served in no version that has its kind. One whose kind is not in the scheme is not off.
func (c *choice) off(gr meta.GroupResource, kind string) bool {
	off := false
	for _, gv := range c.scheme.VersionsOf(gr.Group) {
		if !c.scheme.Recognizes(gv.WithKind(kind)) {
			continue
		}
		if c.serves(gv.WithResource(gr.Resource)) {
			return false
		}
		off = true
	}
	return off
}
