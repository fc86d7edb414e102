package server_test

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// introducedLate has objects of the kinds that got v1 after Kubernetes 1.33, with the storage
// versions for compatibility with 1.33, 1.34, 1.35 and 1.36.
var introducedLate = []struct {
	path, object string
	want         [4]string
}{
	{"admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"a"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},
		"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/spec/a'}]"}}]}}`, [4]string{"v1alpha1", "v1beta1", "v1beta1", "v1"}},
	{"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"a"},"spec":{"policyName":"a"}}`, [4]string{"v1alpha1", "v1beta1", "v1beta1", "v1"}},
	{"resource.k8s.io/v1/deviceclasses", `{"metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}}`, [4]string{"v1beta2", "v1", "v1", "v1"}},
	{"resource.k8s.io/v1/namespaces/ns/resourceclaims", `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"a"}}]}}}`, [4]string{"v1beta2", "v1", "v1", "v1"}},
	{"resource.k8s.io/v1/namespaces/ns/resourceclaimtemplates", `{"metadata":{"name":"a"},"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"a"}}]}}}}`, [4]string{"v1beta2", "v1", "v1", "v1"}},
	{"resource.k8s.io/v1/resourceslices", `{"metadata":{"name":"a"},"spec":{"driver":"d.example.com","pool":{"name":"p","resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x"}]}}`, [4]string{"v1beta2", "v1", "v1", "v1"}},
	{"storage.k8s.io/v1/volumeattributesclasses", `{"metadata":{"name":"a"},"driverName":"d.example.com","parameters":{"a":"b"}}`, [4]string{"v1beta1", "v1", "v1", "v1"}},
}

// TestStoredVersions writes objects in the storage version of each release, as JSON or protobuf. A
// server for the next release can read them.
func TestStoredVersions(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	for i, release := range []string{"1.36", "1.33", "", "1.34", "1.35"} {
		minor := map[string]int{"1.33": 0, "1.34": 1, "1.35": 2, "": 2, "1.36": 3}[release]
		cfg := server.Config{Storage: server.StorageConfig{Store: store, MinCompatibility: release, Protobuf: i%2 == 1}}
		askOnce(t, cfg, func(p *inProcess) {
			p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
			for _, late := range introducedLate {
				if i == 0 {
					if code, body := p.do("POST", "/apis/"+late.path, late.object); code != http.StatusCreated {
						t.Fatalf("%s: got %d %s", late.path, code, body)
					}
				}
				label := fmt.Sprintf(`"at":"%d"`, i)
				for _, ask := range []func() (int, string){
					func() (int, string) {
						return p.do("PATCH", "/apis/"+late.path+"/a", `{"metadata":{"labels":{`+label+`}}}`, "Content-Type", mergePatch)
					},
					func() (int, string) { return p.do("GET", "/apis/"+late.path+"/a", "") },
					func() (int, string) { return p.do("GET", "/apis/"+late.path, "") },
				} {
					code, body := ask()
					if group, _, _ := strings.Cut(late.path, "/"); code != http.StatusOK || !strings.Contains(body, group+`/v1"`) || !strings.Contains(body, label) {
						t.Fatalf("%s at %q: got %d %s", late.path, release, code, body)
					}
				}
				if got := storedVersionOf(p, store, late.path); got != late.want[minor] {
					t.Errorf("%s at %q: stored in %s, want %s", late.path, release, got, late.want[minor])
				}
			}
		})
	}
}

// storedVersionOf returns the version in which the object "a" of a resource is stored.
func storedVersionOf(p *inProcess, store storage.Store, resource string) string {
	p.TB.Helper()
	group, _, _ := strings.Cut(resource, "/")
	key := p.Store(meta.GroupResource{Group: group, Resource: path.Base(resource)}).Objects().Prefix()
	if strings.Contains(resource, "/namespaces/ns/") {
		key += "ns/"
	}
	e, err := store.Get(p.TB.Context(), key+"a")
	if err != nil {
		p.TB.Fatal(err)
	}
	_, version, _ := strings.Cut(string(e.Value), group+"/")
	return version[:strings.IndexAny(version, "\"\x12")] // the bytes after the version in JSON and in protobuf
}

// TestMinCompatibility: a release that kube-apiserver would refuse is refused. /version shows the
// release in force.
func TestMinCompatibility(t *testing.T) {
	for _, release := range []string{"1.32", "1.37", "1", "2.35", "x"} {
		_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory, MinCompatibility: release}})
		if err == nil || !strings.Contains(err.Error(), "is not between 1.33 and 1.36") {
			t.Errorf("%q: got %v, want an error", release, err)
		}
	}
	for release, want := range map[string]string{"": "35", "1.33": "33"} {
		p := newInProcess(t, func(c *server.Config) { c.Storage.MinCompatibility = release })
		if _, body := p.do("GET", "/version", ""); !strings.Contains(body, `"minCompatibilityMinor": "`+want+`"`) {
			t.Errorf("%q: got the version %s", release, body)
		}
	}
}
