package networkingv1

import "github.com/coracle-project/coracle/scheme/meta"

// Labels of IPAddresses.
const (
	LabelIPAddressFamily = "ipaddress.kubernetes.io/ip-family"  // IPv4 or IPv6
	LabelManagedBy       = "ipaddress.kubernetes.io/managed-by" // who looks after the object
)

// IPAddress says who has an address. Its name is the address, in canonical form.
type IPAddress struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Who has the address.
	Spec IPAddressSpec `json:"spec,omitempty" pb:"2" check:"listed"`
}

// IPAddressSpec says who has an address.
type IPAddressSpec struct {
	// The object that has the address. It cannot be changed.
	ParentRef *ParentReference `json:"parentRef,omitempty" pb:"1" check:"listed"`
}

// ParentReference names an object.
type ParentReference struct {
	// API group of the object; empty is the core group.
	Group string `json:"group,omitempty" pb:"1"`
	// Resource that it is one of, such as "services".
	Resource string `json:"resource,omitempty" pb:"2" check:"listed"`
	// Namespace of the object, if it has one.
	Namespace string `json:"namespace,omitempty" pb:"3"`
	// Name of the object that has the address.
	Name string `json:"name,omitempty" pb:"4" check:"listed"`
}

// IPAddressList is a list of addresses.
type IPAddressList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []IPAddress `json:"items" pb:"2"`
}
