package nodev1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// RuntimeClass names a container runtime of nodes, which pods choose by that name.
type RuntimeClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Name by which the configuration of nodes knows the runtime, a DNS label. It cannot be
	// changed.
	Handler string `json:"handler" pb:"2"`
	// What running a pod takes beside its containers.
	Overhead *Overhead `json:"overhead,omitempty" pb:"3"`
	// Which nodes have the runtime; all by default.
	Scheduling *Scheduling `json:"scheduling,omitempty" pb:"4"`
}

// Overhead is the amount of resources that running a pod takes in addition to its containers.
type Overhead struct {
	// What each pod takes of cpu, memory and the like; set as the pod's overhead.
	PodFixed corev1.ResourceList `json:"podFixed,omitempty" pb:"1"`
}

// Scheduling tells which nodes have a runtime. It is added to what pods with the runtime ask for.
type Scheduling struct {
	// Labels of the nodes. A pod that asks for other values of them is refused.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" pb:"1" map:"atomic"`
	// Taints of the nodes that pods tolerate.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" pb:"2" list:"atomic"`
}

// RuntimeClassList is a list of runtime classes.
type RuntimeClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []RuntimeClass `json:"items" pb:"2"`
}
