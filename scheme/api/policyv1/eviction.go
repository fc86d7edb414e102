package policyv1

import "github.com/coracle-project/coracle/scheme/meta"

// Eviction deletes a pod, if budgets allow that. It is sent, and not stored.
type Eviction struct {
	meta.TypeMeta `json:",inline"`
	// Metadata of the pod, by its name.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// How the pod is deleted.
	DeleteOptions *meta.DeleteOptions `json:"deleteOptions,omitempty" pb:"2"`
}

// DisruptionBudgetCause is the cause that the server names when a budget does not allow an
// eviction.
const DisruptionBudgetCause meta.CauseType = "DisruptionBudget"
