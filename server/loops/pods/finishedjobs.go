package pods

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// FinishedJobs deletes jobs that have a time to live after they have finished, when that is over,
// and what they own before them.
type FinishedJobs struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

// finishedJobsWorkers is how many jobs are deleted at once, as many as in kube-controller-manager.
const finishedJobsWorkers = 5

// finishedJob is what is known of a job that is to be deleted; there is nothing to know of others.
type finishedJob struct {
	Expires time.Time
}

// newFinishedJob returns nil for a job that is not to be deleted, or is being deleted.
func newFinishedJob(j *batchv1.Job) *finishedJob {
	ttl := j.Spec.TTLSecondsAfterFinished
	if ttl == nil || j.DeletionTimestamp != nil {
		return nil
	}
	for _, c := range j.Status.Conditions {
		ended := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		if ended && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return &finishedJob{Expires: c.LastTransitionTime.Add(time.Duration(*ttl) * time.Second)}
		}
	}
	return nil
}

var jobsResource = batchv1.GroupVersion.WithResource("jobs")

// Run works until ctx ends.
func (c *FinishedJobs) Run(ctx context.Context) {
	jobs := controller.InformerOf(c.Informers, jobsResource, newFinishedJob)
	controller.Loop{
		Source: jobs.Own(), Workers: finishedJobsWorkers, Log: c.Log,
		Reconcile: func(ctx context.Context, name controller.Name) (time.Duration, error) {
			job := jobs.Get(name)
			if job == nil {
				return 0, nil
			}
			if left := time.Until(job.Expires); left > 0 {
				return left, nil
			}
			return c.delete(ctx, name)
		},
	}.Run(ctx)
}

// delete deletes a job if its time is over: it may have got more of it meanwhile.
func (c *FinishedJobs) delete(ctx context.Context, name controller.Name) (time.Duration, error) {
	jobs := client.For[*batchv1.Job](c.Informers.Client(), jobsResource).In(name.Namespace)
	job, err := jobs.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	finished := newFinishedJob(job)
	if finished == nil {
		return 0, nil
	}
	if left := time.Until(finished.Expires); left > 0 {
		return left, nil
	}
	foreground := meta.DeletePropagationForeground
	return 0, controller.IgnoreNotFound(jobs.Delete(ctx, name.Name, meta.DeleteOptions{
		PropagationPolicy: &foreground, Preconditions: &meta.Preconditions{UID: &job.UID},
	}))
}
