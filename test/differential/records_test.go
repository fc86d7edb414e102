package differential

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestRecords has Kubernetes read and write the records that the servers of a store share: the
// taken node ports, and the running servers.
func TestRecords(t *testing.T) {
	for name, protobuf := range map[string]bool{"JSON": false, "protobuf": true} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(memory.Config{})
			s := servertest.Start(t, server.Config{
				Storage: server.StorageConfig{Store: store, Protobuf: protobuf}, Controllers: []string{},
				Serving: server.ServingConfig{AdvertiseAddress: "198.51.100.1"},
			})
			r := records{t, store, s.Server.Handler(), protobuf}
			r.judgePorts()
			r.judgeServers()
		})
	}
}

type records struct {
	*testing.T
	store    storage.Store
	handler  http.Handler
	protobuf bool
}

// do sends a request of the administrator's.
func (r records) do(method, path, body string) (int, string) {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+servertest.Token)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// read has Kubernetes read the record at a key.
func (r records) read(key string) runtime.Object {
	r.Helper()
	e, err := r.store.Get(r.Context(), key)
	if err != nil {
		r.Fatal(err)
	}
	if isProto := strings.HasPrefix(string(e.Value), "k8s\x00"); isProto != r.protobuf {
		r.Errorf("%s is stored as %.20q", key, e.Value)
	}
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(api.SchemeGroupVersion), e.Value)
	if err != nil {
		r.Fatalf("Kubernetes cannot read %s: %v", key, err)
	}
	return obj
}

// write has Kubernetes write a record into the store, in the form of our records.
func (r records) write(key string, obj runtime.Object) {
	r.Helper()
	media := "application/json"
	if r.protobuf {
		media = "application/vnd.kubernetes.protobuf"
	}
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		r.Fatalf("Kubernetes has no %s", media)
	}
	value, err := runtime.Encode(legacyscheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.store.Put(r.Context(), key, value, storage.Pre{}, 0); err != nil {
		r.Fatal(err)
	}
}

func (r records) judgePorts() {
	const key, path = "/registry/ranges/servicenodeports", "/api/v1/namespaces/default/services"
	service := func(port int) string {
		return fmt.Sprintf(`{"metadata":{"name":"p%d"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%d}]}}`, port, port)
	}
	for _, port := range []int{30000, 30517, 32767} {
		if code, answer := r.do("POST", path, service(port)); code != http.StatusCreated {
			r.Fatalf("%d %s", code, answer)
		}
	}
	snapshot := r.read(key).(*api.RangeAllocation)
	theirs, err := portallocator.NewFromSnapshot(snapshot)
	if err != nil {
		r.Fatal(err)
	}
	var got []int
	theirs.ForEach(func(port int) { got = append(got, port) })
	if fmt.Sprint(got) != "[30000 30517 32767]" {
		r.Errorf("Kubernetes reads that %v are taken", got)
	}
	if err := theirs.Allocate(31000); err != nil {
		r.Fatal(err)
	}
	if err := theirs.Release(30000); err != nil {
		r.Fatal(err)
	}
	if err := theirs.Snapshot(snapshot); err != nil {
		r.Fatal(err)
	}
	r.write(key, snapshot)
	if code, answer := r.do("POST", path, service(31000)); code != http.StatusUnprocessableEntity ||
		!strings.Contains(answer, "provided port is already allocated") {
		r.Errorf("a port that Kubernetes has taken: %d %s", code, answer)
	}
	other := strings.Replace(service(30000), "p30000", "again", 1)
	if code, answer := r.do("POST", path, other); code != http.StatusCreated {
		r.Errorf("a port that Kubernetes has released: %d %s", code, answer)
	}
}

func (r records) judgeServers() {
	const key = "/registry/masterleases/198.51.100."
	theirs := r.read(key + "1").(*api.Endpoints)
	if len(theirs.Subsets) != 1 || len(theirs.Subsets[0].Addresses) != 1 || theirs.Subsets[0].Addresses[0].IP != "198.51.100.1" {
		r.Errorf("Kubernetes reads %+v", theirs)
	}
	theirs.Subsets[0].Addresses[0].IP = "198.51.100.2"
	r.write(key+"2", theirs)
	var answer string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, answer = r.do("GET", "/api/v1/namespaces/default/endpoints/kubernetes", ""); strings.Contains(answer, "198.51.100.2") {
			return
		}
	}
	r.Errorf("endpoints, with a server of Kubernetes' beside: %s", answer)
}
