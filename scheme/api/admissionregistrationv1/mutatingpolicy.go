package admissionregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// MutatingAdmissionPolicy has expressions that change the objects of requests. It has no effect
// without a binding.
type MutatingAdmissionPolicy struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The policy.
	Spec MutatingAdmissionPolicySpec `json:"spec,omitempty" pb:"2"`
}

// MutatingAdmissionPolicyList is a list of mutating policies.
type MutatingAdmissionPolicyList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The policies.
	Items []MutatingAdmissionPolicy `json:"items" pb:"2"`
}

// MutatingAdmissionPolicySpec is what a mutating policy says.
type MutatingAdmissionPolicySpec struct {
	// Kind of the objects that hold parameters; the policy takes none if it is not set.
	ParamKind *ParamKind `json:"paramKind,omitempty" pb:"1"`
	// Requests that the policy is for; at least one rule is required. None can be for DELETE.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" pb:"2"`
	// Values that the mutations know as variables.<name>. One may use those before it.
	Variables []Variable `json:"variables,omitempty" pb:"3" list:"atomic"`
	// How the object is changed, in order; at least one.
	Mutations []Mutation `json:"mutations,omitempty" pb:"4" list:"atomic"`
	// What becomes of a request if an expression fails, or a parameter is missing: Fail (the
	// default) refuses it, Ignore lets it pass.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" pb:"5" enum:"Fail,Ignore"`
	// Conditions that the request must meet, all of them; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" pb:"6" list:"map,key=name" patch:"merge,key=name"`
	// Whether the mutations are repeated if others change the object after them: IfNeeded or Never.
	// Required.
	ReinvocationPolicy ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" pb:"7" enum:"IfNeeded,Never"`
}

// Mutation is one change of an object.
type Mutation struct {
	// How the change is expressed: ApplyConfiguration or JSONPatch. The field of that name is
	// required, and the other one must not be set.
	PatchType PatchType `json:"patchType" pb:"2" enum:"ApplyConfiguration,JSONPatch"`
	// The change as fields that are merged into the object, as by server-side apply.
	ApplyConfiguration *ApplyConfiguration `json:"applyConfiguration,omitempty" pb:"3"`
	// The change as a JSON patch.
	JSONPatch *JSONPatch `json:"jsonPatch,omitempty" pb:"4"`
}

// PatchType tells how a change is expressed.
type PatchType string

// Values of PatchType.
const (
	PatchTypeApplyConfiguration PatchType = "ApplyConfiguration"
	PatchTypeJSONPatch          PatchType = "JSONPatch"
)

// ApplyConfiguration is a change as fields that are merged into the object.
type ApplyConfiguration struct {
	// A CEL expression for the fields, such as Object{spec: Object.spec{replicas: 1}}. Lists that
	// are atomic cannot be set.
	Expression string `json:"expression,omitempty" pb:"1"`
}

// JSONPatch is a change as a JSON patch.
type JSONPatch struct {
	// A CEL expression for the list of operations, such as [JSONPatch{op: "add", path:
	// "/spec/replicas", value: 1}].
	Expression string `json:"expression,omitempty" pb:"1"`
}

// MutatingAdmissionPolicyBinding puts a mutating policy into effect.
type MutatingAdmissionPolicyBinding struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The binding.
	Spec MutatingAdmissionPolicyBindingSpec `json:"spec,omitempty" pb:"2"`
}

// MutatingAdmissionPolicyBindingList is a list of bindings of mutating policies.
type MutatingAdmissionPolicyBindingList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The bindings.
	Items []MutatingAdmissionPolicyBinding `json:"items" pb:"2"`
}

// MutatingAdmissionPolicyBindingSpec is what a binding of a mutating policy says.
type MutatingAdmissionPolicyBindingSpec struct {
	// Name of the policy. If there is none the binding has no effect.
	PolicyName string `json:"policyName,omitempty" pb:"1"`
	// Where the parameters of the policy are.
	ParamRef *ParamRef `json:"paramRef,omitempty" pb:"2"`
	// Which of the requests that the policy is for the binding is for; all if not set. None can be
	// for DELETE.
	MatchResources *MatchResources `json:"matchResources,omitempty" pb:"3"`
}
