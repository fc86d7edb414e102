package networkingv1

import "github.com/coracle-project/coracle/scheme/meta"

// Conditions of ServiceCIDRs, and reasons.
const (
	ServiceCIDRConditionReady    = "Ready" // addresses are taken from the ranges
	ServiceCIDRReasonTerminating = "Terminating"
)

// ServiceCIDR holds ranges that the cluster IPs of services are taken from.
type ServiceCIDR struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The ranges.
	Spec ServiceCIDRSpec `json:"spec,omitempty" pb:"2"`
	// Whether they are used.
	Status ServiceCIDRStatus `json:"status,omitempty" pb:"3"`
}

// ServiceCIDRSpec holds the ranges.
type ServiceCIDRSpec struct {
	// One range such as "10.96.0.0/12" or "2001:db8::/64", or two of different families. They
	// cannot be changed, but a second one may be added.
	CIDRs []string `json:"cidrs,omitempty" pb:"1" list:"atomic"`
}

// ServiceCIDRStatus tells whether the ranges are used.
type ServiceCIDRStatus struct {
	// Aspects of the state, one for each type. Ready: addresses are taken from the ranges.
	Conditions []meta.Condition `json:"conditions,omitempty" pb:"1" list:"map,key=type" patch:"merge,key=type"`
}

// ServiceCIDRList is a list of ranges for services.
type ServiceCIDRList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ServiceCIDR `json:"items" pb:"2"`
}
