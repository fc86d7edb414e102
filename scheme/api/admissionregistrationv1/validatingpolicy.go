package admissionregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// ValidatingAdmissionPolicy says by expressions which requests are refused, once a binding puts it
// into effect.
type ValidatingAdmissionPolicy struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The policy.
	Spec ValidatingAdmissionPolicySpec `json:"spec,omitempty" pb:"2"`
	// What was found out about the policy. Written by the server.
	Status ValidatingAdmissionPolicyStatus `json:"status,omitempty" pb:"3"`
}

// ValidatingAdmissionPolicyList is a list of validating policies.
type ValidatingAdmissionPolicyList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The policies.
	Items []ValidatingAdmissionPolicy `json:"items" pb:"2"`
}

// ValidatingAdmissionPolicySpec is what a validating policy says. It has a validation or an audit
// annotation.
type ValidatingAdmissionPolicySpec struct {
	// Kind of the objects that hold parameters; the policy takes none if it is not set.
	ParamKind *ParamKind `json:"paramKind,omitempty" pb:"1"`
	// Requests that the policy is for; at least one rule is required.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" pb:"2"`
	// What must hold for a request.
	Validations []Validation `json:"validations,omitempty" pb:"3" list:"atomic"`
	// What becomes of a request if an expression fails, or a parameter is missing: Fail (the
	// default) refuses it, Ignore lets it pass.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" pb:"4" enum:"Fail,Ignore"`
	// What is noted of a request in its audit event; at most 20.
	AuditAnnotations []AuditAnnotation `json:"auditAnnotations,omitempty" pb:"5" list:"atomic"`
	// Conditions that the request must meet, all of them; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" pb:"6" list:"map,key=name" patch:"merge,key=name"`
	// Values that the other expressions, but for match conditions, know as variables.<name>. One
	// may use those before it.
	Variables []Variable `json:"variables,omitempty" pb:"7" list:"map,key=name" patch:"merge,key=name"`
}

// Validation is something that must hold for a request.
type Validation struct {
	// A CEL expression that is true if the request may pass. It knows object, oldObject, request,
	// params, namespaceObject, variables and authorizer.
	Expression string `json:"expression" pb:"1"`
	// What a client is told if the request is refused, in one line. By default it is told the
	// expression.
	Message string `json:"message,omitempty" pb:"2"`
	// The reason of the refusal: Forbidden, Invalid (the default) or RequestEntityTooLarge.
	Reason *meta.StatusReason `json:"reason,omitempty" pb:"3"`
	// A CEL expression for what a client is told, in place of message. It must not use authorizer.
	MessageExpression string `json:"messageExpression,omitempty" pb:"4"`
}

// AuditAnnotation is an annotation for the audit event of a request.
type AuditAnnotation struct {
	// Key of the annotation, unique in the policy. In the event the name of the policy and a slash
	// stand before it.
	Key string `json:"key" pb:"1"`
	// A CEL expression for the value: a string, or null for no annotation. At most 5 KiB; of its
	// value 10 KiB are kept.
	ValueExpression string `json:"valueExpression" pb:"2"`
}

// ValidatingAdmissionPolicyStatus is the observed state of a validating policy.
type ValidatingAdmissionPolicyStatus struct {
	// The generation of the policy that was looked at.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"1"`
	// What the types of the selected resources say about the expressions.
	TypeChecking *TypeChecking `json:"typeChecking,omitempty" pb:"2"`
	// Aspects of the state.
	Conditions []meta.Condition `json:"conditions,omitempty" pb:"3" list:"map,key=type"`
}

// TypeChecking is the result of checking the types in the expressions of a policy.
type TypeChecking struct {
	// Expressions that may fail.
	ExpressionWarnings []ExpressionWarning `json:"expressionWarnings,omitempty" pb:"1" list:"atomic"`
}

// ExpressionWarning tells why an expression may fail.
type ExpressionWarning struct {
	// Where the expression stands, as a JSONPath, such as spec.validations[0].expression.
	FieldRef string `json:"fieldRef" pb:"2"`
	// What was found, for people; a paragraph for each type.
	Warning string `json:"warning" pb:"3"`
}

// ValidatingAdmissionPolicyBinding puts a validating policy into effect. Each binding judges by
// itself.
type ValidatingAdmissionPolicyBinding struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The binding.
	Spec ValidatingAdmissionPolicyBindingSpec `json:"spec,omitempty" pb:"2" check:"listed"`
}

// ValidatingAdmissionPolicyBindingList is a list of bindings of validating policies.
type ValidatingAdmissionPolicyBindingList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The bindings.
	Items []ValidatingAdmissionPolicyBinding `json:"items" pb:"2"`
}

// ValidatingAdmissionPolicyBindingSpec is what a binding of a validating policy says.
type ValidatingAdmissionPolicyBindingSpec struct {
	// Name of the policy. If there is none the binding has no effect.
	PolicyName string `json:"policyName,omitempty" pb:"1" check:"listed"`
	// Where the parameters of the policy are.
	ParamRef *ParamRef `json:"paramRef,omitempty" pb:"2"`
	// Which of the requests that the policy is for the binding is for; all if not set. A rule here
	// need not name operations that the policy does not.
	MatchResources *MatchResources `json:"matchResources,omitempty" pb:"3"`
	// What follows if a request does not hold: Deny refuses it, Warn warns the client, Audit adds
	// to the audit event. Deny and Warn exclude each other.
	ValidationActions []ValidationAction `json:"validationActions,omitempty" pb:"4" check:"listed" itemEnum:"Audit,Deny,Warn" list:"set"`
}

// ValidationAction is what follows if a validation fails for a request.
type ValidationAction string

// Values of ValidationAction.
const (
	Deny  ValidationAction = "Deny"
	Warn  ValidationAction = "Warn"
	Audit ValidationAction = "Audit"
)
