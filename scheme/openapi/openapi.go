// Package openapi writes the OpenAPI documents of the API, version 3 for each group version and version 2 for
// everything, from schemas and a list of what is served.
//
// What it guarantees: the documents say what those of kube-apiserver say to clients. Models carry their kinds, list
// types, merge keys, defaults and enumerations; every operation carries its action and kind, so that kubectl finds a
// kind's schema through the paths and sees from the parameters of PATCH what the server can do. Equal input gives equal
// bytes. Results are bytes; nothing else is kept, and callers cache them, and the models of custom resources (Model.Text). All functions
// may be called at once.
//
// Memory: a document is written once, into one buffer. Meanwhile there are the schemas of all built-in kinds in it, and of custom
// resources one for each processor, and the texts of the others. What other servers describe is a tree while it is filtered, merged or
// converted: see Swagger. What is converted takes at most four times the text, and 32 MiB (maxContents).
//
// Not here: the endpoints, their negotiation and caching (router); what types look like (scheme/schema).
//
// Reading order: openapi.go (what goes in), operations.go, resources.go and parameters.go (the paths), custom.go
// (kinds that have no Go type), schemas.go, v3.go, v2.go, then proto.go with protov3.go and protov2.go; swagger.go, merge.go and convert.go for what
// other servers describe.
package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Info names the server in a document.
type Info struct {
	Title   string // empty: "Kubernetes", which some clients expect
	Version string // such as "v1.36.0"; empty: "unversioned"
	// Kinds returns the kinds that the model of a name is the schema of, whatever a document describes; none for what is
	// described as a kind that it does not know. nil for none at all.
	Kinds func(model string) []meta.GroupVersionKind
}

// Document is one unit of version 3: what is served under one path.
type Document struct {
	// Path is the path without slashes at its ends: "api/v1", "apis/apps/v1", "apis/apps", "version".
	Path string
	// GroupVersion is set for the documents of group versions.
	GroupVersion meta.GroupVersion
	// Resources are the resources and subresources of a group version. A subresource needs its resource in the list.
	Resources []Resource
	// Endpoints are other things to GET.
	Endpoints []Endpoint
	// Swagger, if it is set, is what another server says of the group version in version 2, made by Below. Then nothing else but
	// the path counts.
	Swagger []byte
}

// Resource is a resource or subresource.
type Resource struct {
	meta.Description
	Verbs  []string // of create, delete, deletecollection, get, list, patch, update, watch
	Object Model    // what bodies hold
	List   Model    // what lists hold; needed with the verb list

	// Connect lists the HTTP methods of a streaming subresource, such as GET and POST of pods/exec; Object is then
	// not used.
	Connect []string
	// Options is the type of the query's options, of Connect and of get. May be zero.
	Options Model
	// Subpath says that Connect also takes a path behind the subresource.
	Subpath bool
	// Text says that get answers text, as pods/log does.
	Text bool
}

// Model is a kind and its schema, which is asked for when a document is made. One with neither Type nor Schema has
// none, unless it is that of a list: then it is made from that of the objects.
type Model struct {
	Kind meta.GroupVersionKind
	// Type is a Go type. It is compiled for each document anew, and shares what it has in common with others.
	Type *typeinfo.Type
	// Schema is asked in place of Type. The schema is not changed. One that has no name is that of a kind that arrived
	// at run time; its model is named after the kind.
	Schema func() *schema.Schema
	// Text keeps the model of a kind that arrived at run time, as documents of a version have it, for those to come: it returns
	// what write appended when it was called first. nil: the model is written for each document.
	Text func(v2 bool, write func(dst []byte) []byte) []byte
	// Selectable are the fields that field selectors may name, of a kind that arrived at run time.
	Selectable []string
}

func (m Model) zero() bool { return m.Type == nil && m.Schema == nil }

// custom reports whether all that a document describes are custom resources.
func (d *Document) custom() bool {
	return len(d.Resources) > 0 && len(d.Endpoints) == 0 && !slices.ContainsFunc(d.Resources, func(r Resource) bool { return !r.Custom })
}

// Endpoint is something to GET that is no resource.
type Endpoint struct {
	Path        string // with slashes
	Description string
	OperationID string
	Tag         string
	// Types are the media types of the answer. If there are none, the document says nothing of the
	// answer.
	Types []string
	// Answer is what comes back; zero for text.
	Answer Model
	// Parameter describes the parameter in braces at the end of Path; "" if there is none.
	Parameter string
}

// AppendV3JSON appends a document of OpenAPI 3.0 as JSON to dst.
func AppendV3JSON(dst []byte, info Info, doc Document) []byte {
	if doc.Swagger != nil {
		return appendConverted(dst, info, doc.Swagger)
	}
	b := newBuilder(false, doc)
	if b.alone = doc.custom(); b.alone {
		info.Title, info.Version = "Kubernetes CRD Swagger", "v0.1.0"
	} else if doc.GroupVersion.Version != "" {
		info = info.in(doc.GroupVersion)
	}
	return b.writeV3(dst, info)
}

// in returns what the document of a group version says of the server. Of the kinds that every group
// version has, it names those of the version itself and of v1, as kube-apiserver does.
func (i Info) in(gv meta.GroupVersion) Info {
	all := i.Kinds
	if all == nil {
		return i
	}
	i.Kinds = func(model string) []meta.GroupVersionKind {
		kinds := all(model)
		if len(kinds) < 2 || kinds[0].Kind != "DeleteOptions" && kinds[0].Kind != "WatchEvent" {
			return kinds
		}
		return slices.DeleteFunc(slices.Clone(kinds), func(k meta.GroupVersionKind) bool {
			return k.GroupVersion() != gv && k.GroupVersion() != meta.GroupVersion{Version: "v1"}
		})
	}
	return i
}

// V2JSON returns all documents together as Swagger 2.0 in JSON. Those of other servers come last, in their order.
func V2JSON(info Info, docs []Document) []byte {
	var here []Document
	var others [][]byte
	for _, doc := range docs {
		if doc.Swagger != nil {
			others = append(others, doc.Swagger)
		} else {
			here = append(here, doc)
		}
	}
	document := newBuilder(true, here...).writeV2(info)
	if len(others) > 0 {
		document = MergeV2(document, others)
	}
	return document
}

// Hash returns the hash of a document, for entity tags and for the index of version 3: 64 hex digits.
func Hash(document []byte) string {
	sum := sha256.Sum256(document)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Entry is a document in the index of version 3.
type Entry struct {
	Path string // of the Document
	Hash string
}

// URL is the address of the document, below the server's own.
func (e Entry) URL() string {
	if e.Hash == "" { // another server, which has the document, does not say
		return "/openapi/v3/" + e.Path
	}
	return "/openapi/v3/" + e.Path + "?hash=" + e.Hash
}

// Index returns the index of the documents of version 3 as JSON.
func Index(entries []Entry) []byte {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var w writer
	w.open("", '{')
	w.open("paths", '{')
	for _, e := range entries {
		w.open(e.Path, '{')
		w.str("serverRelativeURL", e.URL())
		w.close('}')
	}
	w.close('}')
	w.close('}')
	return w.b
}

// GroupDocument is the document of a group's own path, "apis/apps"; of all groups for the path "apis", and of the core
// group's versions for "api".
func GroupDocument(path string) Document {
	at := "/" + path + "/"
	e := Endpoint{Path: at, Tag: path, Types: objectTypes}
	switch group, ok := strings.CutPrefix(path, "apis/"); {
	case ok:
		name := groupName(group)
		e.Description, e.OperationID, e.Tag = "get the group and its versions", "get"+name+"APIGroup", tagName(group)
		e.Answer = metaModel[meta.APIGroup]("APIGroup")
	case path == "api":
		e.Description, e.OperationID, e.Tag = "get the versions of the core group", "getCoreAPIVersions", "core"
		e.Answer = metaModel[meta.APIVersions]("APIVersions")
	default:
		e.Description, e.OperationID = "get all groups", "getAPIVersions"
		e.Answer = metaModel[meta.APIGroupList]("APIGroupList")
	}
	return Document{Path: path, Endpoints: []Endpoint{e}}
}

// metaModel is the model of a type of package meta.
func metaModel[T any](kind string) Model {
	return Model{Kind: meta.GroupVersionKind{Version: "v1", Kind: kind}, Type: typeinfo.For[T]()}
}
