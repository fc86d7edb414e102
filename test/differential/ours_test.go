package differential

import (
	"net/http"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/aggregation"
	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// ours is a Coracle server in this process. The test can write into its store.
type ours struct {
	handler http.Handler
	store   storage.Store
	scheme  *scheme.Scheme
	server  *server.Server
}

// accountPlugin is disabled on both sides, because nothing creates service accounts.
const accountPlugin = "ServiceAccount"

// newOurs starts a server. The plugins that are judged alone are disabled, as they are on
// Kubernetes' side.
func newOurs(t *testing.T) *ours { return startOurs(t, nil, server.StorageConfig{}) }

// newUntended is newOurs without the loops that keep API services, flow schemas and priority
// levels, because these would change the objects that a test stores. The server is made without
// those groups, and they are installed afterwards. LimitRanger and ResourceQuota are off, because
// tests put limit ranges and quotas, which Kubernetes' plugins do not know, into the namespace of
// all other objects; TestLimitRanger, TestVerdicts and TestQuota are about them.
func newUntended(t *testing.T) *ours {
	return runUntended(t, plugins.Config{Disable: append(slices.Clone(judgedAlone), "LimitRanger", "ResourceQuota")})
}

func runUntended(t *testing.T, admission plugins.Config) *ours {
	none := map[string]string{"apiregistration.k8s.io/v1": "false", "flowcontrol.apiserver.k8s.io/v1": "false"}
	o := runOurs(t, none, server.StorageConfig{}, admission)
	for on, group := range map[*generic.Server]server.Group{
		o.server.Aggregator: {Name: "apiregistration.k8s.io", Resources: aggregation.Resources()},
		o.server.Core:       {Name: "flowcontrol.apiserver.k8s.io", Resources: flowcontrol.Resources()},
	} {
		if err := o.server.Install(on, group); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// startOurs starts a server on a store of its own. storage chooses the form of stored objects.
func startOurs(t *testing.T, runtime map[string]string, storage server.StorageConfig) *ours {
	return runOurs(t, runtime, storage, plugins.Config{Disable: judgedAlone})
}

func runOurs(t *testing.T, runtime map[string]string, storage server.StorageConfig, admission plugins.Config) *ours {
	store := memory.New(memory.Config{})
	storage.Store = store
	s := servertest.Start(madeUp{t}, server.Config{
		Storage:   storage,
		Admission: admission,
		API: server.APIConfig{
			AllowPrivileged: true, Services: addresses.Config{ClusterIPRanges: serviceRanges}, Runtime: runtime,
			Without: server.WithoutConfig{PriorityAndFairness: true},
		},
		Serving:     server.ServingConfig{Debug: inspect.Config{LogDir: t.TempDir()}}, // the server in Kubernetes' copy of OpenAPI documents served logs, too
		Controllers: []string{},
	})
	o := &ours{handler: s.Server.Handler(), store: store, scheme: s.Server.Scheme, server: s.Server}
	if a := ask(o, http.MethodPost, "/apis/node.k8s.io/v1/runtimeclasses", encode(isolated)); !a.accepted() {
		t.Fatal(indent(a.Body))
	}
	return o
}

// ServeHTTP handles a request of the administrator's.
func (o *ours) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+servertest.Token)
	o.handler.ServeHTTP(w, r)
}

// atHome returns an object as a server stores it: with the fields in the order of their type, in
// the group in which the kind is stored.
func (o *ours) atHome(t *testing.T, row Row, object []byte) []byte {
	t.Helper()
	decoded, err := codec.NewFactory(o.scheme).Decode(codec.DecodeRequest{Data: object})
	if err != nil {
		t.Fatal(err)
	}
	hub, err := o.scheme.ToHub(decoded.Object)
	if err != nil {
		t.Fatal(err)
	}
	*hub.GetTypeMeta() = meta.TypeMeta{} // otherwise Kind returns the kind that the object names
	home, err := o.scheme.Kind(hub)
	if err != nil {
		t.Fatal(err)
	}
	if home.Group != row.Kind.Group {
		decoded.Object, decoded.GVK = hub, home
	}
	decoded.Object.GetTypeMeta().SetGroupVersionKind(decoded.GVK)
	if object, err = codec.AppendJSON(nil, decoded.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// put creates example and then replaces the stored object by stored. It returns the object that the
// server reads.
func (o *ours) put(t *testing.T, row Row, example, stored map[string]any) map[string]any {
	t.Helper()
	name := nameOf(example)
	a := ask(o, http.MethodPost, row.collection(), encode(example))
	if a.Code != http.StatusCreated {
		t.Fatalf("Coracle does not accept the example %q:\n%s", name, indent(a.Body))
	}
	o.replace(t, row, stored)
	a = ask(o, http.MethodGet, row.url(name, ""), nil)
	if a.Code != http.StatusOK {
		t.Fatalf("reading the example %q: %s", name, indent(a.Body))
	}
	return a.Body
}

// replace writes an object into the store, past the server. Keys are those of kube-apiserver.
func (o *ours) replace(t *testing.T, row Row, obj map[string]any) {
	t.Helper()
	if _, err := o.store.Put(t.Context(), place(row.Resource, row.namespace(), nameOf(obj)), o.atHome(t, row, encode(obj)), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
}

// madeUp is a test with made-up objects. The data of its secrets are words that occur in other
// names and values and in the log; servertest would take them there for leaked credentials.
type madeUp struct{ testing.TB }
