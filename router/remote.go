package router

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// RemoteVersion is a group version that another server serves, as that describes it. It never changes.
type RemoteVersion struct {
	meta.GroupVersion
	GroupPriority, VersionPriority int // as those of GroupVersion
	// Resources are what the server says that it serves; Stale, that nobody knows whether it still does.
	Resources []apidiscoveryv2.APIResourceDiscovery
	Stale     bool
	// Schemas are the documents of OpenAPI v3 that the server has of the version, and of its group. Handler answers requests for them.
	Schemas []openapi.Entry
	Handler http.Handler
}

// SetRemote shows the versions of other servers, and no others, as part of the groups. One stands before what is served here in the
// same group version. The legacy group has none. What is the same as before, by address, keeps its documents.
func (d *Discovery) SetRemote(versions []*RemoteVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var remote []*version
	for _, rv := range versions {
		if rv.Group == "" {
			continue
		}
		i := slices.IndexFunc(d.remote, func(v *version) bool { return v.remote == rv })
		if i >= 0 {
			remote = append(remote, d.remote[i])
			continue
		}
		remote = append(remote, &version{GroupVersion: rv.GroupVersion, groupPriority: rv.GroupPriority, priority: rv.VersionPriority, remote: rv})
	}
	if !slices.Equal(remote, d.remote) {
		d.remote = remote
		d.now.Store(d.local.with(remote))
	}
}

// with returns the picture with versions of other servers.
func (p *picture) with(remote []*version) *picture {
	if len(remote) == 0 {
		return p
	}
	groups, listed := p.copied()
	for _, v := range remote {
		listed = put(groups, listed, p.newGroup(groups[v.Group], v.GroupVersion, v))
	}
	next := newPicture(p.codecs, groups, listed)
	next.remote = remote
	return next
}

// remoteEntries are what the index has of other servers' documents: each path once, and none that is described here.
func (o *OpenAPI) remoteEntries(p *picture) (entries []openapi.Entry) {
	for _, v := range p.remote {
		for _, e := range v.remote.Schemas {
			if p.schemaOf(e.Path) == v.remote && o.find(p, e.Path) == nil {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// schemaOf returns the version whose server has the document of OpenAPI v3 at a path, nil if there is none.
func (p *picture) schemaOf(path string) *RemoteVersion {
	for _, v := range p.remote {
		if slices.ContainsFunc(v.remote.Schemas, func(e openapi.Entry) bool { return e.Path == path }) {
			return v.remote
		}
	}
	return nil
}

// RemoteV2 is a part of a document of version 2 of another server, made by openapi.FilterV2.
type RemoteV2 struct{ doc *schemaDoc }

// NewRemoteV2 keeps a part. It does not keep the bytes.
func NewRemoteV2(part []byte) *RemoteV2 { return &RemoteV2{newSchemaDoc(part, "")} }

// mergedV2 is version 2 with the parts of other servers: what it was made of, and the document.
type mergedV2 struct {
	of     *picture
	parts  []*RemoteV2
	schema schemaSlot
}

// keptV2 keeps the last of them.
type keptV2 struct {
	mu   sync.Mutex
	last *mergedV2
}

// of returns the one that is made of a picture and parts, nil for no parts.
func (k *keptV2) of(p *picture, parts []*RemoteV2) *mergedV2 {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(parts) == 0:
		k.last = nil
	case k.last == nil || k.last.of != p || !slices.Equal(k.last.parts, parts):
		k.last = &mergedV2{of: p, parts: parts}
	}
	return k.last
}

// withRemote is version 2 with what other servers say in it, nil if they say nothing. It is kept until one of the parts changes.
func (o *OpenAPI) withRemote(ctx context.Context, p *picture, form schemaForm) *schemaDoc {
	var parts []*RemoteV2
	if len(p.remote) > 0 && o.RemoteV2 != nil {
		parts = o.RemoteV2(ctx)
	}
	m := o.merged.of(p, parts)
	if m == nil {
		return nil
	}
	return o.get(&m.schema, form, func([]byte) []byte {
		var texts [][]byte
		for _, part := range m.parts {
			texts = append(texts, part.doc.body())
		}
		return openapi.MergeV2(o.v2(m.of, jsonForm).body(), texts)
	}, openapi.V2Proto)
}
