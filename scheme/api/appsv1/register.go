package appsv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "apps", Version: "v1"}

// Scheme registers the kinds, and their defaults.
var Scheme = scheme.NewBuilder(addKinds, addDefaults)

func addKinds(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&ControllerRevision{}, &ControllerRevisionList{},
		&DaemonSet{}, &DaemonSetList{},
		&Deployment{}, &DeploymentList{},
		&ReplicaSet{}, &ReplicaSetList{},
		&StatefulSet{}, &StatefulSetList{},
	)
}

func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultDaemonSet, daemonSetNeeds...)
	scheme.AddDefaulting(s, defaultDeployment, deploymentNeeds...)
	scheme.AddDefaulting(s, defaultReplicaSet, "spec.replicas")
	scheme.AddDefaulting(s, defaultStatefulSet, statefulSetNeeds...)
}
