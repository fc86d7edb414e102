package batch

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file checks changes of a job's status. checkJobStatus is the Validate of the status
// subresource. Its steps are methods of statusCheck, in the order of kube-apiserver's messages.

// jobState is which conditions of a job are true.
type jobState struct {
	complete, failed, failing, succeeding, suspended bool

	resumed bool // the condition Suspended is there and is False
}

// finished reports whether the job has ended.
func (s jobState) finished() bool { return s.complete || s.failed }

// jobStateOf returns the state of a job. A condition that is listed twice counts as true if either
// is.
func jobStateOf(j *batchv1.Job) jobState {
	var s jobState
	for _, c := range j.Status.Conditions {
		is := c.Status == corev1.ConditionTrue
		switch c.Type {
		case batchv1.JobComplete:
			s.complete = s.complete || is
		case batchv1.JobFailed:
			s.failed = s.failed || is
		case batchv1.JobFailureTarget:
			s.failing = s.failing || is
		case batchv1.JobSuccessCriteriaMet:
			s.succeeding = s.succeeding || is
		case batchv1.JobSuspended:
			s.suspended = s.suspended || is
			s.resumed = s.resumed || c.Status == corev1.ConditionFalse
		}
	}
	return s
}

// statusCheck is the check of a change of status. Most rules look at a change only: if the old
// status breaks a rule and the update leaves the fields of that rule alone, the update is accepted,
// so that a controller can still work on the job. checkCounts and the conditions in checkOutcome
// are checked always.
type statusCheck struct {
	p          *field.Path
	job, old   *batchv1.Job
	new, was   *batchv1.JobStatus
	is, before jobState
	errs       field.ErrorList
}

// checkJobStatus returns what is wrong with a change of status. Jobs with managedBy have
// controllers that are not part of Kubernetes (KEP-4368), and clients rely on the way in which jobs
// end.
func checkJobStatus(j, old *batchv1.Job) field.ErrorList {
	c := &statusCheck{p: field.NewPath("status"), job: j, old: old, new: &j.Status, was: &old.Status, is: jobStateOf(j),
		before: jobStateOf(old)}
	c.checkCounts()
	c.checkCompletion()
	c.checkFinished()
	c.checkIndexes()
	c.checkOutcome()
	c.checkTransitions()
	return c.errs
}

// invalid reports the value of the field name of the status if broken is true.
func (c *statusCheck) invalid(broken bool, name string, value any, msg string) {
	if broken {
		c.errs = append(c.errs, field.Invalid(c.p.Child(name), value, msg))
	}
}

// conflict reports, if broken is true, that conditions contradict each other.
func (c *statusCheck) conflict(broken bool, msg string) {
	c.invalid(broken, "conditions", field.Omit{}, msg)
}

// required reports the field name of the status if missing is true.
func (c *statusCheck) required(missing bool, name, msg string) {
	if missing {
		c.errs = append(c.errs, field.Required(c.p.Child(name), msg))
	}
}

// checkCounts checks that no count is negative, and the UIDs of pods that have ended but are not
// counted yet (KEP-2307). Unlike the other rules it applies to all of the status.
func (c *statusCheck) checkCounts() {
	s := c.new
	c.errs = check.NotNegative(c.p, check.Count("active", &s.Active), check.Count("succeeded", &s.Succeeded),
		check.Count("failed", &s.Failed), check.Count("ready", s.Ready), check.Count("terminating", s.Terminating))
	if u := s.UncountedTerminatedPods; u != nil {
		seen := check.Duplicates{}
		c.checkUncounted("succeeded", u.Succeeded, seen)
		c.checkUncounted("failed", u.Failed, seen)
	}
}

// checkUncounted checks a list of UIDs. seen has the UIDs found so far in both lists: a pod may
// stand in one of the lists only, and once.
func (c *statusCheck) checkUncounted(name string, uids []meta.UID, seen check.Duplicates) {
	p := c.p.Child("uncountedTerminatedPods", name)
	for i, uid := range field.Each(&c.errs, uids) {
		switch {
		case *uid == "":
			c.errs = append(c.errs, field.Invalid(p.Index(i), *uid, "must not be empty"))
		case !seen.Add(string(*uid)):
			c.errs = append(c.errs, field.Duplicate(p.Index(i), *uid))
		}
	}
}

// checkCompletion checks how a job ends: not as Complete and Failed at once, and not without the
// condition that announces the end (SuccessCriteriaMet, FailureTarget), after which the pods are
// terminated. A complete job has a completionTime, which is not before its startTime.
func (c *statusCheck) checkCompletion() {
	completed := c.is.complete != c.before.complete
	if completed || c.is.failed != c.before.failed {
		c.conflict(c.is.complete && c.is.failed, "cannot set Complete=True and Failed=true conditions")
	}
	if completed || c.is.failing != c.before.failing {
		c.conflict(c.is.complete && c.is.failing, "cannot set Complete=True and FailureTarget=true conditions")
	}
	start, end := c.new.StartTime, c.new.CompletionTime
	ended := !end.Equal(c.was.CompletionTime)
	if completed || ended {
		c.invalid(end != nil && !c.is.complete, "completionTime", end, "cannot set completionTime when there is no Complete=True condition")
		c.required(end == nil && c.is.complete, "completionTime", "completionTime is required for Complete jobs")
	}
	if ended || c.startTimeChanged() {
		c.invalid(start != nil && end != nil && end.Before(start), "completionTime", end,
			"must be equal to or after `startTime`")
	}
	if c.is.failed != c.before.failed || c.failedIndexesChanged() {
		c.conflict(c.is.failed && !c.is.failing, "cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if completed || c.is.succeeding != c.before.succeeding {
		c.conflict(c.is.complete && !c.is.succeeding, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
}

// startTimeChanged reports whether the update changes startTime.
func (c *statusCheck) startTimeChanged() bool { return !c.new.StartTime.Equal(c.was.StartTime) }

// failedIndexesChanged reports whether the update changes failedIndexes.
func (c *statusCheck) failedIndexesChanged() bool {
	return !scheme.Equal(c.new.FailedIndexes, c.was.FailedIndexes)
}

// checkFinished checks that a finished job has been started and has no active or uncounted pods. A
// job that is suspended and has 0 completions ends without a start.
func (c *statusCheck) checkFinished() {
	finished, changed := c.is.finished(), c.is.finished() != c.before.finished()
	if changed || c.new.Active != c.was.Active {
		c.invalid(finished && c.new.Active > 0, "active", c.new.Active, "active>0 is invalid for finished job")
	}
	idle := scheme.OrZero(c.job.Spec.Suspend) && c.job.Spec.Completions != nil && *c.job.Spec.Completions == 0
	if (changed || c.startTimeChanged()) && !idle {
		c.required(finished && c.new.StartTime == nil, "startTime", "startTime is required for finished job")
	}
	if u := c.new.UncountedTerminatedPods; u != nil && (changed || !scheme.Equal(u, c.was.UncountedTerminatedPods)) {
		c.invalid(finished && len(u.Failed)+len(u.Succeeded) > 0, "uncountedTerminatedPods", govalue.JSON(u),
			"must be empty for finished job")
	}
}

// checkIndexes checks the lists of completed and failed indexes. The lists must be readable and
// belong to a job that has such indexes, and no index may be in both.
func (c *statusCheck) checkIndexes() {
	spec, done, failed := &c.job.Spec, c.new.CompletedIndexes, c.new.FailedIndexes
	doneChanged, failedChanged := done != c.was.CompletedIndexes, c.failedIndexesChanged()
	if doneChanged {
		c.checkReadable("completedIndexes", done)
	}
	if failedChanged && failed != nil && spec.BackoffLimitPerIndex != nil {
		c.checkReadable("failedIndexes", *failed)
	}
	c.invalid(doneChanged && done != "" && !isIndexed(spec), "completedIndexes", done,
		"cannot set non-empty completedIndexes when non-indexed completion mode")
	c.invalid(failedChanged && failed != nil && spec.BackoffLimitPerIndex == nil, "failedIndexes",
		scheme.OrZero(failed),
		"cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	if (doneChanged || failedChanged) && spec.Completions != nil && failed != nil {
		index, found := overlap(done, *failed, *spec.Completions)
		c.invalid(found, "failedIndexes", *failed,
			fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index))
	}
}

// checkReadable reports a list of indexes in the field name that cannot be read. A job without
// completions has no upper limit for them, and its lists are refused elsewhere.
func (c *statusCheck) checkReadable(name, text string) {
	if c.job.Spec.Completions == nil {
		return
	}
	if _, err := countIndexes(text, *c.job.Spec.Completions); err != nil {
		c.invalid(true, name, text, "error parsing "+name+": "+err.Error())
	}
}

// checkOutcome checks the counts of terminating and ready pods, and that a job is about to succeed
// or about to fail, not both. The rules about conditions apply whether or not they changed.
func (c *statusCheck) checkOutcome() {
	if n := c.new.Terminating; n != nil &&
		(c.is.finished() != c.before.finished() || !scheme.Equal(n, c.was.Terminating)) {
		c.invalid(c.is.finished() && *n > 0, "terminating", *n, "terminating>0 is invalid for finished job")
	}
	if n := c.new.Ready; n != nil && (c.new.Active != c.was.Active || !scheme.Equal(n, c.was.Ready)) {
		c.invalid(*n > c.new.Active, "ready", *n, "cannot set more ready pods than active")
	}
	c.conflict(c.is.succeeding && c.is.failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
	c.conflict(c.is.succeeding && c.is.failing, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	c.conflict(c.job.Spec.SuccessPolicy != nil && !c.is.succeeding && c.is.complete,
		"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
}

// checkTransitions checks that a job does not go back: terminal conditions and completionTime stay,
// and counters do not fall. startTime changes only while the job is suspended or is resumed.
func (c *statusCheck) checkTransitions() {
	const disable = "cannot disable the terminal %s=True condition"
	c.conflict(c.before.failed && !c.is.failed, fmt.Sprintf(disable, batchv1.JobFailed))
	c.conflict(c.before.complete && !c.is.complete, fmt.Sprintf(disable, batchv1.JobComplete))
	c.conflict(c.before.failing && !c.is.failing, fmt.Sprintf(disable, batchv1.JobFailureTarget))
	c.invalid(c.new.Failed < c.was.Failed, "failed", c.new.Failed, "cannot decrease the failed counter")
	spec := &c.job.Spec
	// An indexed job with equal numbers can be scaled down, and then counts fewer successes.
	if !isIndexed(spec) || !scheme.Equal(spec.Completions, spec.Parallelism) {
		c.invalid(c.new.Succeeded < c.was.Succeeded, "succeeded", c.new.Succeeded,
			"cannot decrease the succeeded counter")
	}
	end, was := c.new.CompletionTime, c.was.CompletionTime
	c.invalid(end != nil && was != nil && !end.Equal(was), "completionTime", end, "field is immutable")
	resuming := c.before.suspended && c.is.resumed
	c.invalid(c.startTimeChanged() && !resuming && c.was.StartTime != nil && !scheme.OrZero(spec.Suspend), "startTime",
		c.new.StartTime,
		"field is immutable for unsuspended job once set")
	c.conflict(c.before.succeeding && !c.is.succeeding, "cannot disable the SuccessCriteriaMet=True condition")
	c.conflict(c.before.complete && !c.before.succeeding && c.is.succeeding,
		"cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
}
