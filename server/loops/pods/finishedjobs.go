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

// FinishedJobs is the loop that deletes a finished job when spec.ttlSecondsAfterFinished is over
// (KEP-592). It deletes the job with the propagation policy Foreground, so the garbage collector
// deletes the pods of the job first. The time begins with the job's condition Complete or Failed,
// and is measured by the clock of this server.
type FinishedJobs struct {
	// Informers are the informers of the run, with the client that the loop uses.
	Informers *controller.Informers
	// Log gets a line for each failure.
	Log *zap.Logger
}

// finishedJobsWorkers is the number of jobs that are worked on at once
// (--concurrent-ttl-after-finished-syncs of kube-controller-manager, with its default).
const finishedJobsWorkers = 5

// finishedJob is the part that the Informer keeps of a job that will be deleted. It keeps nothing
// of other jobs.
type finishedJob struct {
	Expires time.Time // when the job may be deleted
}

// newFinishedJob returns nil for a job that has not finished, has no ttlSecondsAfterFinished, or is
// being deleted.
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

// Run deletes jobs until ctx ends, and returns when the work under way has ended.
func (c *FinishedJobs) Run(ctx context.Context) {
	jobs := controller.InformerOf(c.Informers, jobsResource, newFinishedJob)
	controller.Loop{
		Name:   "ttl_jobs_to_delete",
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

// delete reads a job and deletes it if its time is over. If somebody has raised
// ttlSecondsAfterFinished meanwhile, delete returns the time that is left.
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
