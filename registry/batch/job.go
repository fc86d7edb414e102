package batch

import (
	"fmt"
	"maps"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// jobs makes the resource jobs.
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
			AllowUnconditionalUpdate: true,
			OrphanByDefault:          true,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*batchv1.Job]{Validate: checkJobStatus},
		Fields:     []registry.FieldValue{{Label: "status.successful", Path: "status.succeeded", Default: "0"}},
		Table: &registry.TableOf[*batchv1.Job]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "What has become of the job.", 0),
				registry.Column("Completions", "Number of pods that have succeeded, of those that must.", 0),
				registry.Column("Duration", "How long the job has taken.", 0),
				registry.AgeColumn, containersColumn, imagesColumn, selectorColumn,
			},
			Cells: func(j *batchv1.Job, now time.Time) []any {
				names, images := podspec.ContainerCells(j.Spec.Template.Spec.Containers)
				return []any{
					j.Name, statusCell(j), completionsCell(j), durationCell(&j.Status, now), registry.Age(&j.ObjectMeta, now),
					names, images, registry.Selector(j.Spec.Selector),
				}
			},
		},
	})
}

// Columns that both kinds have.
var (
	containersColumn = registry.Column("Containers", "Names of the containers of each pod.", 1)
	imagesColumn     = registry.Column("Images", "Images of the containers of each pod.", 1)
	selectorColumn   = registry.Column("Selector", "Labels by which the pods are found.", 1)
)

// statusCell is the most important thing that is true of a job.
func statusCell(j *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool { return has(&j.Status, t, corev1.ConditionTrue) }
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func completionsCell(j *batchv1.Job) string {
	if n := j.Spec.Completions; n != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *n)
	}
	if n := orZero(j.Spec.Parallelism); n > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, n)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func durationCell(s *batchv1.JobStatus, now time.Time) string {
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return registry.HumanDuration(now.Sub(s.StartTime.Time))
	}
	return registry.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
}

// orZero is the value that a field stands for.
func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func prepareJob(_ *registry.Request, j, old *batchv1.Job) {
	if old == nil {
		if !orZero(j.Spec.ManualSelector) {
			generateSelector(j)
		}
		podspec.DropDisabledTemplate(&j.Spec.Template, nil)
		return
	}
	podspec.DropDisabledTemplate(&j.Spec.Template, &old.Spec.Template)
}

// generateSelector makes a selector that finds the pods of a job and no others, and gives the pods the labels for it. Labels that
// the client has set stay, to be refused if they are different.
func generateSelector(j *batchv1.Job) {
	t := &j.Spec.Template
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for label, value := range generatedLabels(j) {
		if _, ok := t.Labels[label]; !ok {
			t.Labels[label] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &meta.LabelSelector{}
	}
	s := j.Spec.Selector
	if s.MatchLabels == nil {
		s.MatchLabels = map[string]string{}
	}
	if _, ok := s.MatchLabels[batchv1.ControllerUIDLabel]; !ok {
		s.MatchLabels[batchv1.ControllerUIDLabel] = string(j.UID)
	}
	if len(j.Labels) == 0 { // the default, which there was nothing for before
		j.Labels = maps.Clone(t.Labels)
	}
}

// generatedLabels are the labels of the pods of a job whose selector is generated.
func generatedLabels(j *batchv1.Job) map[string]string {
	uid := string(j.UID)
	return map[string]string{
		batchv1.LegacyControllerUIDLabel: uid, batchv1.LegacyJobNameLabel: j.Name,
		batchv1.ControllerUIDLabel: uid, batchv1.JobNameLabel: j.Name,
	}
}

func jobWarnings(j, old *batchv1.Job) []string {
	p := field.NewPath("spec")
	switch {
	case old == nil:
		return append(nameWarnings(j.Name), specWarnings(p, &j.Spec)...)
	case j.Generation != old.Generation:
		return specWarnings(p, &j.Spec)
	}
	return nil
}

// nameWarnings tell of a name that is too much for the names of pods made from it.
func nameWarnings(name string) []string {
	msgs := names.IsDNS1123Label(name)
	if len(msgs) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "+
		"a DNS label is recommended: %v", msgs)}
}

// specWarnings are those about a job, also as a template.
func specWarnings(p *field.Path, spec *batchv1.JobSpec) []string {
	var warnings []string
	if isIndexed(spec) && orZero(spec.Completions) > manyCompletions && orZero(spec.Parallelism) > highParallelism {
		warnings = append(warnings, p.String()+": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podspec.Warnings(p.Child("template"), &spec.Template.Spec, &spec.Template.ObjectMeta)...)
}
