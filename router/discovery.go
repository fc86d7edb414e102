package router

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Discovery answers /api, /apis, /apis/{group} and the resource lists of group versions, in the
// plain and the aggregated form. OpenAPI reads the same state. All servers of a delegation chain
// share one Discovery, so that a client sees the same groups whichever server answers.
//
// Groups may be added and removed while it serves. Readers take no lock: they load one picture,
// which is immutable. A document is made when the first request asks for it, and kept until its
// content changes.
type Discovery struct {
	// Address, if set, returns the address that /api shows to clients. If it is nil or returns "",
	// the address is that on which the client reached the server. It is set before the first
	// request.
	Address func() string

	codecs *codec.Factory
	mu     sync.Mutex              // serializes changes
	local  *picture                // the groups of this server's chain; guarded by mu
	remote []*version              // the group versions of aggregated servers; guarded by mu
	now    atomic.Pointer[picture] // local and remote together, which requests read
}

// NewDiscovery returns a Discovery without groups.
func NewDiscovery(codecs *codec.Factory) *Discovery {
	d := &Discovery{codecs: codecs, local: newPicture(codecs, map[string]*group{}, nil)}
	d.now.Store(d.local)
	return d
}

// Change removes the resources of out and adds those of in, in one step. It reads only names from
// out. A resource in in replaces the resource of the same name. A version without resources is
// removed, and so is a group without versions. Change makes no documents.
func (d *Discovery) Change(out, in []GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if next := d.local.change(out, in); next != d.local {
		d.local = next
		d.now.Store(next.withRemote(d.remote))
	}
}

// GroupOf returns the group whose path prefix path has, and whether that group has any version.
// known does not say that the version in the path exists. info may be nil.
func (d *Discovery) GroupOf(path string, info *request.Info) (group string, known bool) {
	groups := d.now.Load().groups
	if info != nil && ofGroup(path, info) {
		return info.Group, groups[info.Group] != nil
	}
	if rest, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, _, _ := strings.Cut(rest, "/")
		return group, group != "" && groups[group] != nil
	}
	return "", (path == "/api" || strings.HasPrefix(path, "/api/")) && groups[""] != nil
}

// ResourceOf returns the resource that has a kind, by the versions of this server and of aggregated
// servers, and whether it is namespaced. The kind may be written in lower case, as kube-apiserver
// takes it too. ok is false if no resource that is served has the kind.
func (d *Discovery) ResourceOf(gvk meta.GroupVersionKind) (resource string, namespaced, ok bool) {
	v := d.now.Load().find(gvk.Group, gvk.Version)
	if v == nil {
		return "", false, false
	}
	is := func(kind string) bool { return kind == gvk.Kind || strings.ToLower(kind) == gvk.Kind }
	for i := range v.resources {
		for j := range v.resources[i].list {
			r := &v.resources[i].list[j]
			if r.Name == v.resources[i].plural && is(r.Kind.Kind) {
				return r.Name, r.Namespaced, true
			}
		}
	}
	if v.remote == nil {
		return "", false, false
	}
	for i := range v.remote.Resources {
		if r := &v.remote.Resources[i]; r.ResponseKind != nil && is(r.ResponseKind.Kind) {
			return r.Resource, r.Scope == apidiscoveryv2.ScopeNamespace, true
		}
	}
	return "", false, false
}

// Match returns the handler of a discovery path, or nil. The paths are /api, /api/{version}, /apis,
// /apis/{group} and /apis/{group}/{version}. Slashes at the end are ignored, but /apis// is none of
// them.
func (d *Discovery) Match(path string) http.Handler {
	if !strings.HasPrefix(path, "/api") || strings.HasPrefix(path, "/apis//") {
		return nil
	}
	prefix, rest, _ := strings.Cut(strings.TrimRight(path[1:], "/"), "/")
	p := d.now.Load()
	var doc *document
	switch {
	case prefix == "apis" && rest == "":
		return &root{p: p}
	case prefix == "api" && rest == "" && p.groups[""] != nil:
		return &root{p: p, legacy: true, address: d.Address}
	case prefix == "apis":
		name, version, _ := strings.Cut(rest, "/")
		if name != "" {
			doc = p.document(name, version)
		}
	case prefix == "api":
		doc = p.document("", rest)
	}
	if doc == nil {
		return nil
	}
	return doc
}

// document returns the document of a version, or of the group if version is "". It returns nil if
// there is none here; the document of a remote version is served by its own server.
func (p *picture) document(group, version string) *document {
	if v := p.find(group, version); v != nil {
		return v.doc
	}
	if g := p.groups[group]; g != nil && version == "" && group != "" {
		return g.doc
	}
	return nil
}

// Paths lists the paths of all documents for the index at /.
func (d *Discovery) Paths() []string {
	p := d.now.Load()
	paths := []string{"/apis"}
	if p.groups[""] != nil {
		paths = append(paths, "/api")
	}
	for _, g := range p.listed {
		paths = append(paths, "/apis/"+g.name)
	}
	for v := range p.versions {
		paths = append(paths, "/"+v.path())
	}
	return paths
}

// path returns the path of the version, without a slash at either end: "api/v1", "apis/apps/v1".
func (v *version) path() string {
	if v.Group == "" {
		return "api/" + v.Version
	}
	return "apis/" + v.GroupVersion.String()
}
