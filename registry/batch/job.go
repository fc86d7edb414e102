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

// jobs makes the resource jobs. A selector that finds the pods of no other job is generated, unless
// the client insists on its own.
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
				registry.Column("Status", "Whether the job runs, or how it has ended.", 0),
				registry.Column("Completions", "Number of pods that have succeeded, of those that must.", 0),
				registry.Column("Duration", "How long the job has taken so far.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: jobCells,
		},
	})
}

func jobCells(j *batchv1.Job, now time.Time) []any {
	names, images := podspec.ContainerCells(j.Spec.Template.Spec.Containers)
	return []any{
		j.Name, statusCell(j), completionsCell(j), durationCell(&j.Status, now), registry.Age(&j.ObjectMeta, now),
		names, images, registry.Selector(j.Spec.Selector),
	}
}

func statusCell(j *batchv1.Job) string {
	is := stateOf(j)
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

func completionsCell(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case scheme.OrZero(j.Spec.Parallelism) > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func durationCell(s *batchv1.JobStatus, now time.Time) string {
	if s.StartTime == nil {
		return ""
	}
	if s.CompletionTime != nil {
		now = s.CompletionTime.Time
	}
	return registry.HumanDuration(now.Sub(s.StartTime.Time))
}

func prepareJob(_ *registry.Request, j, old *batchv1.Job) {
	if old == nil && !scheme.OrZero(j.Spec.ManualSelector) {
		generateSelector(j)
	}
	podspec.DropDisabledTemplate(j, old, func(j *batchv1.Job) *corev1.PodTemplateSpec { return &j.Spec.Template })
}

// labelJob gives a job without labels those of its pods once more, now that they have been
// generated.
func labelJob(j *batchv1.Job) {
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(j.Spec.Template.Labels)
	}
}

// generateSelector selects the pods by the uid of their job, and labels them with its uid and name.
// What the client has chosen stays, and is refused if it is something else.
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

func setMissing(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// generatedLabels are those that pods have whose selector is generated.
func generatedLabels(j *batchv1.Job) map[string]string {
	uid := string(j.UID)
	return map[string]string{
		batchv1.LegacyControllerUIDLabel: uid, batchv1.LegacyJobNameLabel: j.Name,
		batchv1.ControllerUIDLabel: uid, batchv1.JobNameLabel: j.Name,
	}
}

// jobWarnings tell of a spec that is new or has changed.
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

// specWarnings tell of the spec of a job, or of those that a cron job makes.
func specWarnings(p *field.Path, spec *batchv1.JobSpec) []string {
	var warnings []string
	if isIndexed(spec) && scheme.OrZero(spec.Completions) > manyCompletions &&
		scheme.OrZero(spec.Parallelism) > maxParallelismOfMany {
		warnings = append(warnings, p.String()+": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "+
			"than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podspec.TemplateWarnings(p.Child("template"), &spec.Template)...)
}
