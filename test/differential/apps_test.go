package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	controllerrevisionstore "k8s.io/kubernetes/pkg/registry/apps/controllerrevision/storage"
	daemonsetstore "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	deploymentstore "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicasetstore "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	statefulsetstore "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
)

func init() {
	apps := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
	}
	add(
		Row{Kind: apps("Deployment"), Resource: "deployments", Big: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := deploymentstore.NewStorage(o)
			return Doors{"": s.Deployment, "status": s.Status, "scale": s.Scale}, err
		}},
		Row{Kind: apps("ReplicaSet"), Resource: "replicasets", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := replicasetstore.NewStorage(o)
			return Doors{"": s.ReplicaSet, "status": s.Status, "scale": s.Scale}, err
		}},
		Row{Kind: apps("StatefulSet"), Resource: "statefulsets", Big: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := statefulsetstore.NewStorage(o)
			return Doors{"": s.StatefulSet, "status": s.Status, "scale": s.Scale}, err
		}},
		Row{Kind: apps("DaemonSet"), Resource: "daemonsets", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, status, err := daemonsetstore.NewREST(o)
			return Doors{"": s, "status": status}, err
		}},
		Row{Kind: apps("ControllerRevision"), Resource: "controllerrevisions", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := controllerrevisionstore.NewREST(o)
			return Doors{"": s}, err
		}},
	)
}
