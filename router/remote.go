package router

import (
	"net/http"
	"slices"

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
	// V2 is what it says of the version in OpenAPI v2, nil for nothing, or if it was not asked. NoV3 says that it knows version 3 of
	// nothing: then that is made of V2.
	V2   *RemoteV2
	NoV3 bool
}

// RemoteV2 is what a server says of a version in OpenAPI v2, with what is made of that.
type RemoteV2 struct {
	doc *schemaDoc
	v3  schemaSlot
}

// NewRemoteV2 keeps a document, made by openapi.Swagger. It does not keep the bytes.
func NewRemoteV2(document []byte) *RemoteV2 { return &RemoteV2{doc: newSchemaDoc(document, "")} }

// hasV2 reports whether version 2 has something of the version.
func (rv *RemoteVersion) hasV2() bool { return rv.V2 != nil }

// madeV3 reports whether there is a document of version 3, which is made here.
func (rv *RemoteVersion) madeV3() bool { return rv.V2 != nil && rv.NoV3 }

// SetRemote shows the versions of other servers, and no others, as part of the groups. In documents that have all of them, they come in
// the order given. One stands before what is served here in the
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
