package batchv1

import "github.com/coracle-project/coracle/scheme/api/corev1"

// PodFailurePolicy tells what failures of pods mean to their job.
type PodFailurePolicy struct {
	// At most 20 rules; the first that a failure matches applies. A failure that matches none
	// counts towards backoffLimit.
	Rules []PodFailurePolicyRule `json:"rules" pb:"1" list:"atomic"`
}

// PodFailurePolicyRule tells what the failures of one sort mean. It has either onExitCodes or
// onPodConditions.
type PodFailurePolicyRule struct {
	// What such a failure means: Count (it counts towards backoffLimit), Ignore (it does not),
	// FailIndex (its index has failed) or FailJob (the job has).
	Action PodFailurePolicyAction `json:"action" pb:"1" enum:"Count,FailIndex,FailJob,Ignore"`
	// Failures with certain exit codes.
	OnExitCodes *PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty" pb:"2"`
	// Failures of pods with any of at most 20 conditions.
	OnPodConditions []PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty" pb:"3" list:"atomic"`
}

// PodFailurePolicyAction is what a failure of a pod means to its job.
type PodFailurePolicyAction string

// What a failure of a pod means to its job.
const (
	PodFailurePolicyActionCount     PodFailurePolicyAction = "Count"     // it counts towards backoffLimit
	PodFailurePolicyActionFailIndex PodFailurePolicyAction = "FailIndex" // its index has failed
	PodFailurePolicyActionFailJob   PodFailurePolicyAction = "FailJob"   // the job has failed
	PodFailurePolicyActionIgnore    PodFailurePolicyAction = "Ignore"    // nothing
)

// PodFailurePolicyOnExitCodesRequirement matches failures by the exit codes of containers. Those
// that have succeeded are not looked at.
type PodFailurePolicyOnExitCodesRequirement struct {
	// Name of a container or init container of the template; all by default.
	ContainerName *string `json:"containerName,omitempty" pb:"1"`
	// Whether the exit code is one of values (In) or none of them (NotIn).
	Operator PodFailurePolicyOnExitCodesOperator `json:"operator" pb:"2" enum:"In,NotIn"`
	// 1 to 255 different exit codes in order; 0 is none for In.
	Values []int32 `json:"values" pb:"3" list:"set"`
}

// PodFailurePolicyOnExitCodesOperator relates an exit code to values.
type PodFailurePolicyOnExitCodesOperator string

// How an exit code relates to values.
const (
	PodFailurePolicyOnExitCodesOpIn    PodFailurePolicyOnExitCodesOperator = "In"
	PodFailurePolicyOnExitCodesOpNotIn PodFailurePolicyOnExitCodesOperator = "NotIn"
)

// PodFailurePolicyOnPodConditionsPattern matches a condition of a pod.
type PodFailurePolicyOnPodConditionsPattern struct {
	// Type of the condition, such as DisruptionTarget.
	Type corev1.PodConditionType `json:"type" pb:"1"`
	// Status of the condition: True (the default), False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2" check:"optional"`
}

// SuccessPolicy tells when an indexed job has succeeded.
type SuccessPolicy struct {
	// 1 to 20 rules; the job has succeeded as soon as it keeps one of them. Its other pods are
	// stopped then.
	Rules []SuccessPolicyRule `json:"rules" pb:"1" list:"atomic"`
}

// SuccessPolicyRule tells which indexes must succeed. At least one of its fields is set.
type SuccessPolicyRule struct {
	// Indexes that count, as numbers and ranges in order, such as 1,3-5,7; all by default.
	SucceededIndexes *string `json:"succeededIndexes,omitempty" pb:"1"`
	// How many of those must succeed; all by default.
	SucceededCount *int32 `json:"succeededCount,omitempty" pb:"2"`
}
