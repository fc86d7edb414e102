package coordinationv1

import "github.com/coracle-project/coracle/scheme/meta"

// CoordinatedLeaseStrategy ...
type CoordinatedLeaseStrategy string

// Lease ...
type Lease struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            LeaseSpec `json:"spec,omitempty" pb:"2"`
}

// LeaseSpec ...
type LeaseSpec struct {
	HolderIdentity       *string                   `json:"holderIdentity,omitempty" pb:"1"`
	LeaseDurationSeconds *int32                    `json:"leaseDurationSeconds,omitempty" pb:"2"`
	AcquireTime          *meta.MicroTime           `json:"acquireTime,omitempty" pb:"3"`
	RenewTime            *meta.MicroTime           `json:"renewTime,omitempty" pb:"4"`
	LeaseTransitions     *int32                    `json:"leaseTransitions,omitempty" pb:"5"`
	Strategy             *CoordinatedLeaseStrategy `json:"strategy,omitempty" pb:"6"`
	PreferredHolder      *string                   `json:"preferredHolder,omitempty" pb:"7"`
}

// LeaseList ...
type LeaseList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Lease `json:"items" pb:"2"`
}
