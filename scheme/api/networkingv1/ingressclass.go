package networkingv1

import "github.com/coracle-project/coracle/scheme/meta"

// IsDefaultIngressClassAnnotation is "true" for the class that ingresses get if they name none.
const IsDefaultIngressClassAnnotation = "ingressclass.kubernetes.io/is-default-class"

// IngressClass tells which controller serves the ingresses that name it.
type IngressClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The controller, and what it should know.
	Spec IngressClassSpec `json:"spec,omitempty" pb:"2"`
}

// IsDefault reports whether the class is marked as the default for ingresses that name no class.
func (c *IngressClass) IsDefault() bool {
	return c.Annotations[IsDefaultIngressClassAnnotation] == "true"
}

// IngressClassSpec tells which controller serves the ingresses of a class, and what it should know.
type IngressClassSpec struct {
	// Name of the controller, a domain and a path such as "acme.io/ingress-controller", at most 250
	// characters. It cannot be changed.
	Controller string `json:"controller,omitempty" pb:"1"`
	// An object with settings for the controller, if it needs any.
	Parameters *IngressClassParametersReference `json:"parameters,omitempty" pb:"2"`
}

// IngressClassParametersReference names an object with settings for a controller.
type IngressClassParametersReference struct {
	// API group of the object; the core group if unset.
	APIGroup *string `json:"apiGroup,omitempty" pb:"1"`
	// Kind of the object.
	Kind string `json:"kind" pb:"2"`
	// Name of the object.
	Name string `json:"name" pb:"3"`
	// Where the object is: Cluster (in no namespace, the default) or Namespace.
	Scope *string `json:"scope" pb:"4" check:"optional"`
	// Namespace of the object; required for the scope Namespace, else it must be unset.
	Namespace *string `json:"namespace,omitempty" pb:"5"`
}

// Where the settings of a class are.
const (
	IngressClassParametersReferenceScopeNamespace = "Namespace"
	IngressClassParametersReferenceScopeCluster   = "Cluster"
)

// IngressClassList is a list of ingress classes.
type IngressClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []IngressClass `json:"items" pb:"2"`
}
