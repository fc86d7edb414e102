package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

// Row is a kind whose writes are judged.
type Row struct {
	Kind     schema.GroupVersionKind
	Resource string
	// Examples is the name of the file with the examples, for one of several versions of a kind; ""
	// is that of the resource.
	Examples string
	// Cluster is set for kinds that live outside of namespaces.
	Cluster bool
	// Big kinds are tried bigCount times for each of create and update, others smallCount times.
	Big bool
	// Alone kinds are judged while no other is: what there is of them changes what a server makes
	// of others, and of Coracle's it does here, where Kubernetes' admission has its own.
	Alone bool
	// REST makes Kubernetes' own registry of the kind, with one entry for each door: "" for the
	// resource itself, and the name of each subresource, such as "status". Only doors that take a
	// PUT of an object are judged.
	REST func(generic.RESTOptionsGetter) (Doors, error)
	// States, if set, gives a stored example a state as its controllers write them, for tables that
	// tell much of it.
	States func(m *mutator, obj map[string]any) map[string]any
	// Settle, if set, evens out what is not comparable in two answers that accept the same request:
	// what each server allocates, say. theirs and ours are the answers as JSON.
	Settle func(theirs, ours map[string]any)
}

// Doors are the registries of one kind by the name of the subresource.
type Doors map[string]rest.Storage

const (
	bigCount   = 2000
	smallCount = 200
)

// rows are the kinds of all groups; each group's file adds its own.
var rows []Row

// add is called by the init functions of the groups' files.
func add(more ...Row) { rows = append(rows, more...) }

// v1 is a kind of the core group.
func v1(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

func (r Row) path(door string) string {
	if door == "" {
		return r.Resource
	}
	return r.Resource + "/" + door
}

// root is where a group is served.
func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api"
	}
	return "/apis"
}

// where objects of kinds in namespaces are created.
const where = "default"

// namespace is that of the row's objects, "" for none.
func (r Row) namespace() string {
	if r.Cluster {
		return ""
	}
	return where
}

// collection is the URL path of the row's objects.
func (r Row) collection() string {
	p := root(r.Kind.GroupVersion()) + "/" + r.Kind.GroupVersion().String()
	if !r.Cluster {
		p += "/namespaces/" + where
	}
	return p + "/" + r.Resource
}

// url is the path of an object or of a door to it.
func (r Row) url(name, door string) string {
	p := r.collection() + "/" + name
	if door != "" {
		p += "/" + door
	}
	return p
}

func (r Row) count() int {
	if r.Big {
		return times(bigCount)
	}
	return times(smallCount)
}

// folder is where a group's examples are: the first word of its name, "core" for the group without
// one.
func (r Row) folder() string {
	word, _, _ := strings.Cut(r.Kind.Group, ".")
	if word == "" {
		return "core"
	}
	return word
}

// examples reads the valid objects that mutations start from: testdata/<group>/<resource>*.yaml,
// any number of documents in each. They are whole objects with a name each; status and metadata are
// what stored objects have, which updates start from.
func (r Row) examples(t testing.TB) []map[string]any {
	t.Helper()
	list := r.documents(t)
	for _, obj := range list {
		delete(obj, storedKey)
	}
	return list
}

// storedKey is where a document says what the stored object has beside what a create makes of the
// example: what only other doors can set, or only earlier servers let pass.
const storedKey = "stored"

// stored returns what is said there, of each example.
func (r Row) stored(t testing.TB) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, obj := range r.documents(t) {
		more, _ := obj[storedKey].(map[string]any)
		list = append(list, more)
	}
	return list
}

// merge puts more into an object. Lists take the place of others.
func merge(obj, more map[string]any) {
	for key, v := range more {
		inner, ok := v.(map[string]any)
		if have, had := obj[key].(map[string]any); ok && had {
			merge(have, inner)
		} else {
			obj[key] = v
		}
	}
}

func (r Row) documents(t testing.TB) []map[string]any {
	t.Helper()
	name := r.Examples
	if name == "" {
		name = r.Resource
	}
	files, _ := filepath.Glob(filepath.Join("testdata", r.folder(), name+"*.yaml"))
	var list []map[string]any
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range strings.Split("\n"+string(data), "\n---\n") {
			var obj map[string]any
			if err := yaml.Unmarshal([]byte(doc), &obj); err != nil {
				t.Fatalf("%s, document %d: %v", file, i, err)
			}
			if obj == nil {
				continue
			}
			obj["apiVersion"], obj["kind"] = r.Kind.GroupVersion().String(), r.Kind.Kind
			if nameOf(obj) == "" {
				t.Fatalf("%s, document %d has no name", file, i)
			}
			list = append(list, tree(obj).(map[string]any))
		}
	}
	if len(list) == 0 {
		t.Fatalf("no examples in testdata/%s/%s*.yaml", r.folder(), r.Resource)
	}
	return list
}

func nameOf(obj map[string]any) string {
	m, _ := obj["metadata"].(map[string]any)
	name, _ := m["name"].(string)
	return name
}

func (r Row) String() string {
	return fmt.Sprintf("%s.%s.%s", r.Kind.Kind, r.Kind.Version, r.Kind.Group)
}
