package differential

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// TestStoredForOthers has Coracle store an object of every kind, as JSON and as protobuf, for
// servers of several releases. It puts the bytes into the store of a whole kube-apiserver, which
// must show the same object.
func TestStoredForOthers(t *testing.T) {
	etcd := etcdproc.Start(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s := &storedCourt{theirs: startKubernetes(t, etcd), found: map[string][]string{}, counted: map[string]int{}}
	for _, storage := range []server.StorageConfig{{}, {Protobuf: true}, {MinCompatibility: "1.33"}, {MinCompatibility: "1.33", Protobuf: true}, {MinCompatibility: "1.36"}} {
		s.ours = startOurs(t, nil, storage)
		admin := `{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`
		send(s.ours, http.MethodPatch, "/api/v1/namespaces/"+where, []byte(admin), "application/merge-patch+json", "application/json")
		for _, r := range storedResources() {
			row := r.rows[0]
			example := row.examples(t)[0]
			about := about(fmt.Sprintf("%s, protobuf %t, for %q", row.url(nameOf(example), ""), storage.Protobuf, storage.MinCompatibility))
			created := ask(s.ours, http.MethodPost, row.collection(), encode(example))
			if created.Code != http.StatusCreated {
				t.Errorf("%s: created: %d %s", about, created.Code, encode(created.Body))
				continue
			}
			key := place(r.resource, row.namespace(), nameOf(created.Body))
			e, err := s.ours.store.Get(t.Context(), key)
			if err != nil {
				t.Fatalf("%s: %v", about, err)
			}
			if _, err := client.Put(t.Context(), key, string(e.Value)); err != nil {
				t.Fatal(err)
			}
			s.compare(about, row.String()+" get", http.MethodGet, row.url(nameOf(created.Body), ""), nil, "", "application/json")
			if _, err := client.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.print(t)
}

// TestStorageVersions checks that each kind is stored in a version that a release knows, unless the
// release knows none. Kubernetes' source says which release introduced a version.
func TestStorageVersions(t *testing.T) {
	for minor := 33; minor <= 36; minor++ {
		o := startOurs(t, nil, server.StorageConfig{MinCompatibility: fmt.Sprintf("1.%d", minor)})
		for _, r := range storedResources() {
			gvk := r.rows[0].Kind
			store := o.server.Store(meta.GroupResource{Group: gvk.Group, Resource: r.resource})
			if store == nil {
				t.Fatalf("there is no %s", gvk)
			}
			stored := store.StorageVersion()
			obj, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: stored.Group, Version: stored.Version, Kind: stored.Kind})
			if err != nil {
				t.Fatal(err)
			}
			if late, ok := obj.(interface{ APILifecycleIntroduced() (int, int) }); ok {
				if _, since := late.APILifecycleIntroduced(); since > minor {
					t.Errorf("for 1.%d %s is stored in %s, which came with 1.%d", minor, gvk.Kind, stored.Version, since)
				}
			}
		}
	}
}
