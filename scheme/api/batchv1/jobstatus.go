package batchv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// JobStatus is what was last seen of the pods of a job.
type JobStatus struct {
	// Aspects of the state. A job has finished once Complete or Failed is True, and never goes
	// back.
	Conditions []JobCondition `json:"conditions,omitempty" pb:"1" list:"atomic" patch:"merge,key=type"`
	// When the job was started or last resumed; unset as long as a job that was created suspended
	// has not been started.
	StartTime *meta.Time `json:"startTime,omitempty" pb:"2"`
	// When the job completed; only of jobs that have succeeded.
	CompletionTime *meta.Time `json:"completionTime,omitempty" pb:"3"`
	// Number of pods that have not ended and are not going away; 0 for jobs that have finished.
	Active int32 `json:"active,omitempty" pb:"4"`
	// Number of pods that have succeeded.
	Succeeded int32 `json:"succeeded,omitempty" pb:"5"`
	// Number of pods that have failed; it never falls.
	Failed int32 `json:"failed,omitempty" pb:"6"`
	// Number of pods that are going away and have not ended.
	Terminating *int32 `json:"terminating,omitempty" pb:"11"`
	// Indexes that have succeeded, as numbers and ranges in order, such as 1,3-5,7; only for
	// indexed jobs.
	CompletedIndexes string `json:"completedIndexes,omitempty" pb:"7"`
	// Indexes that have failed, in the form of completedIndexes; only beside backoffLimitPerIndex.
	// None is in both.
	FailedIndexes *string `json:"failedIndexes,omitempty" pb:"10"`
	// Pods that have ended and are not counted yet.
	UncountedTerminatedPods *UncountedTerminatedPods `json:"uncountedTerminatedPods,omitempty" pb:"8"`
	// How many of the active pods are ready; those that are going away do not count.
	Ready *int32 `json:"ready,omitempty" pb:"9"`
}

// UncountedTerminatedPods are the pods of a job that have ended and are not counted yet. Each is
// counted once: it is noted here, loses its finalizer, and moves into the counts.
type UncountedTerminatedPods struct {
	// UIDs of pods that have succeeded.
	Succeeded []meta.UID `json:"succeeded,omitempty" pb:"1" list:"set"`
	// UIDs of pods that have failed.
	Failed []meta.UID `json:"failed,omitempty" pb:"2" list:"set"`
}

// JobConditionType names an aspect of the state of a job.
type JobConditionType string

// Aspects of the state of a job.
const (
	JobSuspended          JobConditionType = "Suspended"          // it is suspended
	JobComplete           JobConditionType = "Complete"           // it has succeeded
	JobFailed             JobConditionType = "Failed"             // it has failed
	JobFailureTarget      JobConditionType = "FailureTarget"      // it is about to fail, once its pods have ended
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet" // it is about to succeed, once its pods have ended
)

// JobCondition is one aspect of the state of a job.
type JobCondition struct {
	// Name of the aspect: Complete, Failed, Suspended, SuccessCriteriaMet, FailureTarget or
	// another.
	Type JobConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When the condition was last looked at.
	LastProbeTime meta.Time `json:"lastProbeTime,omitempty" pb:"3"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"4"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"5"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"6"`
}
