package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// TestEmptyLists sends empty lists to kinds that Kubernetes stores as protobuf. The expected
// answers are those of kube-apiserver 1.36.3: null where the field has no omitempty, and these
// managedFields.
func TestEmptyLists(t *testing.T) {
	for _, protobuf := range []bool{false, true} {
		t.Run(fmt.Sprintf("protobuf=%t", protobuf), func(t *testing.T) {
			p := newInProcess(t, func(c *server.Config) { c.Storage.Protobuf = protobuf })
			for _, tt := range []struct{ collection, fields, shown, owned string }{
				{"/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices", `"addressType":"IPv4","endpoints":[],"ports":[]`,
					`"addressType":"IPv4","endpoints":null,"ports":null`, `{"f:addressType":{},"f:endpoints":{},"f:ports":{}}`},
				{"/api/v1/namespaces/ns/limitranges", `"spec":{"limits":[]}`, `"spec":{"limits":null}`, `{"f:spec":{"f:limits":{}}}`},
				{"/apis/storage.k8s.io/v1/csinodes", `"spec":{"drivers":[]}`, `"spec":{"drivers":null}`, `{"f:spec":{"f:drivers":{}}}`},
				{"/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles", `"rules":[]`, `"rules":null`, `{"f:rules":{}}`},
				{"/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies",
					`"spec":{"podSelector":{},"policyTypes":["Ingress"],"egress":[],"ingress":[{"from":[]}]}`,
					`"spec":{"podSelector":{},"ingress":[{}],"policyTypes":["Ingress"]}`, `{"f:spec":{"f:ingress":{},"f:policyTypes":{}}}`},
			} {
				object := `{"metadata":{"name":"x"},` + tt.fields + `}`
				for _, ask := range []struct{ method, target, body string }{
					{http.MethodPost, tt.collection + "?fieldManager=m&dryRun=All", object},
					{http.MethodPost, tt.collection + "?fieldManager=m", object},
					{http.MethodGet, tt.collection + "/x", ""},
					{http.MethodGet, tt.collection, ""},
					{http.MethodPatch, tt.collection + "/x?fieldManager=m", "{" + tt.fields + "}"},
				} {
					got := p.must(ask.method, ask.target, ask.body)
					if !strings.Contains(got, tt.shown) || !strings.Contains(got, `"fieldsV1":`+tt.owned) {
						t.Errorf("%s %s: got %s, want %s, owned as %s", ask.method, ask.target, got, tt.shown, tt.owned)
					}
				}
				var before, after struct {
					Metadata struct{ ResourceVersion string }
				}
				for _, to := range []any{&before, &after} {
					if err := json.Unmarshal([]byte(p.must(http.MethodPatch, tt.collection+"/x?fieldManager=m", "{"+tt.fields+"}")), to); err != nil {
						t.Fatal(err)
					}
				}
				if before != after {
					t.Errorf("%s: a second patch with the same lists was stored, at %s after %s", tt.collection, after, before)
				}
			}
		})
	}
}
