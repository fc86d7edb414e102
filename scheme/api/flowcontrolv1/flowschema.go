package flowcontrolv1

import "github.com/coracle-project/coracle/scheme/meta"

// Names of flow schemas and priority levels that every cluster has. NameExempt is for requests that
// never wait, NameCatchAll for requests that no other schema matches.
const (
	NameExempt   = "exempt"
	NameCatchAll = "catch-all"
)

// All matches everything in a list of verbs, groups, resources, namespaces or paths, and as the
// name of an account.
const All = "*"

// FlowSchema assigns the requests that it matches to one priority level.
type FlowSchema struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which requests, and how they are served.
	Spec FlowSchemaSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of the schema.
	Status FlowSchemaStatus `json:"status,omitempty" pb:"3"`
}

// FlowSchemaSpec tells which requests are served at which priority level.
type FlowSchemaSpec struct {
	// The priority level.
	PriorityLevelConfiguration PriorityLevelConfigurationReference `json:"priorityLevelConfiguration" pb:"1"`
	// Of several schemas about a request, the one with the lowest number counts: 1 to 10000, 1000
	// by default. Only the schema "exempt" may have 1.
	MatchingPrecedence int32 `json:"matchingPrecedence" pb:"2" check:"optional"`
	// How the requests are divided into flows, which get equal shares; unset: they are one flow.
	DistinguisherMethod *FlowDistinguisherMethod `json:"distinguisherMethod,omitempty" pb:"3"`
	// Which requests the schema is about: those that one of the rules matches; none if empty.
	Rules []PolicyRulesWithSubjects `json:"rules,omitempty" pb:"4" list:"atomic"`
}

// MaxMatchingPrecedence is the highest number that a schema may have.
const MaxMatchingPrecedence = 10000

// PriorityLevelConfigurationReference names a priority level.
type PriorityLevelConfigurationReference struct {
	// The priority level, by its name.
	Name string `json:"name" pb:"1"`
}

// FlowDistinguisherMethod tells how requests are divided into flows.
type FlowDistinguisherMethod struct {
	// A flow for each user (ByUser) or for each namespace (ByNamespace).
	Type FlowDistinguisherMethodType `json:"type" pb:"1"`
}

// FlowDistinguisherMethodType tells what the requests of a flow have in common.
type FlowDistinguisherMethodType string

// What the requests of a flow have in common.
const (
	FlowDistinguisherMethodByUserType      FlowDistinguisherMethodType = "ByUser"      // who sends them
	FlowDistinguisherMethodByNamespaceType FlowDistinguisherMethodType = "ByNamespace" // the namespace of the object
)

// PolicyRulesWithSubjects matches a request if one of the subjects sends it and one of the other
// rules matches it. There is at least one other rule.
type PolicyRulesWithSubjects struct {
	// Who sends the requests; at least one.
	Subjects []Subject `json:"subjects" pb:"1" list:"atomic"`
	// Requests for resources.
	ResourceRules []ResourcePolicyRule `json:"resourceRules,omitempty" pb:"2" list:"atomic"`
	// Requests for paths that are no resources.
	NonResourceRules []NonResourcePolicyRule `json:"nonResourceRules,omitempty" pb:"3" list:"atomic"`
}

// Subject is who sends requests: a user, a group or a service account, as kind says.
type Subject struct {
	// User, Group or ServiceAccount: which of the other fields is set.
	Kind SubjectKind `json:"kind" pb:"1" union:"discriminator"`
	// The user; required for the kind User, else it must be unset.
	User *UserSubject `json:"user,omitempty" pb:"2" union:"member"`
	// The group; required for the kind Group, else it must be unset.
	Group *GroupSubject `json:"group,omitempty" pb:"3" union:"member"`
	// The service account; required for the kind ServiceAccount, else it must be unset.
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty" pb:"4" union:"member"`
}

// SubjectKind tells what a subject is.
type SubjectKind string

// What a subject is.
const (
	SubjectKindUser           SubjectKind = "User"
	SubjectKindGroup          SubjectKind = "Group"
	SubjectKindServiceAccount SubjectKind = "ServiceAccount"
)

// UserSubject names a user.
type UserSubject struct {
	// Name of the user; "*" is everyone.
	Name string `json:"name" pb:"1"`
}

// GroupSubject names a group of users.
type GroupSubject struct {
	// Name of the group; "*" is every group.
	Name string `json:"name" pb:"1"`
}

// ServiceAccountSubject names a service account.
type ServiceAccountSubject struct {
	// Namespace of the account.
	Namespace string `json:"namespace" pb:"1"`
	// Name of the account; "*" is every account of the namespace.
	Name string `json:"name" pb:"2"`
}

// ResourcePolicyRule matches requests for resources.
type ResourcePolicyRule struct {
	// The verbs; "*" alone is all.
	Verbs []string `json:"verbs" pb:"1" list:"set"`
	// The API groups; "*" alone is all.
	APIGroups []string `json:"apiGroups" pb:"2" list:"set"`
	// The resources, such as services or nodes/status; "*" alone is all.
	Resources []string `json:"resources" pb:"3" list:"set"`
	// Whether requests match that name no namespace.
	ClusterScope bool `json:"clusterScope,omitempty" pb:"4"`
	// The namespaces of those that name one; "*" alone is all. It may be empty if clusterScope is
	// true.
	Namespaces []string `json:"namespaces" pb:"5" check:"optional" list:"set"`
}

// NonResourcePolicyRule matches requests for paths that are no resources.
type NonResourcePolicyRule struct {
	// The verbs; "*" alone is all.
	Verbs []string `json:"verbs" pb:"1" list:"set"`
	// The paths, such as /healthz or /metrics/*; "*" alone is all.
	NonResourceURLs []string `json:"nonResourceURLs" pb:"6" list:"set"`
}

// FlowSchemaStatus is what was last seen of a schema.
type FlowSchemaStatus struct {
	// Aspects of the state, one for each type.
	Conditions []FlowSchemaCondition `json:"conditions,omitempty" pb:"1" list:"map,key=type" patch:"merge,key=type"`
}

// FlowSchemaCondition is one aspect of the state of a schema.
type FlowSchemaCondition struct {
	// Name of the aspect: Dangling, if the priority level does not exist.
	Type FlowSchemaConditionType `json:"type,omitempty" pb:"1"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" pb:"2"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why, as one word in CamelCase.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// FlowSchemaConditionType names an aspect of the state of a schema.
type FlowSchemaConditionType string

// FlowSchemaConditionDangling says that the priority level does not exist.
const FlowSchemaConditionDangling FlowSchemaConditionType = "Dangling"

// ConditionStatus is the state of an aspect.
type ConditionStatus string

// States of an aspect.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// FlowSchemaList is a list of flow schemas.
type FlowSchemaList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []FlowSchema `json:"items" pb:"2"`
}
