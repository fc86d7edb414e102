package batchv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Job runs pods until enough of them have succeeded.
type Job struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods are run, and when the job is done.
	Spec JobSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status JobStatus `json:"status,omitempty" pb:"3"`
}

// JobSpec tells which pods are run, and when the job is done.
type JobSpec struct {
	// How many pods run at a time at most; 1 by default. There are fewer when less work than that
	// is left.
	Parallelism *int32 `json:"parallelism,omitempty" pb:"1"`
	// How many pods must succeed; 1 by default. Unset beside a parallelism, the success of any pod
	// is that of the job. It can be changed in indexed jobs only, and together with the
	// parallelism.
	Completions *int32 `json:"completions,omitempty" pb:"2"`
	// Seconds that the job may take, from its start on or from when it was resumed; its pods are
	// stopped then, and it has failed.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" pb:"3"`
	// What failures of pods mean to the job. Without it each counts towards backoffLimit. It cannot
	// be changed.
	PodFailurePolicy *PodFailurePolicy `json:"podFailurePolicy,omitempty" pb:"11"`
	// When an indexed job has succeeded. Without it all completions must succeed. It cannot be
	// changed.
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty" pb:"16"`
	// How many pods may fail before the job has failed; 6 by default, and no limit if
	// backoffLimitPerIndex is set.
	BackoffLimit *int32 `json:"backoffLimit,omitempty" pb:"7"`
	// How many pods of one index may fail before the index has failed; only for indexed jobs whose
	// pods never restart. It cannot be changed.
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty" pb:"12"`
	// How many indexes may fail before the job has failed; only beside backoffLimitPerIndex.
	// Without it all indexes are tried. At most the number of completions, and 10000 if there are
	// more than 100000 of those, where it is required.
	MaxFailedIndexes *int32 `json:"maxFailedIndexes,omitempty" pb:"13"`
	// Labels by which the job finds its pods. They are generated unless manualSelector is true, and
	// cannot be changed.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"4"`
	// Whether selector and labels of the template are as the client wants them. Selectors of two
	// jobs that overlap break both; false, the default, has the server choose a selector that is
	// unique.
	ManualSelector *bool `json:"manualSelector,omitempty" pb:"5"`
	// What the pods are made from; their restart policy is Never or OnFailure. While a job is
	// suspended and none of its pods is active, their resources, labels, annotations and what they
	// ask of nodes can be changed.
	Template corev1.PodTemplateSpec `json:"template" pb:"6"`
	// Seconds after its end when the job is deleted, with its pods; 0 for at once. Without it the
	// job stays.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" pb:"8"`
	// Whether each completion has a number, which a pod must succeed for (Indexed), or all are
	// alike (NonIndexed, the default). It cannot be changed.
	CompletionMode *CompletionMode `json:"completionMode,omitempty" pb:"9" enum:"Indexed,NonIndexed"`
	// No pods are made while this is true, and those that are active are deleted. False by default.
	Suspend *bool `json:"suspend,omitempty" pb:"10"`
	// When a pod is replaced: once it is going away or has failed (TerminatingOrFailed, the
	// default), or not before it has failed (Failed, which is the default and all that is allowed
	// beside a podFailurePolicy).
	PodReplacementPolicy *PodReplacementPolicy `json:"podReplacementPolicy,omitempty" pb:"14" enum:"Failed,TerminatingOrFailed"`
	// Controller that works on the job, as a path with a domain of at most 63 characters;
	// kubernetes.io/job-controller or unset is the usual one. It cannot be changed.
	ManagedBy *string `json:"managedBy,omitempty" pb:"15"`
}

// CompletionMode tells whether the completions of a job are all alike or numbered.
type CompletionMode string

// Values of CompletionMode.
const (
	NonIndexedCompletion CompletionMode = "NonIndexed" // all alike
	IndexedCompletion    CompletionMode = "Indexed"    // numbered from 0
)

// PodReplacementPolicy tells when a pod of a job is replaced.
type PodReplacementPolicy string

// When a pod of a job is replaced.
const (
	TerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed" // once it is going away or has failed
	Failed              PodReplacementPolicy = "Failed"              // not before it has failed
)

// Labels of the pods of a job whose selector is generated. The legacy labels are the older names of
// the other two; pods have all four.
const (
	ControllerUIDLabel       = "batch.kubernetes.io/controller-uid"
	JobNameLabel             = "batch.kubernetes.io/job-name"
	LegacyControllerUIDLabel = "controller-uid"
	LegacyJobNameLabel       = "job-name"
)

// JobTemplateSpec describes jobs that somebody makes.
type JobTemplateSpec struct {
	// Labels and annotations of the jobs; the rest of the metadata is not used.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods the jobs run, and when they are done.
	Spec JobSpec `json:"spec,omitempty" pb:"2"`
}

// JobList is a list of jobs.
type JobList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Job `json:"items" pb:"2"`
}
