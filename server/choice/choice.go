// Package choice chooses which resources of the API groups a server serves, by a profile and a
// runtime configuration (--runtime-config).
//
// Words: a profile is a named selection of Kubernetes' own resources. A runtime configuration then
// turns versions, and single resources in them, on and off. A word, such as api/beta, stands for
// many versions.
//
// Laws: a resource that is off is not among the groups that Apply returns, so it is in no document
// and costs nothing. Words apply before versions, and versions before resources. A version or
// resource that the configuration does not name is served, unless the profile leaves it out. A word
// or version that is turned on brings back all resources of its versions, also those that the
// profile leaves out. Runtime configurations are parsed and refused as in kube-apiserver.
//
// Apply is called once, when a server is made; CheckProfile and CheckRuntime validate
// configurations. The functions have no state, and may be called at once.
//
// Not here: which groups there are (server), and how they are installed (server/generic).
//
// Read: choice.go, runtime.go.
package choice

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// CRDOnly is the profile of a server for custom resources. It keeps Namespaces, ConfigMaps,
// Secrets, ServiceAccounts, Roles and their bindings, Events, Leases and CustomResourceDefinitions.
const CRDOnly = "crd-only"

// profiles are the built-in resources that each profile keeps.
var profiles = map[string][]meta.GroupResource{
	CRDOnly: {
		{Resource: "namespaces"}, {Resource: "configmaps"}, {Resource: "secrets"}, {Resource: "serviceaccounts"},
		{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
		{Group: "coordination.k8s.io", Resource: "leases"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	},
}

// CheckProfile returns an error if there is no profile of that name. "" is the profile that keeps
// everything.
func CheckProfile(name string) error {
	if _, exists := profiles[name]; !exists && name != "" {
		return fmt.Errorf("unknown profile %q: there is %s", name, CRDOnly)
	}
	return nil
}

// Config chooses among the groups of a server.
type Config struct {
	// Profile names the profile; "" keeps all built-in resources.
	Profile string
	// Runtime turns versions and resources on and off, after Profile. Keys are group/version,
	// group/version/resource or a word. Values are "true" or "false"; for a key other than a word
	// also "", which means true, and what strconv.ParseBool accepts. (--runtime-config)
	Runtime map[string]string
}

// Apply returns copies of groups with the resources that c serves. The kinds of the groups must be
// registered in s. It does not change groups.
func Apply(c Config, groups []generic.Group, s *scheme.Scheme) ([]generic.Group, error) {
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
	settings, err := readRuntime(c.Runtime, ch.versions,
		slices.ContainsFunc(groups, func(g generic.Group) bool { return g.BuiltIn }))
	if err != nil {
		return nil, err
	}
	for _, set := range settings {
		set(ch)
	}
	return ch.apply(groups), nil
}

// choice says which versions and resources are on. A resource that is in neither map is on.
type choice struct {
	scheme    *scheme.Scheme
	versions  map[meta.GroupVersion]bool
	resources map[meta.GroupVersionResource]bool // override versions
}

// serves reports whether a resource is served in a version.
func (c *choice) serves(gvr meta.GroupVersionResource) bool {
	if on, said := c.resources[gvr]; said {
		return on
	}
	on, said := c.versions[gvr.GroupVersion()]
	return on || !said
}

// setVersion turns a version on or off, with all its resources. It forgets what was set for single
// resources of the version.
func (c *choice) setVersion(gv meta.GroupVersion, on bool) {
	c.versions[gv] = on
	maps.DeleteFunc(c.resources, func(gvr meta.GroupVersionResource, _ bool) bool { return gvr.GroupVersion() == gv })
}

// keep turns off all resources of a built-in group except those in some. It does nothing to a group
// that is not built in, because profiles are about Kubernetes' own resources.
func (c *choice) keep(some []meta.GroupResource, g *generic.Group) {
	for _, gr := range g.Names() {
		if !g.BuiltIn || slices.Contains(some, gr) {
			continue
		}
		for _, gv := range c.scheme.VersionsOf(g.Name) {
			c.resources[gv.WithResource(gr.Resource)] = false
		}
	}
}

// apply returns copies of groups without the resources that are off. A resource that is on only
// under the name of another group (Events are in two groups) stays, but is not served under its own
// name.
func (c *choice) apply(groups []generic.Group) []generic.Group {
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
		g.Computed = slices.DeleteFunc(slices.Clone(g.Computed), func(o registry.ComputedResource) bool {
			return c.off(o.GroupResource, o.Kind)
		})
		g.Actions = slices.DeleteFunc(slices.Clone(g.Actions), func(a registry.Actions) bool {
			return c.off(a.GroupResource, a.Kind)
		})
	}
	return out
}

// off reports whether a resource is off in every version that has its kind. A resource whose kind
// is not in the scheme is not off.
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
