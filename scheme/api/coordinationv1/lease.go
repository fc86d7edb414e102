package coordinationv1

import "github.com/coracle-project/coracle/scheme/meta"

// CoordinatedLeaseStrategy tells how the leader of a coordinated election is picked.
type CoordinatedLeaseStrategy string

// OldestEmulationVersion picks the candidate with the oldest emulation version, then binary
// version, then age.
const OldestEmulationVersion CoordinatedLeaseStrategy = "OldestEmulationVersion"

// Lease is held by one party at a time, which renews it to stay its holder.
type Lease struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Who holds the lease, and until when.
	Spec LeaseSpec `json:"spec,omitempty" pb:"2"`
}

// LeaseSpec tells who holds a lease, and until when.
type LeaseSpec struct {
	// Who holds the lease, by a name that holders choose; empty if nobody does.
	HolderIdentity *string `json:"holderIdentity,omitempty" pb:"1"`
	// Seconds after renewTime for which others must wait before they take the lease; above 0.
	LeaseDurationSeconds *int32 `json:"leaseDurationSeconds,omitempty" pb:"2"`
	// When the holder took the lease.
	AcquireTime *meta.MicroTime `json:"acquireTime,omitempty" pb:"3"`
	// When the holder last renewed the lease.
	RenewTime *meta.MicroTime `json:"renewTime,omitempty" pb:"4"`
	// How often the lease has changed hands.
	LeaseTransitions *int32 `json:"leaseTransitions,omitempty" pb:"5"`
	// How the leader of a coordinated election is picked; unset if the election is not coordinated.
	Strategy *CoordinatedLeaseStrategy `json:"strategy,omitempty" pb:"6"`
	// Asks the holder to give the lease to this candidate; needs strategy.
	PreferredHolder *string `json:"preferredHolder,omitempty" pb:"7"`
}

// LeaseList is a list of leases.
type LeaseList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Lease `json:"items" pb:"2"`
}
