package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	apiservicestore "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// In Kubernetes, APIServices have a server of their own (kube-aggregator), with a scheme of its
// own.
func init() {
	install.Install(legacyscheme.Scheme)
	add(Row{
		Kind:     schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
		Resource: "apiservices", Cluster: true, Settle: settleTransitions,
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s := apiservicestore.NewREST(legacyscheme.Scheme, o)
			return Doors{"": s, "status": apiservicestore.NewStatusREST(legacyscheme.Scheme, s)}, nil
		},
	})
}

// settleTransitions makes the times of conditions equal if both servers set them at about the same
// time.
func settleTransitions(theirs, ours map[string]any) {
	their, our := conditionsOf(theirs), conditionsOf(ours)
	for i := range min(len(their), len(our)) {
		if near(their[i]["lastTransitionTime"], our[i]["lastTransitionTime"]) {
			our[i]["lastTransitionTime"] = their[i]["lastTransitionTime"]
		}
	}
}

func conditionsOf(obj map[string]any) (list []map[string]any) {
	status, _ := obj["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		list = append(list, condition)
	}
	return list
}
