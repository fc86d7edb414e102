package batch

import (
	"fmt"
	"maps"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file declares jobs: their table, the selector and labels that the server generates, and
// warnings. The rules are in the other files that begin with job.

// jobs declares the resource jobs. Generation counts changes of the spec. A client that deletes a
// job and does not say what happens to its pods leaves them running, and is warned of that:
// batch/v1 keeps the default of its first version.
func jobs(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*batchv1.Job]{
		GroupResource: resource("jobs"),
		Kind:          "Job", Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*batchv1.Job]{
			Metadata:                 registry.MetaWhole,
			Prepare:                  prepareJob,
			Validate:                 func(j, old *batchv1.Job) field.ErrorList { return checkJob(rules, j, old) },
			Warnings:                 jobWarnings,
			Canonicalize:             labelJob,
			AllowUnconditionalUpdate: true,
			OrphanByDefault:          true,
			OrphanWarning: "child pods are preserved by default when jobs are deleted; " +
				"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*batchv1.Job]{
			Prepare:  func(_ *registry.Request, j, _ *batchv1.Job) { labelJob(j) },
			Validate: checkJobStatus,
		},
		Fields: []registry.FieldValue{{Label: "status.successful", Path: "status.succeeded", Default: "0"}},
		Table: &registry.TableOf[*batchv1.Job]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "Condition of the job.", 0),
				registry.Column("Completions", "Number of pods that have succeeded and number of pods that must succeed.", 0),
				registry.Column("Duration", "Time from the start of the job to its end, or until now.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: jobCells,
		},
	})
}

// jobCells returns the cells of a job.
func jobCells(j *batchv1.Job, now time.Time) []any {
	names, images := podspec.ContainerCells(j.Spec.Template.Spec.Containers)
	return []any{
		j.Name, statusCell(j), completionsCell(j), durationCell(&j.Status, now), registry.Age(&j.ObjectMeta, now),
		names, images, registry.Selector(j.Spec.Selector),
	}
}

// statusCell returns the state of a job in one word: the first that applies in kube-apiserver's
// order, Running if none does.
func statusCell(j *batchv1.Job) string {
	is := jobStateOf(j)
	switch {
	case is.complete:
		return "Complete"
	case is.failed:
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is.suspended:
		return "Suspended"
	case is.failing:
		return "FailureTarget"
	case is.succeeding:
		return "SuccessCriteriaMet"
	}
	return "Running"
}

// completionsCell returns how many pods have succeeded, of how many. A job without completions ends
// when one pod has succeeded; "of n" tells how many run at once.
func completionsCell(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case scheme.OrZero(j.Spec.Parallelism) > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

// durationCell returns how long a job took, or has taken until now; empty if it has not started.
func durationCell(s *batchv1.JobStatus, now time.Time) string {
	if s.StartTime == nil {
		return ""
	}
	if s.CompletionTime != nil {
		now = s.CompletionTime.Time
	}
	return registry.HumanDuration(now.Sub(s.StartTime.Time))
}

// prepareJob prepares a job before it is checked: it generates the selector of a new one and clears
// fields that are not served.
func prepareJob(_ *registry.Request, j, old *batchv1.Job) {
	if old == nil && !scheme.OrZero(j.Spec.ManualSelector) {
		generateSelector(j)
	}
	podspec.DropDisabledTemplate(j, old, func(j *batchv1.Job) *corev1.PodTemplateSpec { return &j.Spec.Template })
}

// labelJob gives a job without labels those of its template. Defaults do so, too, but before the
// template has its generated labels. It runs right before a job is stored, and when its status is
// written.
func labelJob(j *batchv1.Job) {
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(j.Spec.Template.Labels)
	}
}

// generateSelector makes the selector of a new job: the UID of the job as a label. It sets that
// label and the others of generatedLabels on the template. Labels that the client has chosen
// stay; checkGenerated refuses them if they differ.
func generateSelector(j *batchv1.Job) {
	t := &j.Spec.Template
	if t.Labels == nil {
		t.Labels = make(map[string]string, 4)
	}
	for key, value := range generatedLabels(j) {
		setMissing(t.Labels, key, value)
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &meta.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = make(map[string]string, 1)
	}
	setMissing(j.Spec.Selector.MatchLabels, batchv1.ControllerUIDLabel, string(j.UID))
}

// setMissing sets m[key] unless the key is there.
func setMissing(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// generatedLabels are the labels of the pods of a job with a generated selector: its UID and name,
// with the domain batch.kubernetes.io and, for older clients, without it.
func generatedLabels(j *batchv1.Job) map[string]string {
	uid := string(j.UID)
	return map[string]string{
		batchv1.LegacyControllerUIDLabel: uid, batchv1.LegacyJobNameLabel: j.Name,
		batchv1.ControllerUIDLabel: uid, batchv1.JobNameLabel: j.Name,
	}
}

// jobWarnings warns about the spec of a job that is new or has changed, and about the name of a new
// one.
func jobWarnings(j, old *batchv1.Job) []string {
	p := field.NewPath("spec")
	switch {
	case old == nil:
		return append(podspec.NameWarnings(j.Name), specWarnings(p, &j.Spec)...)
	case j.Generation != old.Generation:
		return specWarnings(p, &j.Spec)
	}
	return nil
}

// specWarnings warns about the spec at p of a job, or of the jobs that a cron job creates.
func specWarnings(p *field.Path, spec *batchv1.JobSpec) []string {
	var warnings []string
	if isIndexed(spec) && scheme.OrZero(spec.Completions) > manyCompletions &&
		scheme.OrZero(spec.Parallelism) > maxParallelismOfMany {
		warnings = append(warnings, p.String()+": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "+
			"than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podspec.TemplateWarnings(p.Child("template"), &spec.Template)...)
}
