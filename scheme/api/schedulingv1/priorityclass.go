package schedulingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// HighestPriority is the highest value that a class other than the system's own may have.
const HighestPriority = 1000000000

// SystemClasses are the values of the system's own classes, which every cluster has.
var SystemClasses = map[string]int32{
	"system-cluster-critical": 2 * HighestPriority,
	"system-node-critical":    2*HighestPriority + 1000,
}

// PriorityClass gives pods that name it a priority.
type PriorityClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have. Names that begin with system- are reserved.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The priority: the higher the more important, 1000000000 at most. It cannot be changed.
	Value int32 `json:"value" pb:"2" check:"optional"`
	// Whether pods that name no class are of this one. Of several such classes that with the lowest
	// value counts.
	GlobalDefault bool `json:"globalDefault,omitempty" pb:"3"`
	// What the class is for, for people.
	Description string `json:"description,omitempty" pb:"4"`
	// Whether pods of the class may take the place of less important ones: PreemptLowerPriority
	// (the default) or Never. It cannot be changed.
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty" pb:"5" enum:"Never,PreemptLowerPriority"`
}

func defaultPriorityClass(c *PriorityClass) {
	scheme.SetPointer(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// PriorityClassList is a list of priority classes.
type PriorityClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []PriorityClass `json:"items" pb:"2"`
}
