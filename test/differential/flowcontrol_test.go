package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	flowschemastore "k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema/storage"
	prioritylevelstore "k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration/storage"
)

func init() {
	flowcontrol := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: kind}
	}
	add(
		Row{Kind: flowcontrol("FlowSchema"), Resource: "flowschemas", Cluster: true, REST: withStatus(flowschemastore.NewREST)},
		Row{Kind: flowcontrol("PriorityLevelConfiguration"), Resource: "prioritylevelconfigurations", Cluster: true,
			REST: withStatus(prioritylevelstore.NewREST)},
	)
}
