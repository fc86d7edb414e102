package router

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
)

// Discovery knows all groups that are served, and answers /api, /apis, /apis/{group} and the resource lists of group
// versions, plain and aggregated. The servers of a delegation chain share one, so that a client sees one picture,
// whichever of them it asks. OpenAPI is made from it as well.
//
// Groups may come and go while it serves; readers need no lock. Documents are made when somebody asks for them first,
// and kept until what they say changes: see picture.
type Discovery struct {
	// Address, if set, is how /api names the server to its clients; "" or nil: as this one has reached it. It is fixed before the first
	// request.
	Address func() string

	codecs *codec.Factory
	mu     sync.Mutex // serialises changes
	local  *picture   // what is served here; under mu
	remote []*version // what other servers serve; under mu
	now    atomic.Pointer[picture]
}

// NewDiscovery returns a Discovery without groups.
func NewDiscovery(codecs *codec.Factory) *Discovery {
	d := &Discovery{codecs: codecs, local: newPicture(codecs, map[string]*group{}, nil)}
	d.now.Store(d.local)
	return d
}

// Change takes the resources of out away and shows those of in, in one step. Of out only names are read. What in brings
// replaces what is there under the same name. A version goes with its last resource, a group with its last version. It
// makes no documents.
func (d *Discovery) Change(out, in []GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if next := d.local.change(out, in); next != d.local {
		d.local = next
		d.now.Store(next.with(d.remote))
	}
}

// GroupOf returns the group that path is inside of, and whether that has versions, though maybe not the one asked for. info may
// be nil.
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

// Match returns the handler of a discovery path, or nil: /api and /api/{version}, /apis, /apis/{group} and
// /apis/{group}/{version}, each with or without slashes at the end; of /apis at most one.
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

// document returns the document of a version, or of the group if version is "", or nil. That of another server's version is not here.
func (p *picture) document(group, version string) *document {
	if v := p.find(group, version); v != nil {
		return v.doc
	}
	if g := p.groups[group]; g != nil && version == "" && group != "" {
		return g.doc
	}
	return nil
}

// Paths lists the paths of all documents, for the index at /.
func (d *Discovery) Paths() []string {
	p := d.now.Load()
	paths := []string{"/apis"}
	if p.groups[""] != nil {
		paths = append(paths, "/api")
	}
	for _, g := range p.listed {
		paths = append(paths, "/apis/"+g.name)
	}
	for v := range p.all {
		paths = append(paths, "/"+v.path())
	}
	return paths
}

// path is where the version is served, without a slash at either end.
func (v *version) path() string {
	if v.Group == "" {
		return "api/" + v.Version
	}
	return "apis/" + v.GroupVersion.String()
}
