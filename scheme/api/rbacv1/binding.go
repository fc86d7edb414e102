package rbacv1

import "github.com/coracle-project/coracle/scheme/meta"

// Subject is who a binding gives rights to.
type Subject struct {
	_ struct{} `struct:"atomic"`

	// User, Group or ServiceAccount.
	Kind string `json:"kind" pb:"1"`
	// API group of the kind: rbac.authorization.k8s.io, the default, for users and groups, empty
	// for service accounts.
	APIGroup string `json:"apiGroup,omitempty" pb:"2"`
	// Name of the user, group or service account.
	Name string `json:"name" pb:"3"`
	// Namespace of a service account; users and groups have none. Role bindings may leave it out
	// for their own namespace.
	Namespace string `json:"namespace,omitempty" pb:"4"`
}

// Kinds of subjects.
const (
	UserKind           = "User"
	GroupKind          = "Group"
	ServiceAccountKind = "ServiceAccount"
)

// RoleRef names the role of a binding.
type RoleRef struct {
	_ struct{} `struct:"atomic"`

	// API group of the role: rbac.authorization.k8s.io, which is the default.
	APIGroup string `json:"apiGroup" pb:"1" check:"optional"`
	// Role or ClusterRole; cluster role bindings need ClusterRole.
	Kind string `json:"kind" pb:"2"`
	// Name of the role.
	Name string `json:"name" pb:"3"`
}

// RoleBinding gives the rights of a role, or those of a cluster role, in its namespace.
type RoleBinding struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Who gets the rights.
	Subjects []Subject `json:"subjects,omitempty" pb:"2" list:"atomic"`
	// A role in the same namespace, or a cluster role. It cannot be changed.
	RoleRef RoleRef `json:"roleRef" pb:"3"`
}

// RoleBindingList is a list of role bindings.
type RoleBindingList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []RoleBinding `json:"items" pb:"2"`
}

// ClusterRoleBinding gives the rights of a cluster role in the whole cluster.
type ClusterRoleBinding struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Who gets the rights.
	Subjects []Subject `json:"subjects,omitempty" pb:"2" list:"atomic"`
	// The cluster role. It cannot be changed.
	RoleRef RoleRef `json:"roleRef" pb:"3"`
}

// ClusterRoleBindingList is a list of cluster role bindings.
type ClusterRoleBindingList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ClusterRoleBinding `json:"items" pb:"2"`
}
