package openapi

import (
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The builder: it collects the paths, operations and models of documents before they are written
// (writeV3, writeV2). resources.go turns resources into operations.

// pathItem is a path with its operations.
type pathItem struct {
	path       string
	parameters []parameter // those that all operations share
	operations []operation // sorted by method
}

// operation is one method on a path.
type operation struct {
	method      string // lower case
	id          string
	description string
	tag         string
	action      string // "" for endpoints that are no resources
	kind        meta.GroupVersionKind
	parameters  []parameter
	body        *schema.Schema
	optional    bool     // the body may be left out
	consumes    []string // media types of the body
	produces    []string
	responses   []response
}

// response is a response of an operation. Without a model it is text.
type response struct {
	code  string
	text  string
	model *schema.Schema
}

// Lists of media types.
var (
	objectTypes = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
	customTypes = []string{"application/json", "application/yaml"}
	watchTypes  = []string{"application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"}
	patchTypes  = []string{
		"application/json-patch+json", "application/merge-patch+json",
		"application/strategic-merge-patch+json", "application/apply-patch+yaml",
	}
	customPatchTypes = []string{
		"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
	}
	anyType = []string{"*/*"}
)

// builder collects the paths and models of one document, or of all documents for version 2.
type builder struct {
	compiler schema.Compiler
	v2       bool
	alone    bool // only custom resources: such documents have no security scheme
	models   map[string]*schema.Schema
	head     map[string]*schema.Schema // apiVersion, kind and metadata, after makeHead
	// Models that are written already, those of custom kinds.
	texts   map[string][]byte
	kinds   map[string][]meta.GroupVersionKind // the kinds of models beyond schema.Schema.Kinds
	paths   map[string]*pathItem
	options map[*typeinfo.Type][]parameter
	mu      sync.Mutex // guards models and texts while addCustom runs

	patch *schema.Schema // the model of patches, which has no Go type
}

// newBuilder returns a builder with everything in docs.
func newBuilder(v2 bool, docs ...Document) *builder {
	b := &builder{
		v2:      v2,
		models:  map[string]*schema.Schema{},
		texts:   map[string][]byte{},
		kinds:   map[string][]meta.GroupVersionKind{},
		paths:   map[string]*pathItem{},
		options: map[*typeinfo.Type][]parameter{},
		patch: &schema.Schema{
			Name:        "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
			Description: "Patch is the body of a PATCH request.", Type: schema.Object,
		},
	}
	b.addCustom(docs)
	for _, doc := range docs {
		b.add(doc)
	}
	return b
}

// add collects one document.
func (b *builder) add(doc Document) {
	if doc.GroupVersion.Version != "" {
		g := group{
			b, doc.GroupVersion, "/" + doc.Path,
			groupName(doc.GroupVersion.Group) + upper(doc.GroupVersion.Version),
			tagName(doc.GroupVersion.Group) + "_" + doc.GroupVersion.Version,
		}
		if !doc.custom() {
			b.endpoint(Endpoint{
				Path: g.root + "/", Description: "get the resources of the version",
				OperationID: "get" + g.id + "APIResources",
				Tag:         g.tag, Types: objectTypes, Response: metaModel[meta.APIResourceList]("APIResourceList"),
			})
		}
		for _, r := range doc.Resources {
			g.resource(r, parent(doc.Resources, r))
		}
	}
	for _, e := range doc.Endpoints {
		b.endpoint(e)
	}
}

// parent returns the resource that r is a subresource of, or r itself if it is none.
func parent(all []Resource, r Resource) Resource {
	name, _, ok := strings.Cut(r.Name, "/")
	if ok {
		for _, p := range all {
			if p.Name == name {
				return p
			}
		}
	}
	return r
}

// endpoint collects an Endpoint.
func (b *builder) endpoint(e Endpoint) {
	op := operation{method: "get", id: e.OperationID, description: e.Description, tag: e.Tag, produces: e.Types}
	if !e.Response.zero() {
		op.consumes = e.Types
	}
	if len(e.Types) > 0 {
		op.responses = ok(b.model(e.Response))
	}
	if e.Parameter != "" {
		_, name, _ := strings.Cut(strings.TrimSuffix(e.Path, "}"), "{")
		op.parameters = []parameter{{
			name: name, in: "path", typ: schema.String, description: e.Parameter, required: true,
		}}
	}
	b.operation(e.Path, op)
}

// operation adds an operation to a path. Every operation can have the response 401.
func (b *builder) operation(path string, op operation) {
	item := b.paths[path]
	if item == nil {
		item = &pathItem{path: path}
		b.paths[path] = item
	}
	op.responses = append(op.responses, response{code: "401", text: "Unauthorized"})
	item.operations = append(item.operations, op)
}

// model returns the schema of m, nil if m is zero, and adds it with all models that it refers to.
func (b *builder) model(m Model) *schema.Schema {
	var s *schema.Schema
	switch {
	case m.Type != nil:
		s = b.compiler.Type(m.Type)
	case m.Schema != nil && b.texts[customName(m.Kind)] != nil:
		s = b.models[customName(m.Kind)]
	case m.Schema != nil:
		s = m.Schema().Target()
	default:
		return nil
	}
	if m.Kind.Kind != "" && !slices.Contains(s.Kinds, m.Kind) && !slices.Contains(b.kinds[s.Name], m.Kind) {
		b.kinds[s.Name] = append(b.kinds[s.Name], m.Kind)
	}
	b.collect(s)
	return s
}

// list returns the schema of the lists of r, nil if r has no lists.
func (b *builder) list(r Resource, object *schema.Schema) *schema.Schema {
	if !slices.Contains(r.Verbs, "list") {
		return nil
	}
	if !r.List.zero() || r.List.Kind.Kind == "" || object == nil {
		return b.model(r.List)
	}
	s := b.customList(r, object)
	b.collect(s)
	return s
}

// collect adds s and the models that it refers to. If several have the same name, the first one
// counts.
func (b *builder) collect(s *schema.Schema) {
	if s == nil {
		return
	}
	if s.Name != "" {
		if b.models[s.Name] != nil {
			return
		}
		b.models[s.Name] = s
	}
	b.collect(s.Model)
	b.collect(s.Items)
	b.collect(s.AdditionalProperties)
	for _, p := range s.Properties {
		b.collect(p)
	}
}

// finish returns the sorted paths. Parameters that all operations of a path share have moved to the
// path.
func (b *builder) finish() []*pathItem {
	items := make([]*pathItem, 0, len(b.paths))
	for _, item := range b.paths {
		slices.SortFunc(item.operations, func(x, y operation) int { return strings.Compare(x.method, y.method) })
		for _, p := range item.operations[0].parameters {
			shared := true
			for _, op := range item.operations[1:] {
				shared = shared && slices.Contains(op.parameters, p)
			}
			if shared {
				item.parameters = append(item.parameters, p)
			}
		}
		for i := range item.operations {
			op := &item.operations[i]
			op.parameters = slices.DeleteFunc(slices.Clone(op.parameters), func(p parameter) bool {
				return slices.Contains(item.parameters, p)
			})
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(x, y *pathItem) int { return strings.Compare(x.path, y.path) })
	return items
}

// sortedModels returns all models, sorted by name, with their kinds.
func (b *builder) sortedModels(info Info) []*schema.Schema {
	models := make([]*schema.Schema, 0, len(b.models))
	for _, m := range b.models {
		if kinds := b.kindsOf(m, info); len(kinds) > len(m.Kinds) {
			ours := *m // a copy: others use m
			ours.Kinds = kinds
			m = &ours
		}
		models = append(models, m)
	}
	slices.SortFunc(models, func(x, y *schema.Schema) int { return strings.Compare(x.Name, y.Name) })
	return models
}

// writeModels writes all models.
func (b *builder) writeModels(w *writer, info Info) {
	size := 0
	for _, text := range b.texts {
		size += len(text)
	}
	w.b = slices.Grow(w.b, size+size/4) // room for the paths, which follow
	for _, m := range b.sortedModels(info) {
		w.open(m.Name, '{')
		if text := b.texts[m.Name]; text != nil {
			w.b = append(w.b, text...)
		} else {
			w.schema(m)
		}
		w.close('}')
	}
}

// kindsOf returns the kinds of a model: those that Info knows, or else those that are described.
func (b *builder) kindsOf(m *schema.Schema, info Info) []meta.GroupVersionKind {
	if info.Kinds != nil {
		if kinds := info.Kinds(m.Name); len(kinds) > 0 {
			return kinds
		}
	}
	return slices.Concat(m.Kinds, b.kinds[m.Name])
}

// ok returns the response 200 with a model.
func ok(model *schema.Schema) []response { return []response{{"200", "OK", model}} }

// groupName returns the group as operation ids spell it: "Core", "Apps", "RbacAuthorization".
func groupName(group string) string {
	if group == "" {
		return "Core"
	}
	var name strings.Builder
	for part := range strings.FieldsFuncSeq(strings.TrimSuffix(group, ".k8s.io"), func(r rune) bool {
		return r == '.' || r == '-'
	}) {
		name.WriteString(upper(part))
	}
	return name.String()
}

// tagName returns the group as tags spell it: "core", "apps", "rbacAuthorization".
func tagName(group string) string {
	name := groupName(group)
	if name == "" {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// upper returns s with its first letter in upper case.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
