package batchv1

import (
	"math"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// Defaults of jobs and cron jobs.
const (
	defaultParallelism       = 1
	defaultBackoffLimit      = 6
	defaultSuccessfulHistory = 3
	defaultFailedHistory     = 1
)

// defaultJob gives a job without labels those of its pods: the same map, so that the labels that a
// generated selector adds to the template are the job's, too.
func defaultJob(j *Job) {
	spec := &j.Spec
	if spec.Parallelism == nil {
		scheme.SetPointer(&spec.Completions, defaultParallelism)
	}
	scheme.SetPointer(&spec.Parallelism, defaultParallelism)
	if spec.BackoffLimitPerIndex != nil {
		scheme.SetPointer(&spec.BackoffLimit, math.MaxInt32)
	}
	scheme.SetPointer(&spec.BackoffLimit, defaultBackoffLimit)
	if len(j.Labels) == 0 && spec.Template.Labels != nil {
		j.Labels = spec.Template.Labels
	}
	scheme.SetPointer(&spec.CompletionMode, NonIndexedCompletion)
	scheme.SetPointer(&spec.Suspend, false)
	if spec.PodFailurePolicy != nil {
		scheme.SetPointer(&spec.PodReplacementPolicy, Failed)
	}
	scheme.SetPointer(&spec.PodReplacementPolicy, TerminatingOrFailed)
	scheme.SetPointer(&spec.ManualSelector, false)
}

func defaultCronJob(c *CronJob) {
	spec := &c.Spec
	scheme.SetDefault(&spec.ConcurrencyPolicy, AllowConcurrent)
	scheme.SetPointer(&spec.Suspend, false)
	scheme.SetPointer(&spec.SuccessfulJobsHistoryLimit, defaultSuccessfulHistory)
	scheme.SetPointer(&spec.FailedJobsHistoryLimit, defaultFailedHistory)
}

func defaultConditionPattern(p *PodFailurePolicyOnPodConditionsPattern) {
	scheme.SetDefault(&p.Status, corev1.ConditionTrue)
}
