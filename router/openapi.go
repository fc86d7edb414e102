package router

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// OpenAPI answers /openapi/v2 and /openapi/v3. Documents are made from what discovery knows when somebody asks for the
// first time, and kept as bytes until a group version comes or goes.
type OpenAPI struct {
	info      openapi.Info
	codecs    *codec.Factory
	discovery *Discovery
	// extra documents describe what is no group: /version.
	extra []openapi.Document

	mu         sync.Mutex
	generation uint64 // of discovery when docs was made
	docs       []openapi.Document
	slots      map[string]*schemaSlot // by key
}

// schemaSlot is the place of a document, which is made once, by the first who asks for it. Others wait for him.
type schemaSlot struct {
	once sync.Once
	doc  schemaDoc
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
	return &OpenAPI{info: info, codecs: codecs, discovery: d, extra: extra}
}

// documents describes all that is served.
func (o *OpenAPI) documents() []openapi.Document {
	docs := append([]openapi.Document(nil), o.extra...)
	for _, gv := range o.discovery.Versions() {
		path := "apis/" + gv.GroupVersion.String()
		if gv.Group == "" {
			path = "api/" + gv.Version
		}
		doc := openapi.Document{Path: path, GroupVersion: gv.GroupVersion}
		for i := range gv.Resources {
			doc.Resources = append(doc.Resources, o.resource(&gv.Resources[i]))
		}
		docs = append(docs, doc)
	}
	for _, path := range o.discovery.groupPaths() {
		docs = append(docs, openapi.GroupDocument(path))
	}
	return docs
}

func (o *OpenAPI) resource(r *Resource) openapi.Resource {
	list := r.Kind.GroupVersion().WithKind(r.Kind.Kind + "List")
	return openapi.Resource{
		Name: r.Name, Namespaced: r.Namespaced, Verbs: r.Verbs(), Custom: r.KeepItemKind,
		Object: openapi.Model{Kind: r.Kind, Type: o.codecs.TypeOf(r.Kind)},
		List:   openapi.Model{Kind: list, Type: o.codecs.TypeOf(list)},
	}
}

// The keys of documents that are no path of version 3. Paths have no slash at their ends.
const (
	keyV2      = "/v2"
	keyV2Proto = "/v2proto"
	keyV3      = "/v3"
)

// get returns a finished document, or makes it. key is one of the above or a path of version 3. nil means that there
// is no such document.
func (o *OpenAPI) get(key string) *schemaDoc {
	slot, docs := o.slot(key)
	if slot == nil {
		return nil
	}
	slot.once.Do(func() {
		var body []byte
		switch key {
		case keyV2:
			body = openapi.V2JSON(o.info, docs)
		case keyV2Proto:
			body = openapi.V2Proto(o.info, docs)
		case keyV3:
			var entries []openapi.Entry
			for _, doc := range docs {
				if made := o.get(doc.Path); made != nil {
					entries = append(entries, openapi.Entry{Path: doc.Path, Hash: made.etag})
				}
			}
			body = openapi.Index(entries)
		default:
			body = openapi.V3JSON(o.info, docs[indexOf(docs, key)])
		}
		slot.doc = schemaDoc{body: body, etag: openapi.Hash(body), made: time.Now()}
	})
	return &slot.doc
}

// slot returns the place of a document, nil if there is no such document, and what to make documents from.
func (o *OpenAPI) slot(key string) (*schemaSlot, []openapi.Document) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g := o.discovery.Generation(); g != o.generation || o.slots == nil {
		o.generation, o.slots, o.docs = g, map[string]*schemaSlot{}, o.documents()
	}
	slot, ok := o.slots[key]
	if !ok {
		if key[0] != '/' && indexOf(o.docs, key) < 0 {
			return nil, nil
		}
		slot = &schemaSlot{}
		o.slots[key] = slot
	}
	return slot, o.docs
}

func indexOf(docs []openapi.Document, path string) int {
	return slices.IndexFunc(docs, func(d openapi.Document) bool { return d.Path == path })
}

// ServeV2 answers /openapi/v2.
func (o *OpenAPI) ServeV2(w http.ResponseWriter, r *http.Request) {
	key, contentType := acceptV2(r.Header.Get("Accept"))
	if key == "" { // kube-apiserver says no more either
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Add("Vary", "Accept")
	serveDoc(w, r, o.get(key), contentType)
}

// acceptV2 picks the form that comes first in an Accept header.
func acceptV2(accept string) (key, contentType string) {
	if accept == "" {
		return keyV2, codec.JSONType
	}
	for _, clause := range strings.Split(accept, ",") {
		typ, _, err := mime.ParseMediaType(clause)
		if err != nil {
			typ, _, _ = strings.Cut(strings.TrimSpace(clause), ";")
		}
		switch typ {
		case protoV2, protoV2Old:
			return keyV2Proto, protoV2Old
		case codec.JSONType, "application/*", "*/*":
			return keyV2, codec.JSONType
		}
	}
	return "", ""
}

// ServeV3 answers /openapi/v3, the index, and the documents below it.
func (o *OpenAPI) ServeV3(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/openapi/v3"), "/")
	if path == "" {
		doc := o.get(keyV3)
		serveDoc(w, r, doc, "text/plain; charset=utf-8")
		return
	}
	doc := o.get(path)
	if doc == nil {
		NotFound(w, r)
		return
	}
	if hash := r.URL.Query().Get("hash"); hash != "" {
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

// Versions lists all group versions that discovery knows, the legacy ones first.
func (d *Discovery) Versions() []GroupVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := append([]GroupVersion(nil), d.legacy.versions...)
	for i := range d.groups {
		out = append(out, d.groups[i].versions...)
	}
	return out
}

// Generation counts the changes of what discovery knows.
func (d *Discovery) Generation() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.generation
}

// groupPaths lists the paths of the documents that describe groups.
func (d *Discovery) groupPaths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	paths := []string{"apis"}
	if len(d.legacy.versions) > 0 {
		paths = append(paths, "api")
	}
	for i := range d.groups {
		paths = append(paths, "apis/"+d.groups[i].name)
	}
	return paths
}
