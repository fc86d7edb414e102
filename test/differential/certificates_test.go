package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	requeststore "k8s.io/kubernetes/pkg/registry/certificates/certificates/storage"
)

func init() {
	request := schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}
	add(Row{Kind: request, Resource: "certificatesigningrequests", Cluster: true, Settle: settleRequests,
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, status, approval, err := requeststore.NewREST(o)
			return Doors{"": s, "status": status, "approval": approval}, err
		}})
}

// settleRequests leaves out who asked, and evens out the times that conditions are completed with.
func settleRequests(theirs, ours map[string]any) {
	for _, obj := range []map[string]any{theirs, ours} {
		spec, _ := obj["spec"].(map[string]any)
		for _, name := range []string{"username", "uid", "groups", "extra"} {
			delete(spec, name)
		}
	}
	their, _ := theirs["status"].(map[string]any)
	our, _ := ours["status"].(map[string]any)
	a, _ := their["conditions"].([]any)
	b, _ := our["conditions"].([]any)
	for i := range min(len(a), len(b)) {
		x, _ := a[i].(map[string]any)
		y, _ := b[i].(map[string]any)
		for _, name := range []string{"lastUpdateTime", "lastTransitionTime"} {
			if x[name] != nil && y[name] != nil && near(x[name], y[name]) {
				y[name] = x[name]
			}
		}
	}
}
