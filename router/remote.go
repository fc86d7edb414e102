package router

import (
	"net/http"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// RemoteVersion is a group version that an aggregated server serves, as that server describes it.
// It is immutable.
type RemoteVersion struct {
	meta.GroupVersion
	GroupPriority, VersionPriority int // as in GroupVersion
	// Resources are the resources that the server lists. Stale says that the list may be out of
	// date, because the server could not be asked.
	Resources []apidiscoveryv2.APIResourceDiscovery
	Stale     bool
	// Schemas are the OpenAPI v3 documents that the server has of the version and of its group.
	// Handler answers requests for them.
	Schemas []openapi.Entry
	Handler http.Handler
	// V2 is the server's description of the version in OpenAPI v2; nil if it has none or was not
	// asked. NoV3 says that the server has no OpenAPI v3, which is then made from V2.
	V2   *RemoteV2
	NoV3 bool
}

// RemoteV2 is a server's description of a version in OpenAPI v2, with the version 3 that is made
// from it.
type RemoteV2 struct {
	doc *schemaDoc
	v3  schemaSlot
}

// NewRemoteV2 makes a RemoteV2 from a document of openapi.Swagger. It does not keep the bytes.
func NewRemoteV2(document []byte) *RemoteV2 { return &RemoteV2{doc: newSchemaDoc(document, "")} }

// hasV2 reports whether OpenAPI v2 has a description of the version.
func (rv *RemoteVersion) hasV2() bool { return rv.V2 != nil }

// madeV3 reports whether a document of version 3 is made here.
func (rv *RemoteVersion) madeV3() bool { return rv.V2 != nil && rv.NoV3 }

// SetRemote replaces the versions of aggregated servers by the given ones. They appear in their
// groups, and in documents over all groups in the order given. A remote version hides a version
// that is served here under the same name. Versions of the legacy group are ignored. A
// *RemoteVersion that was in the previous call keeps its documents.
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
		remote = append(remote, &version{
			GroupVersion: rv.GroupVersion, groupPriority: rv.GroupPriority, priority: rv.VersionPriority, remote: rv,
		})
	}
	if !slices.Equal(remote, d.remote) {
		d.remote = remote
		d.now.Store(d.local.withRemote(remote))
	}
}

// withRemote returns the picture with the versions of aggregated servers.
func (p *picture) withRemote(remote []*version) *picture {
	if len(remote) == 0 {
		return p
	}
	groups, listed := p.copied()
	for _, v := range remote {
		listed = putGroup(groups, listed, p.newGroup(groups[v.Group], v.GroupVersion, v))
	}
	next := newPicture(p.codecs, groups, listed)
	next.remote = remote
	return next
}

// remoteEntries returns the entries of aggregated servers in the index: each path once, and no path
// that is described here.
func (o *OpenAPI) remoteEntries(p *picture) (entries []openapi.Entry) {
	for _, v := range p.remote {
		for _, e := range v.remote.Schemas {
			if p.schemaOf(e.Path) == v.remote && o.described(p, e.Path) == nil {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// schemaOf returns the version whose server has the OpenAPI v3 document at a path, or nil.
func (p *picture) schemaOf(path string) *RemoteVersion {
	for _, v := range p.remote {
		if slices.ContainsFunc(v.remote.Schemas, func(e openapi.Entry) bool { return e.Path == path }) {
			return v.remote
		}
	}
	return nil
}
