package admissionregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// ParamKind is the kind of the objects that hold the parameters of a policy.
type ParamKind struct {
	_ struct{} `struct:"atomic"`
	// Group and version of the kind, such as "rules.example.com/v1". Required.
	APIVersion string `json:"apiVersion,omitempty" pb:"1"`
	// The kind. Required.
	Kind string `json:"kind,omitempty" pb:"2"`
}

// ParamRef names the parameters of a policy: one object by its name, or all objects that a selector
// selects. The policy is evaluated once for each of the objects.
type ParamRef struct {
	_ struct{} `struct:"atomic"`
	// Name of the object; excludes selector, and is required without it.
	Name string `json:"name,omitempty" pb:"1"`
	// Namespace of the objects. If it is empty and the kind is in namespaces, the one of the
	// request is meant. Kinds that are in no namespace must have none.
	Namespace string `json:"namespace,omitempty" pb:"2"`
	// Labels of the objects; empty selects all.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"3"`
	// What becomes of a request if there is no such object: Allow goes by the policy as if it were
	// met, Deny by its failurePolicy. Required.
	ParameterNotFoundAction *ParameterNotFoundActionType `json:"parameterNotFoundAction,omitempty" pb:"4"`
}

// ParameterNotFoundActionType tells what becomes of a request without parameters.
type ParameterNotFoundActionType string

// Values of ParameterNotFoundActionType.
const (
	AllowAction ParameterNotFoundActionType = "Allow"
	DenyAction  ParameterNotFoundActionType = "Deny"
)

// Variable is a value that expressions know by its name.
type Variable struct {
	_ struct{} `struct:"atomic"`
	// Name of the variable, unique in the policy: an identifier of CEL.
	Name string `json:"name" pb:"1"`
	// A CEL expression for the value. It knows what the expressions of the policy know, and the
	// variables before it.
	Expression string `json:"expression" pb:"2"`
}
