package flowcontrolv1

import "github.com/coracle-project/coracle/scheme/meta"

// PriorityLevelConfiguration tells how many requests of a priority level are served at once.
type PriorityLevelConfiguration struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// How many, and what the others do.
	Spec PriorityLevelConfigurationSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of the level.
	Status PriorityLevelConfigurationStatus `json:"status,omitempty" pb:"3"`
}

// PriorityLevelConfigurationSpec tells how many requests of a level are served at once.
type PriorityLevelConfigurationSpec struct {
	// Exempt: all are served at once; only the level "exempt" is of this type. Limited: as many as
	// its share of what the server can do.
	Type PriorityLevelEnablement `json:"type" pb:"1" union:"discriminator"`
	// The share; required for the type Limited, else it must be unset.
	Limited *LimitedPriorityLevelConfiguration `json:"limited,omitempty" pb:"2" union:"member"`
	// What the level counts for beside others; it must be unset for the type Limited.
	Exempt *ExemptPriorityLevelConfiguration `json:"exempt,omitempty" pb:"3" union:"member"`
}

// PriorityLevelEnablement tells whether the requests of a level are limited.
type PriorityLevelEnablement string

// Whether requests are limited.
const (
	PriorityLevelEnablementExempt  PriorityLevelEnablement = "Exempt"
	PriorityLevelEnablementLimited PriorityLevelEnablement = "Limited"
)

// LimitedPriorityLevelConfiguration tells how the requests of a level are limited. Levels lend each
// other what they do not use.
type LimitedPriorityLevelConfiguration struct {
	// The level's share of the requests that the server handles at once, in relation to those of
	// other levels; 30 by default.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares" pb:"1" check:"optional"`
	// What happens to requests beyond the limit.
	LimitResponse LimitResponse `json:"limitResponse,omitempty" pb:"2"`
	// How much of its share other levels may use meanwhile, in percent, 0 to 100; 0 by default.
	LendablePercent *int32 `json:"lendablePercent,omitempty" pb:"3"`
	// How much it may use of the shares of others, in percent of its own; without limit if unset.
	BorrowingLimitPercent *int32 `json:"borrowingLimitPercent,omitempty" pb:"4"`
}

// ExemptPriorityLevelConfiguration holds the share of a level whose requests are not limited.
type ExemptPriorityLevelConfiguration struct {
	// The share that is set aside for the level, in relation to those of other levels; 0 by
	// default.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty" pb:"1"`
	// How much of its share other levels may use meanwhile, in percent, 0 to 100; 0 by default.
	LendablePercent *int32 `json:"lendablePercent,omitempty" pb:"2"`
}

// LimitResponse tells what happens to requests beyond the limit.
type LimitResponse struct {
	// Queue: they wait. Reject: they are refused.
	Type LimitResponseType `json:"type" pb:"1" union:"discriminator"`
	// The queues; required for the type Queue, else it must be unset.
	Queuing *QueuingConfiguration `json:"queuing,omitempty" pb:"2" union:"member"`
}

// LimitResponseType tells what happens to requests beyond the limit.
type LimitResponseType string

// What happens to requests beyond the limit.
const (
	LimitResponseTypeQueue  LimitResponseType = "Queue"
	LimitResponseTypeReject LimitResponseType = "Reject"
)

// QueuingConfiguration tells how requests wait. Each flow is dealt a hand of queues; its requests
// wait in the shortest one.
type QueuingConfiguration struct {
	// Number of queues, 1 to 10 million; 64 by default.
	Queues int32 `json:"queues" pb:"1" check:"optional"`
	// Number of queues of one flow, at most all; 8 by default.
	HandSize int32 `json:"handSize" pb:"2" check:"optional"`
	// Number of requests that may wait in one queue; others are refused. 50 by default.
	QueueLengthLimit int32 `json:"queueLengthLimit" pb:"3" check:"optional"`
}

// PriorityLevelConfigurationStatus is what was last seen of a level.
type PriorityLevelConfigurationStatus struct {
	// Aspects of the state, one for each type.
	Conditions []PriorityLevelConfigurationCondition `json:"conditions,omitempty" pb:"1" list:"map,key=type" patch:"merge,key=type"`
}

// PriorityLevelConfigurationCondition is one aspect of the state of a level.
type PriorityLevelConfigurationCondition struct {
	// Name of the aspect; Kubernetes sets none.
	Type PriorityLevelConfigurationConditionType `json:"type,omitempty" pb:"1"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" pb:"2"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why, as one word in CamelCase.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// PriorityLevelConfigurationConditionType names an aspect of the state of a level.
type PriorityLevelConfigurationConditionType string

// PriorityLevelConfigurationList is a list of priority levels.
type PriorityLevelConfigurationList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []PriorityLevelConfiguration `json:"items" pb:"2"`
}
