package pods_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// TestFinishedJobs checks when jobs are deleted that have finished, have not finished, or have no
// ttlSecondsAfterFinished.
func TestFinishedJobs(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&pods.FinishedJobs{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		jobs := looptest.InGroup[*batchv1.Job](w, batchv1.GroupVersion.WithResource("jobs"))
		job := func(name string, ttl *int32, ended batchv1.JobConditionType, finalizers ...string) {
			t.Helper()
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
			obj := &batchv1.Job{
				ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers},
				Spec:       batchv1.JobSpec{TTLSecondsAfterFinished: ttl, Template: template},
			}
			looptest.Make(w, jobs, obj, func(j *batchv1.Job) {
				now := meta.Now()
				j.Status.StartTime = &now
				switch ended {
				case batchv1.JobComplete:
					j.Status.CompletionTime = &now
					j.Status.Conditions = []batchv1.JobCondition{
						{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
						{Type: ended, Status: corev1.ConditionTrue, LastTransitionTime: now},
					}
				case batchv1.JobFailed:
					j.Status.Conditions = []batchv1.JobCondition{
						{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now},
						{Type: ended, Status: corev1.ConditionTrue, LastTransitionTime: now},
					}
				}
			})
		}
		wait := func(d time.Duration, want string) {
			t.Helper()
			w.Sleep(d)
			if got := looptest.Names(w, jobs); got != want {
				t.Errorf("after %v: got %q, want %q", time.Since(w.Begun), got, want)
			}
		}
		job("at-once", new(int32(0)), batchv1.JobComplete)
		job("failed", new(int32(10)), batchv1.JobFailed)
		job("for-ever", nil, batchv1.JobComplete)
		job("later", new(int32(20)), batchv1.JobComplete)
		job("runs", new(int32(0)), "")
		wait(time.Second, "at-once- failed for-ever later runs") // another controller removes the finalizer
		wait(10*time.Second, "at-once- failed- for-ever later runs")
		if _, err := jobs.Patch(t.Context(), "later", client.MergePatch, []byte(`{"spec":{"ttlSecondsAfterFinished":60}}`), meta.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		wait(40*time.Second, "at-once- failed- for-ever later runs")
		wait(10*time.Second, "at-once- failed- for-ever later- runs")
		if j, err := jobs.Get(t.Context(), "later", meta.GetOptions{}); err != nil || len(j.Finalizers) != 1 || j.Finalizers[0] != "foregroundDeletion" {
			t.Errorf("got %+v, %v, want what it owns to go first", j, err)
		}
	})
}
