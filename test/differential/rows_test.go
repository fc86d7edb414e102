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
	// Examples names the file with the examples, if a kind has several versions; "" means the name
	// of the resource.
	Examples string
	// Cluster is set for cluster-scoped kinds.
	Cluster bool
	// Big kinds are tried bigCount times for each of create and update, others smallCount times.
	Big bool
	// Alone kinds are judged while no other kind is, because their stored objects change how
	// Coracle treats other kinds. Kubernetes' admission has objects of its own here.
	Alone bool
	// REST makes Kubernetes' own registry of the kind, with one entry for each door: "" for the
	// resource itself, and the name of each subresource, such as "status". Only doors that take a
	// PUT of an object are judged.
	REST func(generic.RESTOptionsGetter) (Doors, error)
	// States, if set, gives a stored example a state as its controllers write it, for tables that
	// show much of the state.
	States func(m *mutator, obj map[string]any) map[string]any
	// Settle, if set, makes fields equal that cannot be compared, such as allocated addresses. It
	// gets both answers to a request that both sides accept, as JSON.
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

// root is the path under which a group is served.
func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api"
	}
	return "/apis"
}

// where is the namespace in which namespaced objects are created.
const where = "default"

// namespace is the namespace of the row's objects, "" for none.
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

// folder is the directory of a group's examples: the first word of the group's name, or "core" for
// the core group.
func (r Row) folder() string {
	word, _, _ := strings.Cut(r.Kind.Group, ".")
	if word == "" {
		return "core"
	}
	return word
}

// examples reads the valid objects that mutations start from: testdata/<group>/<resource>*.yaml,
// any number of documents in each. They are whole objects, each with a name. Their status and
// metadata become those of the stored objects from which updates start.
func (r Row) examples(t testing.TB) []map[string]any {
	t.Helper()
	list := r.documents(t)
	for _, obj := range list {
		delete(obj, storedKey)
	}
	return list
}

// storedKey is the key under which a document holds more fields of the stored object: fields that a
// create cannot set, because only other doors set them or only earlier servers accepted them.
const storedKey = "stored"

// stored returns the fields under storedKey of each example.
func (r Row) stored(t testing.TB) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, obj := range r.documents(t) {
		more, _ := obj[storedKey].(map[string]any)
		list = append(list, more)
	}
	return list
}

// merge adds the fields of more to an object. It replaces lists.
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
