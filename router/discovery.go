package router

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Discovery answers /api, /apis, /apis/{group} and the resource lists of group versions, plain and aggregated. It keeps
// finished documents, made anew when group versions come or go.
type Discovery struct {
	codecs *codec.Factory

	mu sync.Mutex
	// groups in the order in which they are listed, the legacy group apart.
	groups []discoveryGroup
	legacy discoveryGroup
	// Finished documents, emptied by every change: plain ones by path or group version, aggregated ones by prefix
	// and media.
	plain      map[string]http.Handler
	aggregated map[aggregatedKey]aggregatedDoc
	generation uint64 // counts changes
}

type discoveryGroup struct {
	name     string
	priority int // groups with a higher one come first
	versions []GroupVersion
}

type aggregatedKey struct {
	legacy bool
	media  codec.Media
}

type aggregatedDoc struct {
	body []byte
	etag string
}

// NewDiscovery returns a Discovery without groups.
func NewDiscovery(codecs *codec.Factory) *Discovery {
	return &Discovery{codecs: codecs, plain: map[string]http.Handler{}, aggregated: map[aggregatedKey]aggregatedDoc{}}
}

// Install adds a group version or replaces it. Versions of a group are listed in the order in which they are
// installed first, the preferred one first; groups by priority, highest first, then by name.
func (d *Discovery) Install(gv GroupVersion, priority int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changedLocked()
	gv.Resources = sortedResources(gv.Resources)
	g := d.groupLocked(gv.Group)
	if g == nil {
		d.groups = append(d.groups, discoveryGroup{name: gv.Group, priority: priority})
		sort.SliceStable(d.groups, func(i, j int) bool {
			a, b := &d.groups[i], &d.groups[j]
			return a.priority > b.priority || a.priority == b.priority && a.name < b.name
		})
		g = d.groupLocked(gv.Group)
	}
	for i := range g.versions {
		if g.versions[i].Version == gv.Version {
			g.versions[i] = gv
			return
		}
	}
	g.versions = append(g.versions, gv)
}

// Remove takes a group version out, and its group with the last one.
func (d *Discovery) Remove(gv meta.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changedLocked()
	g := d.groupLocked(gv.Group)
	if g == nil {
		return
	}
	for i := range g.versions {
		if g.versions[i].Version == gv.Version {
			g.versions = append(g.versions[:i:i], g.versions[i+1:]...)
			break
		}
	}
	if len(g.versions) == 0 && gv.Group != "" {
		for i := range d.groups {
			if d.groups[i].name == gv.Group {
				d.groups = append(d.groups[:i:i], d.groups[i+1:]...)
				return
			}
		}
	}
}

// changedLocked forgets what was made from the state that is about to change.
func (d *Discovery) changedLocked() {
	d.generation++
	clear(d.plain)
	clear(d.aggregated)
}

// Paths lists the paths of all documents, for the index at /.
func (d *Discovery) Paths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	paths := []string{"/apis"}
	if len(d.legacy.versions) > 0 {
		paths = append(paths, "/api")
	}
	for i := range d.legacy.versions {
		paths = append(paths, "/api/"+d.legacy.versions[i].Version)
	}
	for i := range d.groups {
		paths = append(paths, "/apis/"+d.groups[i].name)
		for j := range d.groups[i].versions {
			paths = append(paths, "/apis/"+d.groups[i].versions[j].GroupVersion.String())
		}
	}
	return paths
}

// groupLocked returns the legacy group, or another one if it is known, else nil.
func (d *Discovery) groupLocked(name string) *discoveryGroup {
	if name == "" {
		return &d.legacy
	}
	for i := range d.groups {
		if d.groups[i].name == name {
			return &d.groups[i]
		}
	}
	return nil
}

func sortedResources(resources []Resource) []Resource {
	out := append([]Resource(nil), resources...)
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Match returns the handler of a discovery path, or nil: /api and /api/{version}, /apis, /apis/{group} and
// /apis/{group}/{version}, each with or without a slash at the end.
func (d *Discovery) Match(path string) http.Handler {
	parts := strings.SplitN(strings.Trim(path, "/"), "/", 4)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case len(parts) == 1 && parts[0] == "api" && len(d.legacy.versions) > 0:
		return d.root(true)
	case len(parts) == 1 && parts[0] == "apis":
		return d.root(false)
	case len(parts) == 2 && parts[0] == "api":
		return d.versionLocked(&d.legacy, parts[1])
	case len(parts) >= 2 && len(parts) <= 3 && parts[0] == "apis" && parts[1] != "":
		g := d.groupLocked(parts[1])
		if g == nil {
			return nil
		}
		if len(parts) == 3 {
			return d.versionLocked(g, parts[2])
		}
		return d.plainLocked("apis/"+g.name, func() meta.Typed {
			doc := apiGroup(g)
			doc.Kind, doc.APIVersion = "APIGroup", "v1"
			return &doc
		}, http.MethodPut, http.MethodDelete)
	}
	return nil
}

func (d *Discovery) versionLocked(g *discoveryGroup, version string) http.Handler {
	for i := range g.versions {
		if gv := &g.versions[i]; gv.Version == version {
			return d.plainLocked(gv.GroupVersion.String(), func() meta.Typed { return resourceList(gv) })
		}
	}
	return nil
}

// plainLocked returns the handler of a plain document, which make makes when it is asked for the first time.
func (d *Discovery) plainLocked(key string, make func() meta.Typed, also ...string) http.Handler {
	h, ok := d.plain[key]
	if !ok {
		h = readOnly(&plainDoc{codecs: d.codecs, doc: make()}, also...)
		d.plain[key] = h
	}
	return h
}

// readOnly refuses what is not a GET or one of the methods that kube-apiserver happens to answer as well.
func readOnly(h http.Handler, also ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := r.Method == http.MethodGet
		for _, m := range also {
			allowed = allowed || r.Method == m
		}
		if !allowed {
			WriteError(w, r, ErrMethod())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// plainDoc answers with a document in the media type that the client accepts. It keeps what it has encoded.
type plainDoc struct {
	codecs *codec.Factory
	doc    meta.Typed // not changed any more
	bodies [len(contentTypes)]atomic.Pointer[[]byte]
}

// ServeHTTP implements http.Handler.
func (p *plainDoc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	media, err := codec.Negotiate(r.Header.Get("Accept"), 0)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	if media.Type == codec.JSON && codec.Pretty(r.URL.RawQuery, r.UserAgent()) {
		media.Pretty = true
		writeObject(w, http.StatusOK, p.codecs, p.doc, media)
		return
	}
	body := p.bodies[media.Type].Load()
	if body == nil {
		made, err := p.codecs.Append(nil, p.doc, codec.Media{Type: media.Type})
		if err != nil {
			WriteError(w, r, err)
			return
		}
		body = &made
		p.bodies[media.Type].Store(body)
	}
	writeBody(w, http.StatusOK, media.Type, *body)
}

// root answers /api and /apis: the plain list, or everything at once for clients that accept that.
func (d *Discovery) root(legacy bool) http.Handler {
	also := []string{http.MethodPut, http.MethodDelete}
	if legacy {
		also = nil
	}
	return readOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media, ok := acceptsAggregated(r.Header.Get("Accept")); ok {
			d.serveAggregated(w, r, legacy, media)
			return
		}
		if legacy {
			(&plainDoc{codecs: d.codecs, doc: d.apiVersions(r)}).ServeHTTP(w, r)
			return
		}
		d.groupList().ServeHTTP(w, r)
	}), also...)
}

// apiVersions is the document at /api. It names the address under which the client reached the server.
func (d *Discovery) apiVersions(r *http.Request) *meta.APIVersions {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := &meta.APIVersions{Versions: []string{}}
	doc.Kind = "APIVersions"
	for i := range d.legacy.versions {
		doc.Versions = append(doc.Versions, d.legacy.versions[i].Version)
	}
	address := r.Host
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address = local.String()
	}
	doc.ServerAddressByClientCIDRs = []meta.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: address}}
	return doc
}

// groupList answers with the document at /apis.
func (d *Discovery) groupList() http.Handler {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plainLocked("apis", func() meta.Typed {
		doc := &meta.APIGroupList{Groups: []meta.APIGroup{}}
		doc.Kind, doc.APIVersion = "APIGroupList", "v1"
		for i := range d.groups {
			doc.Groups = append(doc.Groups, apiGroup(&d.groups[i]))
		}
		return doc
	}, http.MethodPut, http.MethodDelete)
}

// apiGroup describes a group. The first version is the preferred one.
func apiGroup(g *discoveryGroup) meta.APIGroup {
	doc := meta.APIGroup{Name: g.name}
	for i := range g.versions {
		gv := g.versions[i].GroupVersion
		doc.Versions = append(doc.Versions, meta.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	if len(doc.Versions) > 0 {
		doc.PreferredVersion = doc.Versions[0]
	}
	return doc
}

// resourceList describes a group version.
func resourceList(gv *GroupVersion) *meta.APIResourceList {
	doc := &meta.APIResourceList{GroupVersion: gv.GroupVersion.String(), APIResources: []meta.APIResource{}}
	doc.Kind = "APIResourceList"
	if gv.Group != "" {
		doc.APIVersion = "v1"
	}
	for i := range gv.Resources {
		r := &gv.Resources[i]
		res := meta.APIResource{
			Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
			Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
		}
		if r.Kind.GroupVersion() != gv.GroupVersion {
			res.Group, res.Version = r.Kind.Group, r.Kind.Version
		}
		if !strings.Contains(r.Name, "/") && r.Lister != nil {
			res.StorageVersionHash = storageHash(r.StorageVersion)
		}
		doc.APIResources = append(doc.APIResources, res)
	}
	return doc
}

// storageHash identifies the version that a kind is stored in, for clients that migrate storage.
func storageHash(gvk meta.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// acceptsAggregated reports whether a client asks for aggregated discovery before anything else.
func acceptsAggregated(accept string) (codec.Media, bool) {
	for _, clause := range strings.Split(accept, ",") {
		parts := strings.Split(clause, ";")
		params := map[string]string{}
		for _, p := range parts[1:] {
			k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
			params[k] = v
		}
		var typ codec.Type
		switch strings.TrimSpace(parts[0]) {
		case codec.JSONType:
			typ = codec.JSON
		case codec.ProtobufType:
			typ = codec.Protobuf
		default:
			continue
		}
		if params["as"] == "" {
			return codec.Media{}, false
		}
		if params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && params["v"] == "v2" {
			return codec.Media{Type: typ, As: params["as"], Group: params["g"], Version: params["v"]}, true
		}
	}
	return codec.Media{}, false
}

// serveAggregated answers with all groups, or 304 if the client has seen them as they are.
func (d *Discovery) serveAggregated(w http.ResponseWriter, r *http.Request, legacy bool, media codec.Media) {
	doc, err := d.aggregatedDoc(aggregatedKey{legacy, media})
	if err != nil {
		WriteError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Vary", "Accept")
	h.Set("ETag", doc.etag)
	h.Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == doc.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", media.ContentType()+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	w.WriteHeader(http.StatusOK)
	w.Write(doc.body)
}

// aggregatedDoc returns a finished document, or makes it. Clients that come at once may each make it.
func (d *Discovery) aggregatedDoc(key aggregatedKey) (aggregatedDoc, error) {
	list, generation, doc := d.aggregatedList(key)
	if list == nil {
		return doc, nil
	}
	body, err := d.codecs.Append(nil, list, codec.Media{Type: key.media.Type})
	if err != nil {
		return aggregatedDoc{}, err
	}
	sum := sha256.Sum256(body)
	doc = aggregatedDoc{body: body, etag: `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.generation == generation {
		d.aggregated[key] = doc
	}
	return doc, nil
}

// aggregatedList returns the finished document, if there is one, else the list to make it from.
func (d *Discovery) aggregatedList(key aggregatedKey) (*apidiscoveryv2.APIGroupDiscoveryList, uint64, aggregatedDoc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc, ok := d.aggregated[key]; ok {
		return nil, 0, doc
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	list.Kind, list.APIVersion = "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"
	if key.legacy {
		list.Items = append(list.Items, aggregatedGroup(&d.legacy))
		return list, d.generation, aggregatedDoc{}
	}
	for i := range d.groups {
		list.Items = append(list.Items, aggregatedGroup(&d.groups[i]))
	}
	return list, d.generation, aggregatedDoc{}
}

func aggregatedGroup(g *discoveryGroup) apidiscoveryv2.APIGroupDiscovery {
	doc := apidiscoveryv2.APIGroupDiscovery{}
	doc.Name = g.name
	for i := range g.versions {
		doc.Versions = append(doc.Versions, aggregatedVersion(&g.versions[i]))
	}
	return doc
}

// aggregatedVersion lists the resources of a version with their subresources inside them.
func aggregatedVersion(gv *GroupVersion) apidiscoveryv2.APIVersionDiscovery {
	doc := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	for i := range gv.Resources {
		r := &gv.Resources[i]
		kind := r.Kind
		if kind.GroupVersion() == gv.GroupVersion { // shown empty: the same as the list's
			kind.Group, kind.Version = "", ""
		}
		name, sub, isSub := strings.Cut(r.Name, "/")
		if !isSub {
			scope := apidiscoveryv2.ScopeCluster
			if r.Namespaced {
				scope = apidiscoveryv2.ScopeNamespace
			}
			doc.Resources = append(doc.Resources, apidiscoveryv2.APIResourceDiscovery{
				Resource: name, ResponseKind: &kind, Scope: scope, SingularResource: r.Singular,
				Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
			})
			continue
		}
		if n := len(doc.Resources); n > 0 && doc.Resources[n-1].Resource == name {
			parent := &doc.Resources[n-1]
			parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: &kind, Verbs: r.Verbs(),
			})
		}
	}
	return doc
}
