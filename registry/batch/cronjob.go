package batch

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// cronJobs declares the resource cronjobs. Generation counts changes of the spec; the status has no
// rules.
func cronJobs(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*batchv1.CronJob]{
		GroupResource: resource("cronjobs"),
		Kind:          "CronJob", ShortNames: []string{"cj"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*batchv1.CronJob]{
			Metadata: registry.MetaChange,
			Prepare:  prepareCronJob,
			Validate: func(c, old *batchv1.CronJob) field.ErrorList {
				return checkCronJob(rules, c, old)
			},
			Warnings:                 cronJobWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*batchv1.CronJob]{},
		Table: &registry.TableOf[*batchv1.CronJob]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Schedule", "Times at which jobs are created.", 0),
				registry.Column("Timezone", "Time zone of the schedule.", 0),
				registry.BooleanColumn("Suspend", "Whether the creation of jobs is suspended.", 0),
				registry.IntegerColumn("Active", "Number of running jobs.", 0),
				registry.Column("Last Schedule", "Time since a job was last created.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: cronJobCells,
		},
	})
}

// cronJobCells returns the cells of a cron job. Suspend has three: unset, True and False.
func cronJobCells(c *batchv1.CronJob, now time.Time) []any {
	zone, suspended, last := registry.None, registry.Unset, registry.None
	if z := c.Spec.TimeZone; z != nil {
		zone = *z
	}
	switch s := c.Spec.Suspend; {
	case s == nil:
	case *s:
		suspended = "True"
	default:
		suspended = "False"
	}
	if t := c.Status.LastScheduleTime; t != nil {
		last = registry.Since(t.Time, now)
	}
	names, images := podspec.ContainerCells(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, zone, suspended, int64(len(c.Status.Active)), last, registry.Age(&c.ObjectMeta, now),
		names, images, registry.Selector(c.Spec.JobTemplate.Spec.Selector),
	}
}

// prepareCronJob clears fields of the pod template that are not served.
func prepareCronJob(_ *registry.Request, c, old *batchv1.CronJob) {
	podspec.DropDisabledTemplate(c, old,
		func(c *batchv1.CronJob) *corev1.PodTemplateSpec { return &c.Spec.JobTemplate.Spec.Template })
}

// cronJobWarnings warns about the spec of jobs that is new or has changed, about the name of a new
// cron job, and at each update about a zone inside the schedule. The path spec.spec.schedule is
// kube-apiserver's.
func cronJobWarnings(c, old *batchv1.CronJob) []string {
	p := field.NewPath("spec", "jobTemplate", "spec")
	if old == nil {
		return append(podspec.NameWarnings(c.Name), specWarnings(p, &c.Spec.JobTemplate.Spec)...)
	}
	var warnings []string
	if c.Generation != old.Generation {
		warnings = specWarnings(p, &c.Spec.JobTemplate.Spec)
	}
	if hasZone(c.Spec.Schedule) {
		warnings = append(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return warnings
}

// maxCronJobName is the longest name of a cron job, in bytes. The controller appends up to 11
// characters to name a job, and the result must be a DNS label.
const maxCronJobName = 63 - 11

// checkCronJob returns what is wrong with a new cron job, or with an update of old. An update may
// keep a zone inside the schedule, a time zone that this server does not have, and a name that is
// too long.
func checkCronJob(rules podspec.Rules, c, old *batchv1.CronJob) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	var was *batchv1.CronJobSpec
	if old != nil {
		was = &old.Spec
		rules = rules.AfterTemplate(&was.JobTemplate.Spec.Template)
	}
	errs := check.Needed(p.Child("schedule"), spec.Schedule, func(p *field.Path, s string) field.ErrorList {
		return checkSchedule(p, s, spec.TimeZone, was != nil && hasZone(was.Schedule))
	})
	errs = append(errs, check.NotNegative(p, check.Count("startingDeadlineSeconds", spec.StartingDeadlineSeconds))...)
	if zone := spec.TimeZone; zone != nil && (was == nil || was.TimeZone == nil || *was.TimeZone != *zone) {
		errs = append(errs, checkTimeZone(p.Child("timeZone"), zone)...)
	}
	errs = append(errs, check.OneOf(p.Child("concurrencyPolicy"), spec.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	errs = append(errs, checkJobTemplate(rules, p.Child("jobTemplate", "spec"), &spec.JobTemplate.Spec)...)
	errs = append(errs, check.NotNegative(p, check.Count("successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit),
		check.Count("failedJobsHistoryLimit", spec.FailedJobsHistoryLimit))...)
	if old == nil && len(c.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name,
			"must be no more than 52 characters"))
	}
	return errs
}

// checkJobTemplate checks the spec at p of jobs to be created. The server generates the selector of
// each such job, so the spec must have neither a selector nor manualSelector.
func checkJobTemplate(rules podspec.Rules, p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := checkSpec(rules, p, spec)
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), spec.Selector, "`selector` will be auto-generated"))
	}
	if scheme.OrZero(spec.ManualSelector) {
		errs = append(errs, field.NotSupported(p.Child("manualSelector"), true, []string{"nil", "false"}))
	}
	return errs
}
