package router

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// OpenAPI answers /openapi/v2 and /openapi/v3 from the state of Discovery.
//
// There is one document of version 3 for each group version and each group, and one of version 2
// for everything, each as JSON and as protobuf. The index at /openapi/v3 lists the hashes of all
// documents of version 3. A document is made when a request asks for it and kept for as long as its
// content stays the same (see schemaDoc). To make the index, the missing documents are made one
// after the other and only their hashes are kept, because clients ask for few of them.
//
// When a group version changes, its document, the index and version 2 are made again at the next
// request for them, and nothing else. The texts about custom resources are kept for each resource,
// so the schemas of those that did not change are not read again.
//
// The group versions of aggregated servers are part of version 2, in the words of those servers.
// For version 3 these servers answer themselves; if a server has no version 3, it is made here from
// its version 2.
type OpenAPI struct {
	info      openapi.Info
	codecs    *codec.Factory
	discovery *Discovery
	// Made, if set, is called when a document has been made, which few requests cause. It is set
	// before the first request.
	Made func()
	// AskRemote, if set, asks aggregated servers for their OpenAPI v2, and may hold up the request.
	// If noV3 is set, it asks only the servers that have no version 3, otherwise all. It is called
	// only while Discovery has such versions, and is set before the first request.
	AskRemote func(ctx context.Context, noV3 bool)

	// fixed are the documents that never change; there are few.
	fixed []*fixedSchema
}

// fixedSchema is a document that does not depend on resources.
type fixedSchema struct {
	doc    openapi.Document
	schema schemaSlot
}

// immutableIn is the time for which clients may cache a document whose URL contains its hash.
const immutableIn = 365 * 24 * time.Hour

// NewOpenAPI returns the endpoints for the groups in d and for further documents, extra.
func NewOpenAPI(info openapi.Info, codecs *codec.Factory, d *Discovery, extra ...openapi.Document) *OpenAPI {
	o := &OpenAPI{info: info, codecs: codecs, discovery: d}
	for _, doc := range slices.Concat(
		extra, []openapi.Document{openapi.GroupDocument("apis"), openapi.GroupDocument("api")},
	) {
		o.fixed = append(o.fixed, &fixedSchema{doc: doc})
	}
	return o
}

// described is anything that has a document of version 3: a fixed document, a group, a group
// version.
type described interface {
	path() string
	slot() *schemaSlot
	describe(o *OpenAPI) openapi.Document
}

// write appends the JSON of d's document of version 3.
func (o *OpenAPI) write(dst []byte, d described) []byte {
	return openapi.AppendV3JSON(dst, o.info, d.describe(o))
}

// doc returns the document of version 3 in a form.
func (o *OpenAPI) doc(d described, form schemaForm) *schemaDoc {
	return o.get(d.slot(), form, func(dst []byte) []byte { return o.write(dst, d) }, openapi.V3Proto)
}

// get returns a form of the document in a slot, and calls Made if it was made by this call.
func (o *OpenAPI) get(
	s *schemaSlot, form schemaForm, write func(dst []byte) []byte, proto func(json []byte) []byte,
) *schemaDoc {
	doc, made := s.get(form, write, proto)
	if made && o.Made != nil {
		o.Made()
	}
	return doc
}

// described returns what the document at a path of version 3 describes, or nil if no document there
// is served here.
func (o *OpenAPI) described(p *picture, path string) described {
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
		if g := p.groups[name]; g != nil && version == "" && g.builtin() {
			return g
		}
	case "api":
	default:
		return nil
	}
	if v := p.find(name, version); v != nil && (v.remote == nil || v.remote.madeV3()) {
		return v
	}
	return nil
}

// allDescribed returns everything whose document is made here: fixed documents, groups, versions
// that are served here, and the remote versions for which counts is true.
func (o *OpenAPI) allDescribed(p *picture, counts func(*RemoteVersion) bool) (all []described) {
	for _, f := range o.fixed {
		if f.exists(p) {
			all = append(all, f)
		}
	}
	for v := range p.versions {
		if v.remote == nil {
			all = append(all, v)
		}
	}
	for _, g := range p.listed {
		if g.builtin() {
			all = append(all, g)
		}
	}
	for _, v := range p.remote {
		if counts(v.remote) {
			all = append(all, v)
		}
	}
	return all
}

// exists reports whether f describes something: the document "api" needs the legacy group.
func (f *fixedSchema) exists(p *picture) bool { return f.doc.Path != "api" || p.groups[""] != nil }

func (f *fixedSchema) path() string                       { return f.doc.Path }
func (f *fixedSchema) slot() *schemaSlot                  { return &f.schema }
func (f *fixedSchema) describe(*OpenAPI) openapi.Document { return f.doc }

func (g *group) path() string                       { return "apis/" + g.name }
func (g *group) slot() *schemaSlot                  { return g.schema }
func (g *group) describe(*OpenAPI) openapi.Document { return openapi.GroupDocument(g.path()) }

// builtin reports whether the group has a document of its own. It has none if a server for custom
// resources serves it, or if all its versions are remote: in Kubernetes, neither of those servers
// describes groups.
func (g *group) builtin() bool {
	here := false
	for _, v := range g.versions {
		if len(v.resources) > 0 && v.resources[0].list[0].Custom {
			return false
		}
		here = here || v.remote == nil
	}
	return here
}

func (v *version) slot() *schemaSlot {
	if v.remote != nil {
		return &v.remote.V2.v3
	}
	return &v.schema
}

func (v *version) describe(o *OpenAPI) openapi.Document {
	doc := openapi.Document{Path: v.path(), GroupVersion: v.GroupVersion}
	if v.remote != nil {
		doc.Swagger = v.remote.V2.doc.body()
		return doc
	}
	for _, r := range v.resources {
		for i := range r.list {
			described := o.resource(&r.list[i])
			if described.Object.Schema != nil && described.Object.Kind == r.list[0].Kind {
				described.Object.Text = r.model.text
			}
			doc.Resources = append(doc.Resources, described)
		}
	}
	return doc
}

// resource describes a resource or subresource.
func (o *OpenAPI) resource(r *Resource) openapi.Resource {
	if r.Connecter != nil {
		return o.connecter(r)
	}
	list := r.Lists()
	object := openapi.Model{Kind: r.Kind}
	if v := kind.In(r.Type, r.Kind.Version); v.Type != nil {
		object.Type = v.Type()
	} else {
		object.Schema, object.Selectable = v.Schema, v.Selectable
	}
	return openapi.Resource{
		Description: r.Description, Verbs: r.Verbs(),
		Object: object, List: openapi.Model{Kind: list, Type: o.codecs.TypeOf(list)},
	}
}

// connecter describes a Connecter: its methods, and its options if they have a Go type.
func (o *OpenAPI) connecter(r *Resource) openapi.Resource {
	d := openapi.Resource{Description: r.Description, Options: openapi.Model{Kind: r.Kind}, Subpath: true}
	d.Options.Type = r.optionsType(o.codecs)
	for _, verb := range r.Verbs() {
		d.Connect = append(d.Connect, methodOf[verb])
	}
	return d
}

// methodOf maps a verb on one object to its HTTP method.
var methodOf = map[string]string{
	"create": http.MethodPost, "get": http.MethodGet, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete,
}

// docCapacity is a capacity, in bytes, that is enough for most documents of version 3.
const docCapacity = 1 << 20

// index returns the index of version 3. It makes the documents whose hashes are missing.
func (o *OpenAPI) index(p *picture) *schemaDoc {
	return o.get(&p.schemas.index, jsonForm, func([]byte) []byte {
		var entries []openapi.Entry
		room := make([]byte, 0, docCapacity)
		for _, d := range o.allDescribed(p, (*RemoteVersion).madeV3) {
			e := openapi.Entry{Path: d.path()}
			e.Hash, room = d.slot().hash(room, func(dst []byte) []byte { return o.write(dst, d) })
			entries = append(entries, e)
		}
		return openapi.Index(append(entries, o.remoteEntries(p)...))
	}, nil)
}

// v2 returns the document of version 2 in a form. When one kind changes, the whole document is
// joined, hashed and compressed again: with 500 definitions of 64 KB that takes 0.2 s of CPU when a
// client asks. Reading the 499 other schemas again would take four times as long; keeping their
// models compressed avoids that, for about 3 KiB of memory each.
func (o *OpenAPI) v2(p *picture, form schemaForm) *schemaDoc {
	return o.get(&p.schemas.v2, form, func([]byte) []byte {
		var docs []openapi.Document
		for _, d := range o.allDescribed(p, (*RemoteVersion).hasV2) {
			docs = append(docs, d.describe(o))
		}
		return openapi.V2JSON(o.info, docs)
	}, openapi.V2Proto)
}

// ServeV2 answers /openapi/v2.
func (o *OpenAPI) ServeV2(w http.ResponseWriter, r *http.Request) {
	out := answerTo(w, r)
	form, contentType, ok := acceptSchema(r.Header.Get("Accept"), protoV2)
	if !ok { // kube-apiserver sends no body either
		out.WriteHeader(http.StatusNotAcceptable)
		return
	}
	out.Header()["Vary"] = varySchema
	o.v2(o.picture(r.Context(), false), form).serve(out, r, contentType)
}

// picture returns the picture after aggregated servers have been asked for their documents: those
// without version 3 if noV3 is set, otherwise all.
func (o *OpenAPI) picture(ctx context.Context, noV3 bool) *picture {
	p := o.discovery.now.Load()
	if o.AskRemote != nil && slices.ContainsFunc(p.remote, func(v *version) bool { return v.remote.NoV3 || !noV3 }) {
		o.AskRemote(ctx, noV3)
		p = o.discovery.now.Load()
	}
	return p
}

// ServeV3 answers /openapi/v3, which is the index, and the documents below it.
func (o *OpenAPI) ServeV3(w http.ResponseWriter, r *http.Request) {
	out := answerTo(w, r)
	path, inside := strings.CutPrefix(r.URL.Path, "/openapi/v3/")
	if !inside {
		o.index(o.picture(r.Context(), true)).serve(out, r, "text/plain; charset=utf-8")
		return
	}
	p := o.discovery.now.Load()
	found := o.described(p, path)
	if found == nil {
		if rv := p.schemaOf(path); rv != nil {
			rv.Handler.ServeHTTP(w, r)
			return
		}
		found = o.described(o.picture(r.Context(), true), path)
	}
	if found == nil { // kube-apiserver sends no body either
		out.WriteHeader(http.StatusNotFound)
		return
	}
	form, contentType, ok := acceptSchema(r.Header.Get("Accept"), protoV3)
	if !ok {
		out.WriteHeader(http.StatusNotAcceptable)
		return
	}
	doc := o.doc(found, form)
	if hash := request.QueryOf(r).Get("hash"); hash != "" {
		if hash != doc.etag { // the client has an old index
			out.Header().Set("Location", openapi.Entry{Path: path, Hash: doc.etag}.URL())
			out.Header().Set("Content-Type", contentType)
			out.WriteHeader(http.StatusMovedPermanently)
			return
		}
		out.Header().Set("Cache-Control", "public, immutable")
		out.Header().Set("Expires", time.Now().Add(immutableIn).UTC().Format(http.TimeFormat))
	}
	out.Header()["Vary"] = varySchema
	doc.serve(out, r, contentType)
}

// varySchema are the request headers on which the form and the encoding of a document depend.
var varySchema = []string{"Accept-Encoding", "Accept"}

// The media types of the protobuf forms without their endings. Clients may ask with either ending;
// responses have the new one.
const (
	protoV2 = "application/com.github.proto-openapi.spec.v2"
	protoV3 = "application/com.github.proto-openapi.spec.v3"
	newEnd  = ".v1.0+protobuf"
	oldEnd  = "@v1.0+protobuf"
)

// acceptSchema picks JSON or the media type proto, whichever an Accept header prefers; the first
// one if it prefers both equally. ok is false if it accepts neither.
func acceptSchema(accept, proto string) (form schemaForm, contentType string, ok bool) {
	if accept == "" {
		return jsonForm, codec.JSONType, true
	}
	best := math.Inf(-1)
	for clause := range clauses(accept) {
		typ, parameters, _ := strings.Cut(clause, ";")
		quality := qualityOf(parameters)
		if quality <= best {
			continue
		}
		switch typ, isProto := strings.CutPrefix(strings.TrimSpace(typ), proto); {
		case isProto && (typ == newEnd || typ == oldEnd):
			form, contentType, best = protoForm, proto+newEnd, quality
		case typ == codec.JSONType || typ == "application/*" || typ == "*/*" || typ == "*":
			form, contentType, best = jsonForm, codec.JSONType, quality
		}
	}
	return form, contentType, contentType != ""
}

// qualityOf returns the parameter q of a clause of an Accept header, 1 if it has none.
func qualityOf(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
			quality, _ := strconv.ParseFloat(text, 32)
			return quality
		}
	}
	return 1
}
