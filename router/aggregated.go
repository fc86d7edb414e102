package router

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Aggregated discovery (KEP-3352) shows all groups, versions and resources in one document, which
// /api and /apis answer to clients that accept it. This file builds the documents; root in
// document.go calls serveAggregated.
//
// The document is joined from parts that are kept encoded: a head beside each group and a part
// beside each version. After a change only the parts that changed are encoded again.

// aggregatedForms are the finished documents by media type: either the one for all groups except
// the legacy group, or the one for the legacy group.
type aggregatedForms [len(contentTypes)]atomic.Pointer[aggregatedDoc]

// aggregatedDoc is a finished document with its entity tag, quotes included.
type aggregatedDoc struct {
	body []byte
	etag string
}

// serveAggregated answers with the document, or with 304 if If-None-Match is its entity tag. legacy
// selects the document of /api. YAML and indented JSON have the entity tag of the compact JSON that
// they are made from.
func (p *picture) serveAggregated(out answer, r *http.Request, legacy bool, media codec.Media) {
	typ := media.Type
	if typ == codec.YAML { // rarely asked for, so it is converted from the JSON each time
		typ = codec.JSON
	}
	doc, err := p.aggregatedDoc(legacy, typ)
	if err != nil {
		out.fail(r, err)
		return
	}
	h := out.Header()
	h.Set("Vary", "Accept")
	h.Set("ETag", doc.etag)
	h.Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == doc.etag {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	body := doc.body
	if media.Pretty = media.Pretty || isPretty(r); media.Type == codec.YAML ||
		media.Type == codec.JSON && media.Pretty {
		if body, err = p.codecs.Transcode(nil, body, codec.Media{Type: media.Type, Pretty: media.Pretty}); err != nil {
			out.fail(r, err)
			return
		}
	}
	if out.records() {
		if plain, err := p.aggregatedDoc(legacy, codec.JSON); err == nil {
			out.record.AnsweredObject = bytes.TrimSuffix(plain.body, newline)
		}
	}
	out.begin(http.StatusOK, []string{media.ContentType() + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
	_, _ = out.Write(body) // an error means that the client has gone
}

// aggregatedDoc returns the finished document, and makes it if there is none. Concurrent requests
// may each make it; the last one is kept.
func (p *picture) aggregatedDoc(legacy bool, typ codec.Type) (*aggregatedDoc, error) {
	slot, groups := &p.aggregated[0][typ], p.listed
	if legacy {
		slot, groups = &p.aggregated[1][typ], []*group{p.groups[""]}
	}
	if doc := slot.Load(); doc != nil {
		return doc, nil
	}
	join := joinJSON
	if typ == codec.Protobuf {
		join = joinProto
	}
	body, err := join(groups)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	doc := &aggregatedDoc{body: body, etag: `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`}
	slot.Store(doc)
	return doc, nil
}

// listKind is the kind of an aggregated document.
var listKind = apidiscoveryv2.GroupVersion.WithKind("APIGroupDiscoveryList")

// joinJSON makes the JSON document from the parts of its groups. It relies on the order of fields:
// "items" is the last field of the list and "versions" the last field of a group, so the closing
// brackets can be cut off and appended again.
func joinJSON(groups []*group) ([]byte, error) {
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	list.SetGroupVersionKind(listKind)
	b, err := codec.AppendJSON(nil, list)
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-len("]}")]
	for i, g := range groups {
		if i > 0 {
			b = append(b, ',')
		}
		head, err := g.headJSON()
		if err != nil {
			return nil, err
		}
		b = append(b, head...)
		for j, v := range g.versions {
			part, err := v.partJSON()
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, part...)
		}
		b = append(b, "]}"...)
	}
	return append(b, "]}\n"...), nil
}

// headJSON returns the JSON of a group up to the opening bracket of its versions.
func (g *group) headJSON() ([]byte, error) {
	return keptBytes(&g.head[codec.JSON], func() ([]byte, error) {
		b, err := codec.AppendJSON(nil, g.aggregated(nil))
		if err != nil {
			return nil, err
		}
		return append(b[:len(b)-len("}")], `,"versions":[`...), nil
	})
}

// partJSON returns the JSON of a version as an element of its group's "versions".
func (v *version) partJSON() ([]byte, error) {
	return keptBytes(&v.part[codec.JSON], func() ([]byte, error) { return codec.AppendJSON(nil, v.aggregated()) })
}

// joinProto is joinJSON for protobuf. A protobuf message is the concatenation of its fields, and
// versions are the last field of a group, so a group's message is its head followed by its
// versions' parts.
func joinProto(groups []*group) ([]byte, error) {
	messages := make([][]byte, len(groups))
	size := 0
	for i, g := range groups {
		head, err := g.headProto()
		if err != nil {
			return nil, err
		}
		message := append([]byte(nil), head...)
		for _, v := range g.versions {
			part, err := v.partProto()
			if err != nil {
				return nil, err
			}
			message = append(message, part...)
		}
		messages[i] = message
		size += codec.ProtoItemSize(len(message))
	}
	b := codec.AppendProtoListHead(nil, listKind, &meta.ListMeta{}, size)
	for _, message := range messages {
		b = codec.AppendProtoItem(b, message)
	}
	return codec.AppendProtoListTail(b), nil
}

// headProto returns the message of a group without its versions.
func (g *group) headProto() ([]byte, error) {
	return keptBytes(&g.head[codec.Protobuf], func() ([]byte, error) { return message(g.aggregated(nil)) })
}

// partProto returns the encoded field "versions" of a group that holds v alone. It is computed as
// the difference between a group with v and the same group without versions.
func (v *version) partProto() ([]byte, error) {
	return keptBytes(&v.part[codec.Protobuf], func() ([]byte, error) {
		var nameless group
		without, err := message(nameless.aggregated(nil))
		if err != nil {
			return nil, err
		}
		with, err := message(nameless.aggregated([]apidiscoveryv2.APIVersionDiscovery{v.aggregated()}))
		if err != nil {
			return nil, err
		}
		return with[len(without):], nil
	})
}

// message encodes an object as a bare protobuf message, without Kubernetes' envelope
// (runtime.Unknown).
func message(obj meta.Typed) ([]byte, error) {
	b, err := codec.AppendProto(nil, obj)
	if err != nil {
		return nil, err
	}
	return codec.ProtoBody(b)
}

// aggregated returns the group's entry in the document, with the given versions.
func (g *group) aggregated(versions []apidiscoveryv2.APIVersionDiscovery) *apidiscoveryv2.APIGroupDiscovery {
	doc := &apidiscoveryv2.APIGroupDiscovery{Versions: versions}
	doc.Name = g.name
	return doc
}

// aggregated returns the version's entry in the document: its resources, with the subresources
// inside them.
func (v *version) aggregated() apidiscoveryv2.APIVersionDiscovery {
	doc := apidiscoveryv2.APIVersionDiscovery{Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	if v.remote != nil {
		doc.Resources = v.remote.Resources
		if v.remote.Stale {
			doc.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
		}
	}
	for i := range v.resources {
		if list := v.resources[i].list; !strings.Contains(list[0].Name, "/") {
			doc.Resources = append(doc.Resources, v.aggregatedResource(list))
		}
	}
	return doc
}

// aggregatedResource describes list[0] as a resource and the rest of list as its subresources.
func (v *version) aggregatedResource(list []Resource) apidiscoveryv2.APIResourceDiscovery {
	main := &list[0]
	scope := apidiscoveryv2.ScopeCluster
	if main.Namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	doc := apidiscoveryv2.APIResourceDiscovery{
		Resource: main.Name, ResponseKind: v.kindOf(main), Scope: scope, SingularResource: main.Singular,
		Verbs: main.Verbs(), ShortNames: main.ShortNames, Categories: main.Categories,
	}
	for i := range list[1:] {
		sub := &list[1+i]
		doc.Subresources = append(doc.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: strings.TrimPrefix(sub.Name, main.Name+"/"), ResponseKind: v.kindOf(sub), Verbs: sub.Verbs(),
		})
	}
	return doc
}

// kindOf returns the kind of a resource as the document shows it. Group and version are left empty
// if they are those of the version itself; custom resources always show them, as in kube-apiserver.
func (v *version) kindOf(r *Resource) *meta.GroupVersionKind {
	kind := r.Kind
	if kind.GroupVersion() == v.GroupVersion && !r.Custom {
		kind.Group, kind.Version = "", ""
	}
	return &kind
}
