package batchv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// CronJob makes jobs by a schedule.
type CronJob struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have. The name has at most 52 characters, because
	// those of the jobs are longer.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which jobs are made, and when.
	Spec CronJobSpec `json:"spec,omitempty" pb:"2" check:"required"`
	// What was last seen of them.
	Status CronJobStatus `json:"status,omitempty" pb:"3"`
}

// CronJobSpec tells which jobs are made, and when.
type CronJobSpec struct {
	// The times at which jobs are made: the five fields of cron (minute, hour, day, month,
	// weekday), or a shorthand such as @hourly or @every 1h.
	Schedule string `json:"schedule" pb:"1"`
	// Name of the time zone that the schedule is read in, such as Europe/Berlin; that of the
	// controller by default.
	TimeZone *string `json:"timeZone,omitempty" pb:"8"`
	// Seconds for which a job that could not be made in time is still made. What is later is
	// missed; no limit by default.
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" pb:"2"`
	// What becomes of a job whose time comes while the last one still runs: it runs as well (Allow,
	// the default), is left out (Forbid), or takes the other's place (Replace).
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" pb:"3" enum:"Allow,Forbid,Replace"`
	// No jobs are made while this is true; those that run go on. False by default.
	Suspend *bool `json:"suspend,omitempty" pb:"4"`
	// What the jobs are made from; their selectors are generated.
	JobTemplate JobTemplateSpec `json:"jobTemplate" pb:"5"`
	// How many jobs that have succeeded are kept; 3 by default.
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" pb:"6"`
	// How many jobs that have failed are kept; 1 by default.
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty" pb:"7"`
}

// ConcurrencyPolicy tells what becomes of a job whose time comes while the last one still runs.
type ConcurrencyPolicy string

// What becomes of a job whose time comes while the last one still runs.
const (
	AllowConcurrent   ConcurrencyPolicy = "Allow"   // both run
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"  // it is left out
	ReplaceConcurrent ConcurrencyPolicy = "Replace" // the last one is stopped
)

// CronJobStatus is what was last seen of the jobs of a cron job.
type CronJobStatus struct {
	// Jobs that run.
	Active []corev1.ObjectReference `json:"active,omitempty" pb:"1" list:"atomic"`
	// When a job was last made.
	LastScheduleTime *meta.Time `json:"lastScheduleTime,omitempty" pb:"4"`
	// When a job last succeeded.
	LastSuccessfulTime *meta.Time `json:"lastSuccessfulTime,omitempty" pb:"5"`
}

// CronJobList is a list of cron jobs.
type CronJobList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []CronJob `json:"items" pb:"2"`
}
