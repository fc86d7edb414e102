package openapi

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Operations of resources: builder.add calls group.resource for each resource and subresource of a
// group version. Names of operations, tags and actions are those of kube-apiserver, because
// generated clients are named after them.
//
// For pods of the core group (group.id is CoreV1, served.scope is Namespaced, served.noun is Pod):
//
//	verb             method path         id                                  action
//	list             GET    .../pods     listCoreV1NamespacedPod             list
//	list             GET    /api/v1/pods listCoreV1PodForAllNamespaces       list
//	create           POST   .../pods     createCoreV1NamespacedPod           post
//	deletecollection DELETE .../pods     deleteCoreV1CollectionNamespacedPod deletecollection
//	get              GET    .../{name}   readCoreV1NamespacedPod             get
//	update           PUT    .../{name}   replaceCoreV1NamespacedPod          put
//	patch            PATCH  .../{name}   patchCoreV1NamespacedPod            patch
//	delete           DELETE .../{name}   deleteCoreV1NamespacedPod           delete
//	connect          GET    .../exec     connectCoreV1GetNamespacedPodExec   connect
//
// A subresource adds its name to the noun: readCoreV1NamespacedPodStatus.

// group adds the operations of one group version.
type group struct {
	*builder
	version meta.GroupVersion
	root    string // the path of the group version
	id      string // the group version in operation ids, such as CoreV1
	tag     string
}

// served is a resource while its operations are added.
type served struct {
	Resource
	parent Resource // of a subresource its resource; else the resource itself
	sub    string   // the name of the subresource, "" for none
	object *schema.Schema
	list   *schema.Schema
	types  []string
	// consumes are the media types of bodies other than patches.
	consumes             []string
	kind                 meta.GroupVersionKind
	scope                string      // "Namespaced" or ""
	noun                 string      // the name in operation ids: the kind of the parent and the subresource
	names                []parameter // the path parameters of one object
	collectionParameters []parameter // the path parameters of the collection
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
		s.collectionParameters = []parameter{namespaceParameter}
		base += "/namespaces/{namespace}"
	}
	s.names = append(slices.Clip(s.collectionParameters), parameter{
		name: "name", in: "path", typ: schema.String, description: "name of the " + s.kind.Kind, required: true,
	})
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

// has reports whether the resource has a verb.
func (s *served) has(verb string) bool { return slices.Contains(s.Verbs, verb) }

// describe returns the description of an operation, such as "read status of a Pod".
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

// op returns an operation on the resource with what all have in common.
func (g group) op(s *served, method, verb, action string) operation {
	return operation{method: method, id: verb + g.id + s.scope + s.noun, tag: g.tag, action: action, kind: s.kind,
		description: s.describe(verb), consumes: s.consumes, produces: s.types}
}

// collection adds the operations on the collection: list, create, deletecollection.
func (g group) collection(s *served, path string) {
	if s.has("list") {
		op := g.op(s, "get", "list", "list")
		op.parameters = parameters(s.collectionParameters, pretty, optionParameters[meta.ListOptions](g.builder))
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
		g.create(s, path, s.collectionParameters)
	}
	if s.has("deletecollection") {
		op := g.op(s, "delete", "delete", "deletecollection")
		op.id = "delete" + g.id + "Collection" + s.scope + s.noun
		op.description = "delete all selected objects of kind " + s.kind.Kind
		if s.Custom {
			op.parameters = parameters(s.collectionParameters, pretty, optionParameters[meta.ListOptions](g.builder))
		} else {
			op.parameters = parameters(s.collectionParameters, pretty, deleteCollectionParameters(g.builder))
			op.body, op.optional = g.model(metaModel[meta.DeleteOptions]("DeleteOptions")), true
		}
		op.responses = ok(g.model(metaModel[meta.Status]("Status")))
		g.operation(path, op)
	}
}

// listing sets what list operations have in common.
func (g group) listing(s *served, op *operation) {
	op.description = "list objects of kind " + s.kind.Kind
	if s.has("watch") {
		op.description = "list or watch objects of kind " + s.kind.Kind
	}
	if !s.Custom {
		op.produces = append(slices.Clip(s.types), watchTypes...)
	}
	op.responses = ok(s.list)
}

// create adds a create at a path.
func (g group) create(s *served, path string, names []parameter) {
	op := g.op(s, "post", "create", "post")
	op.parameters = parameters(names, pretty, optionParameters[meta.CreateOptions](g.builder))
	op.body = s.object
	op.responses = append(ok(s.object), response{"201", "Created", s.object}, response{"202", "Accepted", s.object})
	g.operation(path, op)
}

// item adds the operations on one object, and the create of a subresource; the methods of streams
// are added by connect. Custom resources differ as in kube-apiserver: get takes resourceVersion,
// there is no strategic merge patch, and a patch does not answer 201.
func (g group) item(s *served, path string) {
	if s.has("get") {
		op := g.op(s, "get", "read", "get")
		var options []parameter
		if !s.Options.zero() {
			options = g.typeParameters(s.Options)
		}
		if s.Custom {
			options = slices.DeleteFunc(slices.Clone(optionParameters[meta.ListOptions](g.builder)),
				func(p parameter) bool { return p.name != "resourceVersion" })
		}
		op.parameters = parameters(s.names, pretty, options)
		op.responses = ok(s.object)
		if s.Text {
			op.produces = append([]string{"text/plain"}, s.types...)
			op.responses = ok(nil)
		}
		g.operation(path, op)
	}
	if s.has("update") {
		op := g.op(s, "put", "replace", "put")
		op.parameters = parameters(s.names, pretty, optionParameters[meta.UpdateOptions](g.builder))
		op.body = s.object
		op.responses = append(ok(s.object), response{"201", "Created", s.object})
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
		if op.responses = ok(s.object); !s.Custom {
			op.responses = append(op.responses, response{"201", "Created", s.object})
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
		op.responses = append(ok(result), response{"202", "Accepted", result})
		g.operation(path, op)
	}
	if s.sub != "" && s.has("create") {
		g.create(s, path, s.names)
	}
}

// watches adds the deprecated paths of watches (/watch/...).
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
		op.responses = ok(event)
		g.operation(g.root+"/watch/"+path, op)
	}
	base := name
	if s.Namespaced {
		add(name, "watchlist", "watch"+g.id+s.noun+"ListForAllNamespaces", nil)
		base = "namespaces/{namespace}/" + name
	}
	add(base, "watchlist", "watch"+g.id+s.scope+s.noun+"List", s.collectionParameters)
	if s.has("get") {
		add(base+"/{name}", "watch", "watch"+g.id+s.scope+s.noun, s.names)
	}
}

// connect adds the methods of a subresource that streams.
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
		op.responses = ok(nil)
		g.operation(path, op)
		if s.Subpath {
			op.id += "WithPath"
			op.parameters = parameters(op.parameters, nil, []parameter{pathParameter})
			g.operation(path+"/{path}", op)
		}
	}
}
