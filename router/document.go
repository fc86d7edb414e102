package router

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file serves the plain discovery documents: /api, /apis, /apis/{group}, and the resource
// lists at /apis/{group}/{version} and /api/{version}. Discovery.Match returns the handlers.

// document is one discovery object, answered in the media type that the client accepts. It is
// encoded for the first request in each media type and the bytes are kept. Concurrent first
// requests may each encode it.
type document struct {
	codecs *codec.Factory
	make   func() meta.Typed
	// unrouted is set for documents that kube-apiserver serves outside of its go-restful routes,
	// which check methods and media types. An unrouted document answers every method like GET.
	unrouted bool
	bodies   [len(contentTypes)]atomic.Pointer[[]byte]
}

// ServeHTTP implements http.Handler.
func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := answerTo(w, r)
	var offer codec.Offer
	if d.unrouted {
		offer = codec.OfferUnrouted
	} else if r.Method != http.MethodGet {
		out.fail(r, ErrMethod())
		return
	}
	media, err := codec.Negotiate(r.Header.Get("Accept"), offer)
	if err != nil {
		out.fail(r, err)
		return
	}
	if media.Type == codec.JSON && (media.Pretty || isPretty(r)) {
		media.Pretty = true
		out.object(http.StatusOK, d.codecs, d.make(), media)
		return
	}
	body, err := d.body(media.Type)
	if err != nil {
		out.fail(r, err)
		return
	}
	if out.records() {
		if plain, err := d.body(codec.JSON); err == nil {
			out.record.AnsweredObject = bytes.TrimSuffix(plain, newline)
		}
	}
	out.whole(http.StatusOK, contentTypes[media.Type], body)
}

// body returns the encoded document.
func (d *document) body(typ codec.Type) ([]byte, error) {
	return keptBytes(&d.bodies[typ], func() ([]byte, error) {
		return d.codecs.Append(nil, d.make(), codec.Media{Type: typ})
	})
}

// keptBytes returns the bytes in slot. If there are none, it calls make and stores the result.
// Concurrent callers may each call make.
func keptBytes(slot *atomic.Pointer[[]byte], make func() ([]byte, error)) ([]byte, error) {
	if kept := slot.Load(); kept != nil {
		return *kept, nil
	}
	made, err := make()
	if err == nil {
		slot.Store(&made)
	}
	return made, err
}

// newGroupList returns the document at /apis.
func newGroupList(p *picture) *document {
	return &document{codecs: p.codecs, unrouted: true, make: func() meta.Typed {
		doc := &meta.APIGroupList{Groups: []meta.APIGroup{}}
		doc.Kind, doc.APIVersion = "APIGroupList", "v1"
		for _, g := range p.listed {
			doc.Groups = append(doc.Groups, apiGroup(g))
		}
		return doc
	}}
}

// newGroupDoc returns the document at /apis/{group}.
func newGroupDoc(codecs *codec.Factory, g *group) *document {
	return &document{codecs: codecs, unrouted: true, make: func() meta.Typed {
		doc := apiGroup(g)
		doc.Kind, doc.APIVersion = "APIGroup", "v1"
		return &doc
	}}
}

// apiGroup describes a group. Its first version is the preferred one.
func apiGroup(g *group) meta.APIGroup {
	doc := meta.APIGroup{Name: g.name}
	for _, v := range g.versions {
		doc.Versions = append(
			doc.Versions, meta.GroupVersionForDiscovery{GroupVersion: v.GroupVersion.String(), Version: v.Version},
		)
	}
	doc.PreferredVersion = doc.Versions[0]
	return doc
}

// newResourceList returns the document at /apis/{group}/{version} or /api/{version}.
func newResourceList(codecs *codec.Factory, v *version) *document {
	return &document{codecs: codecs, make: func() meta.Typed {
		doc := &meta.APIResourceList{GroupVersion: v.GroupVersion.String(), APIResources: []meta.APIResource{}}
		doc.Kind = "APIResourceList"
		if v.Group != "" {
			doc.APIVersion = "v1"
		}
		for _, r := range v.resources {
			for i := range r.list {
				doc.APIResources = append(doc.APIResources, apiResource(v.GroupVersion, &r.list[i]))
			}
		}
		return doc
	}}
}

// apiResource describes a resource or subresource in a group version. Group and version of the kind
// are shown only if they differ from gv, such as for pods/eviction.
func apiResource(gv meta.GroupVersion, r *Resource) meta.APIResource {
	doc := meta.APIResource{
		Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
		Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Kind.GroupVersion() != gv {
		doc.Group, doc.Version = r.Kind.Group, r.Kind.Version
	}
	if !strings.Contains(r.Name, "/") && r.Lister != nil && r.StorageVersion.Kind != "" {
		doc.StorageVersionHash = StorageHash(r.StorageVersion)
	}
	return doc
}

// StorageHash returns the storageVersionHash of a stored version. Clients that migrate storage
// compare it: a new hash means that objects should be written again.
func StorageHash(gvk meta.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// root answers /apis or /api: with the plain list, or with the aggregated document if the client
// accepts that.
type root struct {
	p       *picture
	legacy  bool          // it answers /api
	address func() string // Discovery.Address; used for /api only
}

// ServeHTTP implements http.Handler.
func (root *root) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && root.legacy {
		WriteError(w, r, ErrMethod())
		return
	}
	offer := codec.OfferDiscovery
	if !root.legacy {
		offer |= codec.OfferUnrouted
	}
	media, err := codec.Negotiate(r.Header.Get("Accept"), offer)
	switch {
	case err == nil && media.As == codec.AsDiscovery:
		root.p.serveAggregated(answerTo(w, r), r, root.legacy, media)
	case root.legacy:
		(&document{codecs: root.p.codecs, make: func() meta.Typed { return root.apiVersions(r) }}).ServeHTTP(w, r)
	default:
		root.p.list.ServeHTTP(w, r)
	}
}

// apiVersions returns the document at /api: the versions of the legacy group, and the address at
// which clients reach the server.
func (root *root) apiVersions(r *http.Request) *meta.APIVersions {
	doc := &meta.APIVersions{}
	doc.Kind = "APIVersions"
	for _, v := range root.p.groups[""].versions {
		doc.Versions = append(doc.Versions, v.Version)
	}
	address := ""
	if root.address != nil {
		address = root.address()
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && address == "" {
		address = local.String()
	}
	doc.ServerAddressByClientCIDRs = []meta.ServerAddressByClientCIDR{
		{ClientCIDR: "0.0.0.0/0", ServerAddress: cmp.Or(address, r.Host)},
	}
	return doc
}
