package typechecks

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/server/client"
)

// This file finds kinds in discovery, and their schemas in the OpenAPI documents of version 3, as
// any client can. So it also finds the kinds of servers behind this one. Loop.reconcile makes a
// Served for each policy that it checks.

// Served are the kinds that a server serves at one moment. It belongs to one goroutine.
type Served struct {
	ctx       context.Context
	c         *client.Client
	resources []resource
	documents map[meta.GroupVersion]*document // the documents that were read; nil: the group version has none
	err       error                           // the first request that got no answer
}

// resource is a resource in discovery.
type resource struct {
	meta.GroupVersionResource
	singular string
	kind     string
}

// discoveryType asks for all resources in one document.
const discoveryType = codec.JSONType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// NewServed returns the kinds that the server of c serves at this moment. Schemas are read when
// they are needed, until ctx ends.
func NewServed(ctx context.Context, c *client.Client) (*Served, error) {
	s := &Served{ctx: ctx, c: c, documents: map[meta.GroupVersion]*document{}}
	for _, path := range []string{"/api", "/apis"} {
		data, err := c.Document(ctx, path, discoveryType)
		if err != nil {
			return nil, err
		}
		var found apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(data, &found); err != nil {
			return nil, err
		}
		for i := range found.Items {
			s.add(&found.Items[i])
		}
	}
	return s, nil
}

// add adds the resources of a group.
func (s *Served) add(g *apidiscoveryv2.APIGroupDiscovery) {
	for _, v := range g.Versions {
		gv := meta.GroupVersion{Group: g.Name, Version: v.Version}
		for _, r := range v.Resources {
			if r.ResponseKind == nil || r.ResponseKind.Kind == "" {
				continue
			}
			found := resource{gv.WithResource(r.Resource), r.SingularResource, r.ResponseKind.Kind}
			if found.singular == "" {
				found.singular = strings.ToLower(found.kind)
			}
			s.resources = append(s.resources, found)
		}
	}
}

// KindsOf returns the kinds of a resource. As in Kubernetes' controller, the name may be singular
// and in capital letters, and the group "" stands for every group.
func (s *Served) KindsOf(gvr meta.GroupVersionResource) (kinds []meta.GroupVersionKind) {
	name := strings.ToLower(gvr.Resource)
	for i := range s.resources {
		r := &s.resources[i]
		named := r.Resource == name || r.singular == name
		if named && r.Version == gvr.Version && (r.Group == gvr.Group || gvr.Group == "") {
			kinds = append(kinds, r.GroupVersion().WithKind(r.kind))
		}
	}
	return kinds
}

// Schema returns the schema of a kind from the document of its group version.
func (s *Served) Schema(gvk meta.GroupVersionKind) (*schema.Schema, bool) {
	gv := gvk.GroupVersion()
	d, read := s.documents[gv]
	if !read {
		d = s.document(gv)
		s.documents[gv] = d
	}
	if d == nil {
		return nil, false
	}
	return d.schemaOf(gvk)
}

// document reads the document of a group version. It returns nil if there is none. If there is no
// answer, it sets s.err.
func (s *Served) document(gv meta.GroupVersion) *document {
	path := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		path = "/openapi/v3/api/" + gv.Version
	}
	data, err := s.c.Document(s.ctx, path, codec.JSONType)
	if err == nil {
		d := &document{}
		if err = json.Unmarshal(data, d); err == nil {
			return d
		}
	}
	if _, refused := err.(*meta.StatusError); !refused && s.err == nil {
		s.err = err
	}
	return nil
}

// document is an OpenAPI document of version 3. Its models are decoded when they are needed.
type document struct {
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

// kindsKey is the extension of a model that names its kinds.
const kindsKey = "x-kubernetes-group-version-kind"

// schemaOf returns the schema of a kind.
func (d *document) schemaOf(gvk meta.GroupVersionKind) (*schema.Schema, bool) {
	for name, data := range d.Components.Schemas {
		if !bytes.Contains(data, []byte(kindsKey)) {
			continue
		}
		var model struct {
			Kinds []meta.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if json.Unmarshal(data, &model) != nil {
			continue
		}
		for _, k := range model.Kinds {
			if k == gvk {
				r := &reader{models: d.Components.Schemas, within: map[string]bool{name: true}}
				return r.read(data)
			}
		}
	}
	return nil, false
}
