package openapi

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// group writes the operations of one group version.
type group struct {
	*builder
	version meta.GroupVersion
	root    string // path of the group version
	id      string // in operation ids: CoreV1
	tag     string
}

// served is a resource while its operations are written.
type served struct {
	Resource
	parent Resource // of a subresource; else the resource itself
	sub    string   // subresource
	object *schema.Schema
	list   *schema.Schema
	types  []string
	// consumes are the media types of bodies but patches.
	consumes []string
	kind     meta.GroupVersionKind
	scope    string // "Namespaced" or empty
	noun     string // of ids: kind of the parent, and subresource
	names    []parameter
	place    []parameter // names without the object's own
}

// resource adds the operations of a resource or subresource.
func (g group) resource(r Resource, parent Resource) {
	s := served{Resource: r, parent: parent, object: g.model(r.Object), types: objectTypes, kind: r.Object.Kind}
	s.list = g.list(r, s.object)
	name, sub, _ := strings.Cut(r.Name, "/")
	s.sub = sub
	s.consumes = anyType
	if r.Custom {
		s.types, s.consumes, s.kind = customTypes, customTypes, parent.Object.Kind
	}
	if len(r.Connect) > 0 {
		s.kind = r.Options.Kind
	}
	s.noun = parent.Object.Kind.Kind + upper(strings.ReplaceAll(sub, "/", ""))
	base := g.root
	if r.Namespaced {
		s.scope = "Namespaced"
		s.place = []parameter{namespaceParameter}
		base += "/namespaces/{namespace}"
	}
	s.names = append(slices.Clip(s.place), parameter{name: "name", in: "path", typ: schema.String, description: "name of the " + s.kind.Kind, required: true})
	collection := base + "/" + name
	item := collection + "/{name}"
	if sub != "" {
		item += "/" + sub
	} else {
		g.collection(&s, collection)
		g.watches(&s, name)
	}
	g.item(&s, item)
	g.connect(&s, item)
}

func (s *served) has(verb string) bool { return slices.Contains(s.Verbs, verb) }

// describe words an operation: "read status of a Pod".
func (s *served) describe(verb string) string {
	if s.sub != "" {
		verb += " " + s.sub + " of"
	}
	kind, article := s.parent.Object.Kind.Kind, " a "
	if kind != "" && strings.Contains("AEIOU", kind[:1]) {
		article = " an "
	}
	return verb + article + kind
}

// op starts an operation on the resource.
func (g group) op(s *served, method, verb, action string) operation {
	return operation{method: method, id: verb + g.id + s.scope + s.noun, tag: g.tag, action: action, kind: s.kind,
		description: s.describe(verb), consumes: s.consumes, produces: s.types}
}

// collection adds what is done to all objects, and create.
func (g group) collection(s *served, path string) {
	if s.has("list") {
		op := g.op(s, "get", "list", "list")
		op.parameters = parameters(s.place, pretty, optionParameters[meta.ListOptions](g.builder))
		g.listing(s, &op)
		g.operation(path, op)
		if s.Namespaced {
			all := op
			all.id = "list" + g.id + s.noun + "ForAllNamespaces"
			all.parameters = parameters(nil, pretty, optionParameters[meta.ListOptions](g.builder))
			g.operation(g.root+"/"+s.Name, all)
		}
	}
	if s.has("create") {
		g.create(s, path, s.place)
	}
	if s.has("deletecollection") {
		op := g.op(s, "delete", "delete", "deletecollection")
		op.id = "delete" + g.id + "Collection" + s.scope + s.noun
		op.description = "delete all selected objects of kind " + s.kind.Kind
		if s.Custom {
			op.parameters = parameters(s.place, pretty, optionParameters[meta.ListOptions](g.builder))
		} else {
			op.parameters = parameters(s.place, pretty, deleteCollectionParameters(g.builder))
			op.body, op.optional = g.model(metaModel[meta.DeleteOptions]("DeleteOptions")), true
		}
		op.answers = ok(g.model(metaModel[meta.Status]("Status")))
		g.operation(path, op)
	}
}

// listing completes a list operation.
func (g group) listing(s *served, op *operation) {
	op.description = "list objects of kind " + s.kind.Kind
	if s.has("watch") {
		op.description = "list or watch objects of kind " + s.kind.Kind
	}
	if !s.Custom {
		op.produces = append(slices.Clip(s.types), watchTypes...)
	}
	op.answers = ok(s.list)
}

func (g group) create(s *served, path string, names []parameter) {
	op := g.op(s, "post", "create", "post")
	op.parameters = parameters(names, pretty, optionParameters[meta.CreateOptions](g.builder))
	op.body = s.object
	op.answers = append(ok(s.object), answer{"201", "Created", s.object}, answer{"202", "Accepted", s.object})
	g.operation(path, op)
}

// item adds what is done to one object.
func (g group) item(s *served, path string) {
	if s.has("get") {
		op := g.op(s, "get", "read", "get")
		var options []parameter
		if !s.Options.zero() {
			options = g.typeParameters(s.Options)
		}
		if s.Custom {
			options = slices.DeleteFunc(slices.Clone(optionParameters[meta.ListOptions](g.builder)), func(p parameter) bool {
				return p.name != "resourceVersion"
			})
		}
		op.parameters = parameters(s.names, pretty, options)
		op.answers = ok(s.object)
		if s.Text {
			op.produces = append([]string{"text/plain"}, s.types...)
			op.answers = ok(nil)
		}
		g.operation(path, op)
	}
	if s.has("update") {
		op := g.op(s, "put", "replace", "put")
		op.parameters = parameters(s.names, pretty, optionParameters[meta.UpdateOptions](g.builder))
		op.body = s.object
		op.answers = append(ok(s.object), answer{"201", "Created", s.object})
		g.operation(path, op)
	}
	if s.has("patch") {
		op := g.op(s, "patch", "patch", "patch")
		op.parameters = parameters(s.names, pretty, optionParameters[meta.PatchOptions](g.builder))
		op.body = g.patch
		g.collect(g.patch)
		if op.consumes = patchTypes; s.Custom {
			op.consumes = customPatchTypes
		}
		if op.answers = ok(s.object); !s.Custom {
			op.answers = append(op.answers, answer{"201", "Created", s.object})
		}
		g.operation(path, op)
	}
	if s.has("delete") {
		op := g.op(s, "delete", "delete", "delete")
		op.parameters = parameters(s.names, pretty, optionParameters[meta.DeleteOptions](g.builder))
		op.body, op.optional = g.model(metaModel[meta.DeleteOptions]("DeleteOptions")), true
		result := g.model(metaModel[meta.Status]("Status"))
		if s.ReturnsDeleted {
			result = s.object
		}
		op.answers = append(ok(result), answer{"202", "Accepted", result})
		g.operation(path, op)
	}
	if s.sub != "" && s.has("create") {
		g.create(s, path, s.names)
	}
}

// watches adds the old paths of watches.
func (g group) watches(s *served, name string) {
	if !s.has("watch") || !s.has("list") || s.Custom {
		return
	}
	event := g.model(metaModel[meta.WatchEvent]("WatchEvent"))
	add := func(path, action, id string, names []parameter) {
		op := g.op(s, "get", "watch", action)
		op.id = id
		op.description += "; use the watch parameter of list instead"
		op.parameters = parameters(names, pretty, optionParameters[meta.ListOptions](g.builder))
		op.produces = append(slices.Clip(s.types), watchTypes...)
		op.answers = ok(event)
		g.operation(g.root+"/watch/"+path, op)
	}
	base := name
	if s.Namespaced {
		add(name, "watchlist", "watch"+g.id+s.noun+"ListForAllNamespaces", nil)
		base = "namespaces/{namespace}/" + name
	}
	add(base, "watchlist", "watch"+g.id+s.scope+s.noun+"List", s.place)
	if s.has("get") {
		add(base+"/{name}", "watch", "watch"+g.id+s.scope+s.noun, s.names)
	}
}

// connect adds the methods of a streaming subresource.
func (g group) connect(s *served, path string) {
	for _, method := range s.Connect {
		op := g.op(s, strings.ToLower(method), "connect", "connect")
		op.id = "connect" + g.id + upper(op.method) + s.scope + s.noun
		op.description = s.describe("connect " + strings.ToUpper(method) + " requests to")
		op.produces = anyType
		op.parameters = s.names
		if !s.Options.zero() {
			op.parameters = parameters(s.names, nil, g.typeParameters(s.Options))
		}
		op.answers = ok(nil)
		g.operation(path, op)
		if s.Subpath {
			op.id += "WithPath"
			op.parameters = parameters(op.parameters, nil, []parameter{pathParameter})
			g.operation(path+"/{path}", op)
		}
	}
}
