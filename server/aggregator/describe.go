package aggregator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file asks one server behind to describe itself, and reads the answers: aggregated discovery,
// or the resource list of each version, and the index of OpenAPI v3. A neighbour calls describe.

// Bounds on the time that a server behind may take, and on the size of its answers. They protect
// this server from a server behind that is slow or hostile.
const (
	describeTime = 5 * time.Second // for discovery, and again for the index
	maxDiscovery = 4 << 20         // bytes
	maxIndex     = 1 << 20         // bytes
	maxHash      = 256             // bytes
)

// description is what a server says that it serves.
type description struct {
	versions map[meta.GroupVersion]versionSaid
	etag     string            // of aggregated discovery; "" if there is none
	schemas  map[string]string // hashes of its documents of OpenAPI v3, by path
	noV3     bool              // it has no OpenAPI v3
}

// versionSaid is the description of one group version: its resources, and the hash of the document
// from which they were read. An equal hash saves decoding the document again.
type versionSaid struct {
	hash      [sha256.Size]byte
	resources []apidiscoveryv2.APIResourceDiscovery
	stale     bool
}

// answer is the answer of a server behind to one GET, read whole.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// question sends a GET as a user and reads the whole answer. It returns an error if the body is
// larger than limit bytes.
func (r *remote) question(
	ctx context.Context, user *request.User, path string, limit int, header http.Header,
) (*answer, error) {
	resp, err := r.get(ctx, user, path, header)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(body) > limit {
		return nil, fmt.Errorf("%s: the answer has more than %d bytes", path, limit)
	}
	return &answer{resp.StatusCode, resp.Header, body}, nil
}

// describe asks the server behind that serves remotes what it serves. A document that has not
// changed is not decoded again: its content is taken from before, the last description. If there is
// an error the description is usable nevertheless: versions that could not be read are stale, and
// schemas may be those of before.
func describe(ctx context.Context, remotes []*remote, before *description) (description, error) {
	now := description{
		versions: map[meta.GroupVersion]versionSaid{}, schemas: before.schemas, noV3: before.noV3,
	}
	err := now.discover(ctx, remotes, before)
	if err != nil {
		for _, r := range remotes {
			if _, ok := now.versions[r.version()]; !ok {
				now.versions[r.version()] = versionSaid{stale: true}
			}
		}
	}
	for _, r := range remotes {
		if r.available {
			return now, errors.Join(err, now.index(ctx, r))
		}
	}
	return now, err
}

// aggregatedForms are the forms of aggregated discovery that this server asks others for.
const (
	aggregatedForm  = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	aggregatedForms = aggregatedForm + ",application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)

// discover asks for the resources of all group versions at once, or one version after the other if
// the server does not know aggregated discovery.
func (d *description) discover(ctx context.Context, remotes []*remote, before *description) error {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	header := http.Header{"Accept": {aggregatedForms}}
	if before.etag != "" && before.knows(remotes) {
		header.Set("If-None-Match", before.etag)
	}
	got, err := remotes[0].question(ctx, &discoveryUser, "/apis", maxDiscovery, header)
	switch {
	case err != nil:
		return err
	case got.code == http.StatusServiceUnavailable:
		return errors.New("/apis: service unavailable")
	case got.code == http.StatusNotModified && header.Get("If-None-Match") != "":
		d.etag, d.versions = before.etag, before.versions
	case got.code == http.StatusOK && isAggregated(got.header.Get("Content-Type")):
		d.etag = got.header.Get("Etag")
		if err := d.readAll(got.body, before); err != nil {
			return err
		}
	default:
		var errs []error
		for _, r := range remotes {
			errs = append(errs, d.readOne(ctx, r, before))
		}
		return errors.Join(errs...)
	}
	all := d.versions
	d.versions = map[meta.GroupVersion]versionSaid{}
	for _, r := range remotes { // a version that the server does not name has no resources
		d.versions[r.version()] = all[r.version()]
	}
	return nil
}

// knows reports whether d has the versions of all remotes.
func (d *description) knows(remotes []*remote) bool {
	return !slices.ContainsFunc(remotes, func(r *remote) bool {
		_, ok := d.versions[r.version()]
		return !ok
	})
}

// isAggregated reports whether a media type is one of aggregatedForms.
func isAggregated(contentType string) bool {
	typ, params, err := mime.ParseMediaType(contentType)
	return err == nil && typ == codec.JSONType && params["g"] == apidiscoveryv2.GroupVersion.Group &&
		params["as"] == "APIGroupDiscoveryList" && (params["v"] == "v2" || params["v"] == "v2beta1")
}

// readAll reads a document of aggregated discovery.
func (d *description) readAll(body []byte, before *description) error {
	hash := sha256.Sum256(body)
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := codec.DecodeJSON(body, &list); err != nil {
		return errors.New("/apis: the answer is not a list of groups")
	}
	for i := range list.Items {
		g := &list.Items[i]
		for j := range g.Versions {
			v := &g.Versions[j]
			gv := meta.GroupVersion{Group: g.Name, Version: v.Version}
			if said := before.versions[gv]; said.hash == hash && !said.stale {
				d.versions[gv] = said
				continue
			}
			d.versions[gv] = versionSaid{hash: hash, resources: withKinds(v.Resources)}
		}
	}
	return nil
}

// withKinds gives resources without a kind an empty one, because some clients read the kind without
// looking whether there is one.
func withKinds(resources []apidiscoveryv2.APIResourceDiscovery) []apidiscoveryv2.APIResourceDiscovery {
	for i := range resources {
		r := &resources[i]
		if r.ResponseKind == nil {
			r.ResponseKind = &meta.GroupVersionKind{}
		}
		for j := range r.Subresources {
			if sub := &r.Subresources[j]; sub.ResponseKind == nil {
				sub.ResponseKind = &meta.GroupVersionKind{}
			}
		}
	}
	return resources
}

// readOne asks for the list of the resources of a version.
func (d *description) readOne(ctx context.Context, r *remote, before *description) error {
	gv := r.version()
	path := "/apis/" + gv.String()
	got, err := r.question(ctx, &resourcesUser, path, maxDiscovery, http.Header{"Accept": {codec.JSONType}})
	if err != nil {
		return err
	}
	if got.code != http.StatusOK {
		return fmt.Errorf("%s: status %d", path, got.code)
	}
	hash := sha256.Sum256(got.body)
	if said := before.versions[gv]; said.hash == hash && !said.stale {
		d.versions[gv] = said
		return nil
	}
	var list meta.APIResourceList
	if err := codec.DecodeJSON(got.body, &list); err != nil {
		return fmt.Errorf("%s: the answer is not a list of resources", path)
	}
	resources, err := fromList(list.APIResources)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d.versions[gv] = versionSaid{hash: hash, resources: resources}
	return nil
}

// fromList converts an APIResourceList to aggregated discovery: "pods/log" moves into the resource
// "pods". If the list lacks the resource of a subresource, fromList makes one without a kind. It
// fails if one of the two is namespaced and the other is not. Kinds keep the group and version of
// the list's entry, which may be empty.
func fromList(list []meta.APIResource) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	var resources []apidiscoveryv2.APIResourceDiscovery
	index := map[string]int{}
	kindOf := func(r *meta.APIResource) *meta.GroupVersionKind {
		return &meta.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	}
	scopeOf := func(r *meta.APIResource) apidiscoveryv2.ResourceScope {
		if r.Namespaced {
			return apidiscoveryv2.ScopeNamespace
		}
		return apidiscoveryv2.ScopeCluster
	}
	for i := range list {
		r := &list[i]
		if strings.Contains(r.Name, "/") {
			continue
		}
		index[r.Name] = len(resources)
		resources = append(resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: kindOf(r), Scope: scopeOf(r), SingularResource: r.SingularName,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	for i := range list {
		r := &list[i]
		name, sub, ok := strings.Cut(r.Name, "/")
		if !ok {
			continue
		}
		at, ok := index[name]
		if !ok {
			at = len(resources)
			index[name] = at
			resources = append(resources, apidiscoveryv2.APIResourceDiscovery{
				Resource: name, ResponseKind: &meta.GroupVersionKind{}, Scope: scopeOf(r),
			})
		}
		if resources[at].Scope != scopeOf(r) {
			return nil, fmt.Errorf("subresource %q and its resource differ in scope", r.Name)
		}
		kind := kindOf(r)
		if r.Kind == "" {
			kind = &meta.GroupVersionKind{}
		}
		resources[at].Subresources = append(resources[at].Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub, ResponseKind: kind, Verbs: r.Verbs,
		})
	}
	return resources, nil
}

// index asks for the index of OpenAPI v3.
func (d *description) index(ctx context.Context, r *remote) error {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	got, err := r.question(ctx, &openAPIUser, "/openapi/v3", maxIndex, nil)
	if err != nil {
		return err
	}
	switch got.code {
	case http.StatusOK:
		schemas, err := readIndex(got.body)
		if err == nil {
			d.schemas, d.noV3 = schemas, false
		}
		return err
	case http.StatusNotFound:
		d.schemas, d.noV3 = nil, true
		return nil
	}
	return fmt.Errorf("/openapi/v3: status %d", got.code)
}

// readIndex returns, by path, the hashes of the documents in an index of OpenAPI v3. It ignores the
// rest of their addresses, because this server shows the documents at its own addresses.
func readIndex(body []byte) (map[string]string, error) {
	errIndex := errors.New("/openapi/v3: the answer is not an index")
	members := func(r jsontext.Raw, key string) jsontext.Raw {
		all, _ := r.Members(0, nil)
		for _, m := range all {
			if m.Key == key {
				return m.Value
			}
		}
		return ""
	}
	entries, ok := members(jsontext.RawOf(body), "paths").Members(0, nil)
	if !ok {
		return nil, errIndex
	}
	schemas := map[string]string{}
	for _, e := range entries {
		address, ok := members(e.Value, "serverRelativeURL").Str()
		if !ok {
			return nil, errIndex
		}
		schemas[e.Key] = hashOf(address)
	}
	return schemas, nil
}

// hashOf returns the parameter hash of a document's address, or "" if it has none. A hash that is
// too long or that needs escaping is ignored, because this server puts it into addresses of its
// own.
func hashOf(address string) string {
	to, err := url.Parse(address)
	if err != nil {
		return ""
	}
	hash := to.Query().Get("hash")
	if len(hash) > maxHash || url.QueryEscape(hash) != hash {
		return ""
	}
	return hash
}
