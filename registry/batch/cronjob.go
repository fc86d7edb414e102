package batch

import (
	"fmt"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// cronJobs makes the resource cronjobs.
func cronJobs(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*batchv1.CronJob]{
		GroupResource: resource("cronjobs"),
		Kind:          "CronJob", ShortNames: []string{"cj"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*batchv1.CronJob]{
			Metadata:                 registry.MetaChange,
			Prepare:                  prepareCronJob,
			Validate:                 func(c, old *batchv1.CronJob) field.ErrorList { return checkCronJob(rules, c, old) },
			Warnings:                 cronJobWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*batchv1.CronJob]{},
		Table: &registry.TableOf[*batchv1.CronJob]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Schedule", "When jobs are made.", 0),
				registry.Column("Timezone", "The time zone that the schedule is read in.", 0),
				{Name: "Suspend", Type: "boolean", Description: "Whether no jobs are made."},
				registry.IntegerColumn("Active", "Number of jobs that run.", 0),
				registry.Column("Last Schedule", "How long ago a job was last made.", 0),
				registry.AgeColumn, containersColumn, imagesColumn, selectorColumn,
			},
			Cells: cronJobCells,
		},
	})
}

func cronJobCells(c *batchv1.CronJob, now time.Time) []any {
	zone, last, suspend := registry.None, registry.None, "<unset>"
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if t := c.Status.LastScheduleTime; t != nil {
		last = registry.Since(t.Time, now)
	}
	if s := c.Spec.Suspend; s != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*s]
	}
	job := &c.Spec.JobTemplate.Spec
	names, images := podspec.ContainerCells(job.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, zone, suspend, int64(len(c.Status.Active)), last, registry.Age(&c.ObjectMeta, now),
		names, images, registry.Selector(job.Selector),
	}
}

func prepareCronJob(_ *registry.Request, c, old *batchv1.CronJob) {
	if old == nil {
		podspec.DropDisabledTemplate(&c.Spec.JobTemplate.Spec.Template, nil)
		return
	}
	podspec.DropDisabledTemplate(&c.Spec.JobTemplate.Spec.Template, &old.Spec.JobTemplate.Spec.Template)
}

// maxCronJobName leaves room for what the names of jobs have beside that of the cron job.
const maxCronJobName = 52

func checkCronJob(rules podspec.Rules, c, old *batchv1.CronJob) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	errs := checkSchedule(p.Child("schedule"), c, old)
	if n := spec.StartingDeadlineSeconds; n != nil {
		errs = append(errs, check.NonNegative(p.Child("startingDeadlineSeconds"), *n)...)
	}
	if old == nil || !check.SamePointer(spec.TimeZone, old.Spec.TimeZone) {
		errs = append(errs, checkTimeZone(p.Child("timeZone"), spec.TimeZone)...)
	}
	errs = append(errs, check.OneOf(p.Child("concurrencyPolicy"), spec.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	errs = append(errs, checkJobTemplate(rules, p.Child("jobTemplate", "spec"), &spec.JobTemplate.Spec)...)
	errs = append(errs, check.NonNegative(p.Child("successfulJobsHistoryLimit"), orZero(spec.SuccessfulJobsHistoryLimit))...)
	errs = append(errs, check.NonNegative(p.Child("failedJobsHistoryLimit"), orZero(spec.FailedJobsHistoryLimit))...)
	if old == nil && len(c.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	return errs
}

// checkJobTemplate checks what jobs are made from. Their selectors are generated.
func checkJobTemplate(rules podspec.Rules, p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := checkSpec(rules, p, spec)
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), govalue.JSON(spec.Selector), "`selector` will be auto-generated"))
	}
	if orZero(spec.ManualSelector) {
		errs = append(errs, field.NotSupported(p.Child("manualSelector"), true, []string{"nil", "false"}))
	}
	return errs
}

func cronJobWarnings(c, old *batchv1.CronJob) []string {
	p := field.NewPath("spec", "jobTemplate", "spec")
	if old == nil {
		return append(nameWarnings(c.Name), specWarnings(p, &c.Spec.JobTemplate.Spec)...)
	}
	var warnings []string
	if c.Generation != old.Generation {
		warnings = specWarnings(p, &c.Spec.JobTemplate.Spec)
	}
	if strings.Contains(c.Spec.Schedule, zoneInSchedule) {
		warnings = append(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return warnings
}
