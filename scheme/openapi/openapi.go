// Package openapi writes the OpenAPI documents of the API from schemas and a list of what is
// served: version 3, one document per group version, and version 2, one for everything.
//
// Words:
//   - A Document is what version 3 has under one path; version 2 joins all of them.
//   - A Model is a kind with its schema; in a document it is a named schema.
//   - Custom kinds are those whose schema arrived at run time, that is custom resources.
//   - A Swagger is a parsed document of version 2 of another server.
//
// Laws:
//   - The documents tell clients what those of kube-apiserver tell them. Models carry their
//     kinds, list types, merge keys, defaults and enumerations. Each operation carries its
//     action and kind, so that kubectl finds the schema of a kind through the paths, and sees
//     from the parameters of PATCH what the server supports.
//   - Equal input gives equal bytes.
//   - Nothing is kept between calls. Callers cache documents and the models of custom kinds
//     (Model.Text).
//
// Memory: a document is written once, into one buffer. During that time the schemas of all built-in
// kinds in it exist, one schema of a custom kind per processor, and the texts of the other custom
// kinds. A document of another server is a tree while it is filtered, merged or converted (see
// Swagger). A converted document takes at most four times the text and 32 MiB (maxContents).
//
// All functions may be called at once.
//
// Not here: endpoints, negotiation and caching (router), how types become schemas (scheme/schema).
//
// Read: openapi.go (the input), operations.go, resources.go and parameters.go (paths), custom.go
// (custom kinds), schemas.go, v3.go, v2.go, then proto.go with protov3.go and protov2.go (the
// protobuf forms); swagger.go, merge.go and convert.go (documents of other servers).
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

// Info describes the server in a document.
type Info struct {
	Title   string // "" means "Kubernetes", which some clients expect
	Version string // such as "v1.36.0"; "" means "unversioned"
	// Kinds returns the kinds of the model with a given name, whatever the document describes. If
	// it returns none, the model has the kinds that the document describes for it. It may be nil.
	Kinds func(model string) []meta.GroupVersionKind
}

// Document is one unit of OpenAPI version 3: everything that is served under one path.
type Document struct {
	// Path is the path without slashes at its ends: "api/v1", "apis/apps/v1", "apis/apps",
	// "version".
	Path string
	// GroupVersion is set for the documents of group versions.
	GroupVersion meta.GroupVersion
	// Resources are the resources and subresources of a group version. A subresource needs its
	// resource in the list.
	Resources []Resource
	// Endpoints are paths to GET that are no resources.
	Endpoints []Endpoint
	// Swagger, if set, is the document of another server about the group version, in version 2, as
	// Swagger.Below returns it. Only Path counts beside it.
	Swagger []byte
}

// Resource is a resource or subresource of a group version.
type Resource struct {
	meta.Description
	Verbs  []string // any of create, delete, deletecollection, get, list, patch, update, watch
	Object Model    // the kind of bodies
	List   Model    // the kind of lists, for the verb list

	// Connect lists the HTTP methods of a subresource that streams, such as GET and POST of
	// pods/exec. Object is not used then.
	Connect []string
	// Options is the kind of the query parameters, for Connect and for get. It may be zero.
	Options Model
	// Subpath says that Connect also takes paths below the subresource.
	Subpath bool
	// Text says that get returns text, as pods/log does.
	Text bool
}

// Model is a kind and its schema, which is asked for when a document is made. If Type and Schema
// are nil there is no schema; that of a list is then made from the schema of its objects.
type Model struct {
	// Kind is the kind itself.
	Kind meta.GroupVersionKind
	// Type is a Go type. It is compiled for each document, and shares the models it refers to with
	// other types.
	Type *typeinfo.Type
	// Schema returns the schema if Type is nil. The schema is not changed. A schema without a name
	// is that of a custom kind; its model is named after the kind.
	Schema func() *schema.Schema
	// Text keeps the text of the model of a custom kind for later documents of the same version (v2
	// or not): it returns what write appended when Text was called first. If Text is nil, the model
	// is written for each document.
	Text func(v2 bool, write func(dst []byte) []byte) []byte
	// Selectable are the fields that field selectors may name, for a custom kind.
	Selectable []string
}

// zero reports whether the model has no schema.
func (m Model) zero() bool { return m.Type == nil && m.Schema == nil }

// custom reports whether the document describes only custom resources.
func (d *Document) custom() bool {
	return len(d.Resources) > 0 && len(d.Endpoints) == 0 &&
		!slices.ContainsFunc(d.Resources, func(r Resource) bool { return !r.Custom })
}

// Endpoint is a path to GET that is no resource.
type Endpoint struct {
	Path string // with slashes at both ends
	// Description, OperationID and Tag are those of the operation.
	Description string
	OperationID string
	Tag         string
	// Types are the media types of the response. If there are none, the document does not describe
	// the response.
	Types []string
	// Response is the kind of the response; zero means text.
	Response Model
	// Parameter describes the parameter in braces at the end of Path; "" means that there is none.
	Parameter string
}

// AppendV3JSON appends a document as OpenAPI 3.0 in JSON to dst.
func AppendV3JSON(dst []byte, info Info, doc Document) []byte {
	if doc.Swagger != nil {
		return appendConverted(dst, info, doc.Swagger)
	}
	b := newBuilder(false, doc)
	if b.alone = doc.custom(); b.alone {
		info = info.forCustom()
	} else if doc.GroupVersion.Version != "" {
		info = info.in(doc.GroupVersion)
	}
	return b.writeV3(dst, info)
}

// in returns the Info for the document of a group version. Of the kinds that every group version
// has, it names those of the version itself and of v1, as kube-apiserver does.
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

// withoutClients are the groups of kube-apiserver that client-go's scheme does not have.
var withoutClients = []string{
	"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io",
}

// forCustom returns the Info for a document of custom resources. kube-apiserver makes such
// documents from client-go's scheme.
func (i Info) forCustom() Info {
	i.Title, i.Version = "Kubernetes CRD Swagger", "v0.1.0"
	if all := i.Kinds; all != nil {
		i.Kinds = func(model string) []meta.GroupVersionKind {
			return slices.DeleteFunc(slices.Clone(all(model)), func(k meta.GroupVersionKind) bool {
				return slices.Contains(withoutClients, k.Group)
			})
		}
	}
	return i
}

// V2JSON returns all documents together as Swagger 2.0 in JSON. Documents of other servers are
// merged last, in their order.
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

// Hash returns the hash of a document, for entity tags and for the index of version 3: 64
// hexadecimal digits.
func Hash(document []byte) string {
	sum := sha256.Sum256(document)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Entry is one document in the index of version 3.
type Entry struct {
	Path string // that of the Document
	Hash string
}

// URL returns the address of the document, relative to the server.
func (e Entry) URL() string {
	if e.Hash == "" { // the document of another server that states no hash
		return "/openapi/v3/" + e.Path
	}
	return "/openapi/v3/" + e.Path + "?hash=" + e.Hash
}

// Index returns the index of the documents of version 3 (/openapi/v3) as JSON.
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

// GroupDocument returns the document of the path of a group, such as "apis/apps", of the list of
// groups ("apis"), or of the versions of the core group ("api").
func GroupDocument(path string) Document {
	at := "/" + path + "/"
	e := Endpoint{Path: at, Tag: path, Types: objectTypes}
	switch group, ok := strings.CutPrefix(path, "apis/"); {
	case ok:
		name := groupName(group)
		e.Description, e.OperationID, e.Tag = "get the group and its versions", "get"+name+"APIGroup", tagName(group)
		e.Response = metaModel[meta.APIGroup]("APIGroup")
	case path == "api":
		e.Description, e.OperationID, e.Tag = "get the versions of the core group", "getCoreAPIVersions", "core"
		e.Response = metaModel[meta.APIVersions]("APIVersions")
	default:
		e.Description, e.OperationID = "get all groups", "getAPIVersions"
		e.Response = metaModel[meta.APIGroupList]("APIGroupList")
	}
	return Document{Path: path, Endpoints: []Endpoint{e}}
}

// metaModel returns the Model of a type of package meta.
func metaModel[T any](kind string) Model {
	return Model{Kind: meta.GroupVersionKind{Version: "v1", Kind: kind}, Type: typeinfo.For[T]()}
}
