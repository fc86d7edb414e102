package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ComponentStatus tells whether a part of the control plane is well. It is found out when somebody
// asks, and not stored.
type ComponentStatus struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What was found.
	Conditions []ComponentCondition `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
}

// ComponentConditionType is what a condition is about.
type ComponentConditionType string

// ComponentHealthy is the only condition.
const ComponentHealthy ComponentConditionType = "Healthy"

// ComponentCondition is one thing that is known of a component.
type ComponentCondition struct {
	// What it is about: Healthy.
	Type ComponentConditionType `json:"type" pb:"1"`
	// True if the component is well, False if not, Unknown if it could not be asked.
	Status ConditionStatus `json:"status" pb:"2"`
	// What the component says.
	Message string `json:"message,omitempty" pb:"3"`
	// Why the condition is not known.
	Error string `json:"error,omitempty" pb:"4"`
}

// ComponentStatusList is a list of what is known of components.
type ComponentStatusList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ComponentStatus `json:"items" pb:"2"`
}
