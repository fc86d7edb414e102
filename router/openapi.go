package router

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// OpenAPI answers /openapi/v2 and /openapi/v3, from what Discovery knows.
//
// A document is made when somebody asks for it, and kept as bytes for as long as what it describes: of each group version
// and each group one document of version 3, of everything the index and version 2 in its two forms. The index has the hashes
// of all documents. For it they are made one after the other, and only their hashes are kept: clients ask for few of them.
// When a group version changes, its own document, the index and version 2 are made again at the next request for them, and
// nothing else.
type OpenAPI struct {
	info      openapi.Info
	codecs    *codec.Factory
	discovery *Discovery
	// fixed are the documents of what does not come and go; few.
	fixed []*fixedSchema
}

// fixedSchema is a document that depends on nothing.
type fixedSchema struct {
	doc    openapi.Document
	schema schemaSlot
}

// schemaSlot is the place of a document, which is made once, by the first who asks for it. Others wait for him. If he
// panics, the next one tries.
type schemaSlot struct {
	making sync.Mutex
	doc    atomic.Pointer[schemaDoc]
	etag   string // of the document, also before it is kept; under making
}

// schemaDoc is a finished document.
type schemaDoc struct {
	body []byte
	etag string // without quotes
	made time.Time
}

// The forms of documents, beside JSON.
const (
	protoV2     = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	protoV2Old  = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	immutableIn = 365 * 24 * time.Hour
)

// NewOpenAPI returns the endpoints for what d knows and some further documents.
func NewOpenAPI(info openapi.Info, codecs *codec.Factory, d *Discovery, extra ...openapi.Document) *OpenAPI {
	o := &OpenAPI{info: info, codecs: codecs, discovery: d}
	for _, doc := range slices.Concat(extra, []openapi.Document{openapi.GroupDocument("apis"), openapi.GroupDocument("api")}) {
		o.fixed = append(o.fixed, &fixedSchema{doc: doc})
	}
	return o
}

// get returns the document in a slot, which make makes if there is none.
func (s *schemaSlot) get(make func() []byte) *schemaDoc {
	if doc := s.doc.Load(); doc != nil {
		return doc
	}
	s.making.Lock()
	defer s.making.Unlock()
	if doc := s.doc.Load(); doc != nil {
		return doc
	}
	body := make()
	s.etag = openapi.Hash(body)
	doc := &schemaDoc{body: body, etag: s.etag, made: time.Now()}
	s.doc.Store(doc)
	return doc
}

// hash returns the hash of the document in a slot. If nobody has asked before, the document is made in room, which is
// returned to be used again.
func (s *schemaSlot) hash(room []byte, write func(dst []byte) []byte) (hash string, used []byte) {
	s.making.Lock()
	defer s.making.Unlock()
	if s.etag == "" {
		room = write(room[:0])
		s.etag = openapi.Hash(room)
	}
	return s.etag, room
}

// described is something that has a document of version 3.
type described interface {
	path() string
	slot() *schemaSlot
	describe(o *OpenAPI) openapi.Document
}

// write appends the document of version 3.
func (o *OpenAPI) write(dst []byte, d described) []byte {
	return openapi.AppendV3JSON(dst, o.info, d.describe(o))
}

// doc returns the document of version 3.
func (o *OpenAPI) doc(d described) *schemaDoc {
	return d.slot().get(func() []byte { return o.write(nil, d) })
}

// find returns what a path of version 3 stands for, nil if nothing.
func (o *OpenAPI) find(p *picture, path string) described {
	for _, f := range o.fixed {
		if f.path() == path && f.exists(p) {
			return f
		}
	}
	prefix, rest, _ := strings.Cut(path, "/")
	name, version := "", rest
	switch prefix {
	case "apis":
		name, version, _ = strings.Cut(rest, "/")
		if name == "" {
			return nil
		}
		if g := p.groups[name]; g != nil && version == "" {
			return g
		}
	case "api":
	default:
		return nil
	}
	if v := p.find(name, version); v != nil {
		return v
	}
	return nil
}

// everything yields all that has a document.
func (o *OpenAPI) everything(p *picture) (all []described) {
	for _, f := range o.fixed {
		if f.exists(p) {
			all = append(all, f)
		}
	}
	for v := range p.all {
		all = append(all, v)
	}
	for _, g := range p.listed {
		all = append(all, g)
	}
	return all
}

// exists reports whether there is something to describe: the list of the legacy group's versions needs one.
func (f *fixedSchema) exists(p *picture) bool { return f.doc.Path != "api" || p.groups[""] != nil }

func (f *fixedSchema) path() string                       { return f.doc.Path }
func (f *fixedSchema) slot() *schemaSlot                  { return &f.schema }
func (f *fixedSchema) describe(*OpenAPI) openapi.Document { return f.doc }

func (g *group) path() string                       { return "apis/" + g.name }
func (g *group) slot() *schemaSlot                  { return g.schema }
func (g *group) describe(*OpenAPI) openapi.Document { return openapi.GroupDocument(g.path()) }

func (v *version) slot() *schemaSlot { return &v.schema }

func (v *version) describe(o *OpenAPI) openapi.Document {
	doc := openapi.Document{Path: v.path(), GroupVersion: v.GroupVersion}
	for _, r := range v.resources {
		for i := range r.list {
			doc.Resources = append(doc.Resources, o.resource(&r.list[i]))
		}
	}
	return doc
}

func (o *OpenAPI) resource(r *Resource) openapi.Resource {
	if r.Connecter != nil {
		return o.connecter(r)
	}
	list := r.Kind.GroupVersion().WithKind(r.Kind.Kind + "List")
	object := openapi.Model{Kind: r.Kind}
	if v := kind.In(r.Type, r.Kind.Version); v.Type != nil {
		object.Type = v.Type()
	} else {
		object.Schema = v.Schema
	}
	return openapi.Resource{
		Name: r.Name, Namespaced: r.Namespaced, Verbs: r.Verbs(), Custom: r.KeepItemKind,
		Object: object, List: openapi.Model{Kind: list, Type: o.codecs.TypeOf(list)},
	}
}

// connecter describes what hands connections on: its methods, and the options that go with them, if they are a kind.
func (o *OpenAPI) connecter(r *Resource) openapi.Resource {
	d := openapi.Resource{Name: r.Name, Namespaced: r.Namespaced, Options: openapi.Model{Kind: r.Kind}, Subpath: true}
	if r.Kind.GroupKind() != r.Type.GroupKind() {
		d.Options.Type = o.codecs.TypeOf(r.Kind)
	}
	for _, verb := range r.Verbs() {
		d.Connect = append(d.Connect, methodOf[verb])
	}
	return d
}

// methodOf is the method by which a verb on one object is asked for.
var methodOf = map[string]string{
	"create": http.MethodPost, "get": http.MethodGet, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
}

// largeDoc is more than the largest document of version 3 takes as a rule, in bytes.
const largeDoc = 1 << 20

// index is the index of version 3. It makes the documents whose hashes are missing.
func (o *OpenAPI) index(p *picture) *schemaDoc {
	return p.schemas.index.get(func() []byte {
		var entries []openapi.Entry
		room := make([]byte, 0, largeDoc)
		for _, d := range o.everything(p) {
			e := openapi.Entry{Path: d.path()}
			e.Hash, room = d.slot().hash(room, func(dst []byte) []byte { return o.write(dst, d) })
			entries = append(entries, e)
		}
		return openapi.Index(entries)
	})
}

// v2 is version 2, as JSON or as protobuf.
func (o *OpenAPI) v2(p *picture, proto bool) *schemaDoc {
	slot, write := &p.schemas.v2, openapi.V2JSON
	if proto {
		slot, write = &p.schemas.v2proto, openapi.V2Proto
	}
	return slot.get(func() []byte {
		var docs []openapi.Document
		for _, d := range o.everything(p) {
			docs = append(docs, d.describe(o))
		}
		return write(o.info, docs)
	})
}

// ServeV2 answers /openapi/v2.
func (o *OpenAPI) ServeV2(w http.ResponseWriter, r *http.Request) {
	contentType := acceptV2(r.Header.Get("Accept"))
	if contentType == "" { // kube-apiserver says no more either
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Add("Vary", "Accept")
	serveDoc(w, r, o.v2(o.discovery.now.Load(), contentType == protoV2Old), contentType)
}

// acceptV2 picks the form that comes first in an Accept header; "" if there is none.
func acceptV2(accept string) (contentType string) {
	if accept == "" {
		return codec.JSONType
	}
	for clause := range clauses(accept) {
		typ := codec.MediaType(clause)
		if typ == "" { // malformed parameters
			typ, _, _ = strings.Cut(strings.TrimSpace(clause), ";")
		}
		switch typ {
		case protoV2, protoV2Old:
			return protoV2Old
		case codec.JSONType, "application/*", "*/*":
			return codec.JSONType
		}
	}
	return ""
}

// ServeV3 answers /openapi/v3, the index, and the documents below it.
func (o *OpenAPI) ServeV3(w http.ResponseWriter, r *http.Request) {
	p := o.discovery.now.Load()
	path, inside := strings.CutPrefix(r.URL.Path, "/openapi/v3/")
	if !inside {
		serveDoc(w, r, o.index(p), "text/plain; charset=utf-8")
		return
	}
	found := o.find(p, path)
	if found == nil { // kube-apiserver says no more either
		w.WriteHeader(http.StatusNotFound)
		return
	}
	doc := o.doc(found)
	if hash := request.QueryOf(r).Get("hash"); hash != "" {
		if hash != doc.etag { // the client's index is old
			w.Header().Set("Location", openapi.Entry{Path: path, Hash: doc.etag}.URL())
			w.Header().Set("Content-Type", codec.JSONType)
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().Add(immutableIn).UTC().Format(http.TimeFormat))
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Add("Vary", "Accept")
	serveDoc(w, r, doc, codec.JSONType)
}

// serveDoc answers with a document, or 304 if the client has it.
func serveDoc(w http.ResponseWriter, r *http.Request, doc *schemaDoc, contentType string) {
	h := w.Header()
	h.Set("ETag", `"`+doc.etag+`"`)
	h.Set("Last-Modified", doc.made.UTC().Format(http.TimeFormat))
	if match := r.Header.Get("If-None-Match"); match == `"`+doc.etag+`"` || match == doc.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(doc.body)))
	w.WriteHeader(http.StatusOK)
	w.Write(doc.body)
}
