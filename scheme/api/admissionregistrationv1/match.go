package admissionregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// Rule describes requests by what they are for.
type Rule struct {
	// API groups, "" being the core group; or "*" alone for all.
	APIGroups []string `json:"apiGroups,omitempty" pb:"1" list:"atomic"`
	// API versions; or "*" alone for all.
	APIVersions []string `json:"apiVersions,omitempty" pb:"2" list:"atomic"`
	// Resources, such as "pods", and subresources, such as "pods/log". "*" stands for all
	// resources, "pods/*" for all subresources of pods, "*/scale" for the subresource of all
	// resources, and "*/*" alone for all of both.
	Resources []string `json:"resources,omitempty" pb:"3" list:"atomic"`
	// Which objects: Cluster for those that are in no namespace, Namespaced for those that are in
	// one, and * (the default) for all. Namespaces themselves are in none.
	Scope *ScopeType `json:"scope,omitempty" pb:"4" enum:"*,Cluster,Namespaced"`
}

// ScopeType tells whether a rule is for objects in namespaces, for other objects, or for both.
type ScopeType string

// Values of ScopeType.
const (
	ClusterScope    ScopeType = "Cluster"
	NamespacedScope ScopeType = "Namespaced"
	AllScopes       ScopeType = "*"
)

// RuleWithOperations describes requests by what they do, and what they are for.
type RuleWithOperations struct {
	// What the request does: CREATE, UPDATE, DELETE, CONNECT; or * alone for all.
	Operations []OperationType `json:"operations,omitempty" pb:"1" itemEnum:"*,CONNECT,CREATE,DELETE,UPDATE" list:"atomic"`
	// What the request is for.
	Rule `json:",inline" pb:"2"`
}

// OperationType is what a request does.
type OperationType string

// Values of OperationType.
const (
	OperationAll OperationType = "*"
	Create       OperationType = "CREATE"
	Update       OperationType = "UPDATE"
	Delete       OperationType = "DELETE"
	Connect      OperationType = "CONNECT"
)

// NamedRuleWithOperations is a rule that may be for certain objects only.
type NamedRuleWithOperations struct {
	_ struct{} `struct:"atomic"`
	// Names of the objects; all if empty.
	ResourceNames []string `json:"resourceNames,omitempty" pb:"1" list:"atomic"`
	// What the request does, and what it is for.
	RuleWithOperations `json:",inline" pb:"2"`
}

// MatchResources selects the requests that a policy, or a binding, is for.
type MatchResources struct {
	_ struct{} `struct:"atomic"`
	// Labels of the object's namespace, or of the object if it is a namespace. What is in no
	// namespace is always selected. Empty, the default, selects all.
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"1"`
	// Labels of the object, or of the one that is to be replaced: one of them must be selected.
	// Empty, the default, selects all. Whoever writes an object can evade this.
	ObjectSelector *meta.LabelSelector `json:"objectSelector,omitempty" pb:"2"`
	// Requests of which one must match.
	ResourceRules []NamedRuleWithOperations `json:"resourceRules,omitempty" pb:"3" list:"atomic"`
	// Requests of which none may match.
	ExcludeResourceRules []NamedRuleWithOperations `json:"excludeResourceRules,omitempty" pb:"4" list:"atomic"`
	// Whether a request for the same object in another version or group matches, too (Equivalent,
	// the default), or not (Exact).
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" pb:"7" enum:"Equivalent,Exact"`
}

// MatchPolicyType tells how closely a request must match a rule.
type MatchPolicyType string

// Values of MatchPolicyType.
const (
	Exact      MatchPolicyType = "Exact"
	Equivalent MatchPolicyType = "Equivalent"
)

// MatchCondition is a condition that a request must meet, beside the rules.
type MatchCondition struct {
	// Name of the condition, unique in its list: a qualified name, such as
	// "example.com/not-kubelet".
	Name string `json:"name" pb:"1"`
	// A CEL expression that is true if the condition is met. It knows object, oldObject, request
	// and authorizer, and in a policy with parameters params.
	Expression string `json:"expression" pb:"2"`
}

// FailurePolicyType tells what becomes of a request if a webhook or a policy fails to judge it.
type FailurePolicyType string

// Values of FailurePolicyType.
const (
	Ignore FailurePolicyType = "Ignore" // it is let pass
	Fail   FailurePolicyType = "Fail"   // it is refused
)

// ReinvocationPolicyType tells whether a mutation is repeated in the same request.
type ReinvocationPolicyType string

// Values of ReinvocationPolicyType.
const (
	NeverReinvocationPolicy    ReinvocationPolicyType = "Never"
	IfNeededReinvocationPolicy ReinvocationPolicyType = "IfNeeded" // if others changed the object afterwards
)
