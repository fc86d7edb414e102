package differential

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	flowcontrolapi "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/ensurer"
	"k8s.io/utils/ptr"

	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/flows"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// TestFlowBootstrap checks that Coracle creates the same schemas and levels as kube-apiserver.
func TestFlowBootstrap(t *testing.T) {
	mandatory, suggested := flowcontrol.Mandatory(), flowcontrol.Suggested()
	sameObjects(t, slices.Concat(mandatory.Schemas, suggested.Schemas), slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas))
	sameObjects(t, slices.Concat(mandatory.Levels, suggested.Levels),
		slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations))
	sameObjects(t, mandatory.Schemas, bootstrap.MandatoryFlowSchemas)
	sameObjects(t, mandatory.Levels, bootstrap.MandatoryPriorityLevelConfigurations)
}

// sameObjects compares lists of objects as JSON, in any order.
func sameObjects[O, T any](t *testing.T, ours []O, theirs []T) {
	t.Helper()
	var all [2][]string
	for _, obj := range ours {
		all[0] = append(all[0], canonical(t, obj))
	}
	for _, obj := range theirs {
		all[1] = append(all[1], canonical(t, obj))
	}
	slices.Sort(all[0])
	slices.Sort(all[1])
	if !slices.Equal(all[0], all[1]) {
		t.Errorf("got  %s\nwant %s", all[0], all[1])
	}
}

// canonical is the JSON of an object with sorted keys.
func canonical(t *testing.T, obj any) string {
	t.Helper()
	var tree any
	if err := decode(encode(obj), &tree); err != nil {
		t.Fatal(err)
	}
	return string(encode(tree))
}

// keptStore holds the objects of a resource for kube-apiserver's code, as its client and its
// lister.
type keptStore[P metav1.Object] struct {
	path string // of the resource
	all  map[string]P
}

// read replaces the objects by Coracle's.
func (k *keptStore[P]) read(t *testing.T, h http.Handler) {
	t.Helper()
	var list struct{ Items []P }
	a := ask(h, http.MethodGet, k.path, nil)
	if err := json.Unmarshal(encode(a.Body), &list); err != nil || a.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v", k.path, a.Code, err)
	}
	k.all = map[string]P{}
	for _, obj := range list.Items {
		k.all[obj.GetName()] = obj
	}
}

func (k *keptStore[P]) Create(_ context.Context, obj P, _ metav1.CreateOptions) (P, error) {
	k.all[obj.GetName()] = obj
	return obj, nil
}

func (k *keptStore[P]) Update(_ context.Context, obj P, _ metav1.UpdateOptions) (P, error) {
	k.all[obj.GetName()] = obj
	return obj, nil
}

func (k *keptStore[P]) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	delete(k.all, name)
	return nil
}

func (k *keptStore[P]) Get(name string) (P, error) {
	if obj, ok := k.all[name]; ok {
		return obj, nil
	}
	var none P
	return none, errors.NewNotFound(flowcontrolapi.Resource("object"), name)
}

func (k *keptStore[P]) List(labels.Selector) ([]P, error) {
	return slices.Collect(maps.Values(k.all)), nil
}

// keep has kube-apiserver's code ensure the bootstrap objects in the store. ops are that code's
// functions for the resource; the store replaces their client and lister.
func keep[P interface {
	comparable
	metav1.Object
	runtime.Object
}](t *testing.T, k *keptStore[P], ops ensurer.ObjectOps[P], mandatory, suggested []P) {
	t.Helper()
	mine := ensurer.NewObjectOps[P](k, k, ops.DeepCopy, ops.ReplaceSpec, ops.SpecEqualish)
	for _, err := range []error{
		ensurer.EnsureConfigurations(t.Context(), mine, suggested, ensurer.NewSuggestedEnsureStrategy[P]()),
		ensurer.EnsureConfigurations(t.Context(), mine, mandatory, ensurer.NewMandatoryEnsureStrategy[P]()),
		ensurer.RemoveUnwantedObjects(t.Context(), mine, slices.Concat(mandatory, suggested)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// disturb changes, deletes and creates random objects of the resource on Coracle. change alters the
// spec of one object.
func disturb[P metav1.Object](t *testing.T, rnd *rand.Rand, h http.Handler, k *keptStore[P], change func(obj P)) {
	t.Helper()
	send := func(method, path string, body any, want int) {
		t.Helper()
		if a := ask(h, method, path, encode(body)); a.Code != want {
			t.Fatalf("%s %s: %d %v", method, path, a.Code, a.Body)
		}
	}
	annotate := func(obj P) {
		switch value := []string{"", "true", "false", "1", "f", "perhaps", "none"}[rnd.IntN(7)]; value {
		case "none":
			obj.SetAnnotations(nil)
		default:
			obj.SetAnnotations(map[string]string{flowcontrol.AutoUpdate: value})
		}
	}
	k.read(t, h)
	for _, name := range slices.Sorted(maps.Keys(k.all)) {
		obj := k.all[name]
		if rnd.IntN(4) == 0 {
			change(obj)
			send(http.MethodPut, k.path+"/"+name, obj, http.StatusOK)
		}
		switch rnd.IntN(6) {
		case 0:
			send(http.MethodDelete, k.path+"/"+name, nil, http.StatusOK)
		case 1, 2:
			obj.SetResourceVersion("")
			annotate(obj)
			send(http.MethodPut, k.path+"/"+name, obj, http.StatusOK)
		}
		if rnd.IntN(8) == 0 {
			other := obj
			other.SetName("made-" + strconv.Itoa(rnd.IntN(1e6)))
			other.SetUID("")
			other.SetResourceVersion("")
			annotate(other)
			if name != "exempt" && name != "catch-all" {
				send(http.MethodPost, k.path, other, http.StatusCreated)
			}
		}
	}
}

// sameSpecs compares the objects of both sides after both have kept the same objects.
func sameSpecs[P metav1.Object](t *testing.T, what any, ours, theirs map[string]P, spec func(P) any) {
	t.Helper()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(ours)), slices.Collect(maps.Keys(theirs)))))) {
		a, here := ours[name]
		b, there := theirs[name]
		if here != there {
			t.Errorf("%v: %s: Coracle has it: %v, kube-apiserver: %v", what, name, here, there)
			continue
		}
		if !equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) || !equality.Semantic.DeepEqual(spec(a), spec(b)) {
			t.Errorf("%v: %s\n  kube-apiserver: %v %s\n  coracle:        %v %s", what, name, b.GetAnnotations(), encode(spec(b)), a.GetAnnotations(), encode(spec(a)))
		}
	}
}

// TestFlowKeeper changes schemas and levels at random, and has Coracle and kube-apiserver's own
// code repair them.
func TestFlowKeeper(t *testing.T) {
	s, err := servertest.New(madeUp{t}, server.Config{ // the server does not run, so nothing else writes
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := s.Handler()
	const root = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	schemas := &keptStore[*flowcontrolapi.FlowSchema]{path: root + "flowschemas"}
	levels := &keptStore[*flowcontrolapi.PriorityLevelConfiguration]{path: root + "prioritylevelconfigurations"}
	keeper := &flows.Keeper{Client: s.Client(), Log: zap.NewNop()}
	for i := range times(60) {
		rnd := random("flow keeper", i)
		disturb(t, rnd, h, schemas, func(fs *flowcontrolapi.FlowSchema) {
			if fs.Name != "exempt" && fs.Name != "catch-all" { // the specs of these two are fixed
				fs.Spec.MatchingPrecedence = int32(2 + rnd.IntN(9000))
			}
		})
		disturb(t, rnd, h, levels, func(l *flowcontrolapi.PriorityLevelConfiguration) {
			switch {
			case l.Name == "exempt" && rnd.IntN(3) == 0:
				l.Spec.Exempt = nil
			case l.Spec.Exempt != nil:
				l.Spec.Exempt.LendablePercent = ptr.To(int32(rnd.IntN(100)))
			case l.Name != "catch-all":
				l.Spec.Limited.NominalConcurrencyShares = ptr.To(int32(rnd.IntN(100)))
			}
		})
		schemas.read(t, h)
		levels.read(t, h)
		if err := keeper.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		keep(t, levels, ensurer.NewPriorityLevelConfigurationOps(nil, nil), bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations)
		keep(t, schemas, ensurer.NewFlowSchemaOps(nil, nil), bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas)
		theirSchemas, theirLevels := schemas.all, levels.all
		schemas.read(t, h)
		levels.read(t, h)
		sameSpecs(t, i, schemas.all, theirSchemas, func(fs *flowcontrolapi.FlowSchema) any { return fs.Spec })
		sameSpecs(t, i, levels.all, theirLevels, func(l *flowcontrolapi.PriorityLevelConfiguration) any { return l.Spec })
		if t.Failed() {
			return
		}
	}
}

// TestFlowsBeside runs kube-apiserver and Coracle on one etcd. The second server must not change
// the objects of the first, and both must create the same objects.
func TestFlowsBeside(t *testing.T) {
	kubernetes := func(t *testing.T, etcd string) http.Handler {
		return startKubernetes(t, etcd, "--enable-priority-and-fairness=true")
	}
	coracle := func(t *testing.T, etcd string) http.Handler {
		s := servertest.Start(madeUp{t}, server.Config{
			Storage: server.StorageConfig{Etcd: server.EtcdConfig{Servers: []string{etcd}}}, Controllers: []string{},
		})
		return &ours{handler: s.Server.Handler(), server: s.Server}
	}
	var made [2]map[string]string
	for i, start := range [][2]func(*testing.T, string) http.Handler{{kubernetes, coracle}, {coracle, kubernetes}} {
		t.Run([]string{"kube-apiserver first", "Coracle first"}[i], func(t *testing.T) {
			etcd := etcdproc.Start(t)
			first := start[0](t, etcd)
			var before map[string]string
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
				var told int
				if made[i], before, told = flowObjects(t, first); len(before) == 19 && told == 11 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("there are %d objects, and %d schemas with a status: want 19 and 11", len(before), told)
				}
			}
			start[1](t, etcd)
			time.Sleep(3 * time.Second) // for the writes that a server begins when it is ready
			if _, after, _ := flowObjects(t, first); !maps.Equal(after, before) {
				t.Errorf("the second server wrote something:\n got %v\nwant %v", after, before)
			}
		})
	}
	for name, theirs := range made[0] {
		if ours := made[1][name]; ours != theirs {
			t.Errorf("%s:\n  kube-apiserver: %s\n  coracle:        %s", name, theirs, ours)
		}
	}
}

// flowObjects reads all schemas and levels, by path: the objects without the fields that differ
// each time that they are created, and their revisions. told is the number of schemas with a
// status.
func flowObjects(t *testing.T, h http.Handler) (objects, revisions map[string]string, told int) {
	t.Helper()
	objects, revisions = map[string]string{}, map[string]string{}
	for _, resource := range []string{"flowschemas", "prioritylevelconfigurations"} {
		path := "/apis/flowcontrol.apiserver.k8s.io/v1/" + resource
		a := ask(h, http.MethodGet, path, nil)
		items, _ := a.Body["items"].([]any)
		for _, item := range items {
			o := item.(map[string]any)
			m := o["metadata"].(map[string]any)
			at := path + "/" + m["name"].(string)
			revisions[at] = m["resourceVersion"].(string)
			delete(m, "resourceVersion")
			delete(m, "uid")
			delete(m, "creationTimestamp")
			entries, _ := m["managedFields"].([]any)
			for _, e := range entries {
				delete(e.(map[string]any), "time")
			}
			slices.SortFunc(entries, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) }) // servers sort them by time
			if status, ok := o["status"].(map[string]any); ok {
				conditions, _ := status["conditions"].([]any)
				for _, c := range conditions {
					told++
					delete(c.(map[string]any), "lastTransitionTime")
				}
			}
			objects[at] = string(encode(o))
		}
	}
	return objects, revisions, told
}
