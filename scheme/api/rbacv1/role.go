package rbacv1

import "github.com/coracle-project/coracle/scheme/meta"

// PolicyRule allows some verbs on resources, or on paths that are no resources, not both.
type PolicyRule struct {
	// What may be done, such as get or create; "*" is everything.
	Verbs []string `json:"verbs" pb:"1" list:"atomic"`
	// API groups of the resources; "" is the core group, "*" is all.
	APIGroups []string `json:"apiGroups,omitempty" pb:"2" list:"atomic"`
	// The resources, such as pods or pods/status; "*" is all.
	Resources []string `json:"resources,omitempty" pb:"3" list:"atomic"`
	// Names of the objects; empty means all.
	ResourceNames []string `json:"resourceNames,omitempty" pb:"4" list:"atomic"`
	// Paths that are no resources, such as /metrics; a * at the end stands for any rest. Only in
	// cluster roles, whose rights hold for the cluster by a cluster role binding.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" pb:"5" list:"atomic"`
}

// Role is a list of rights in a namespace.
type Role struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The rights, which add up.
	Rules []PolicyRule `json:"rules" pb:"2" check:"optional" list:"atomic"`
}

// RoleList is a list of roles.
type RoleList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Role `json:"items" pb:"2"`
}

// ClusterRole is a list of rights that hold in the whole cluster or in a namespace, as the binding
// decides.
type ClusterRole struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The rights, which add up.
	Rules []PolicyRule `json:"rules" pb:"2" check:"optional" list:"atomic"`
	// Makes a controller fill in rules from other cluster roles; it overwrites what stands there.
	AggregationRule *AggregationRule `json:"aggregationRule,omitempty" pb:"3"`
}

// AggregationRule selects the cluster roles whose rules make up another cluster role.
type AggregationRule struct {
	// Labels of the cluster roles: those count that one of the selectors selects. At least one.
	ClusterRoleSelectors []meta.LabelSelector `json:"clusterRoleSelectors,omitempty" pb:"1" list:"atomic"`
}

// ClusterRoleList is a list of cluster roles.
type ClusterRoleList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ClusterRole `json:"items" pb:"2"`
}
