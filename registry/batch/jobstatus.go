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

// has reports whether a status has a condition of a type and status.
func has(s *batchv1.JobStatus, t batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == status {
			return true
		}
	}
	return false
}

// state is what is true in a status.
type state struct{ complete, failed, failureTarget, criteriaMet, finished bool }

func stateOf(s *batchv1.JobStatus) state {
	is := func(t batchv1.JobConditionType) bool { return has(s, t, corev1.ConditionTrue) }
	st := state{
		complete: is(batchv1.JobComplete), failed: is(batchv1.JobFailed),
		failureTarget: is(batchv1.JobFailureTarget), criteriaMet: is(batchv1.JobSuccessCriteriaMet),
	}
	st.finished = st.complete || st.failed
	return st
}

// statusCheck compares two states of a job. Rules hold for what changes: a status that has been wrong before can be mended in
// steps, and one that has become wrong because the spec changed can go on.
type statusCheck struct {
	spec     *batchv1.JobSpec
	s, old   *batchv1.JobStatus
	is, was  state
	p        *field.Path
	finished bool // has changed
	errs     field.ErrorList
}

func checkJobStatus(j, old *batchv1.Job) field.ErrorList {
	c := &statusCheck{
		spec: &j.Spec, s: &j.Status, old: &old.Status, is: stateOf(&j.Status), was: stateOf(&old.Status), p: field.NewPath("status"),
	}
	c.finished = c.is.finished != c.was.finished
	c.numbers()
	c.outcome()
	c.leftovers()
	c.indexes()
	c.ready()
	c.criteria()
	c.lasting()
	return c.errs
}

// refuse reports a value under a name if it is wrong.
func (c *statusCheck) refuse(wrong bool, name string, value any, detail string) {
	if wrong {
		c.errs = append(c.errs, field.Invalid(c.p.Child(name), value, detail))
	}
}

// conditions reports conditions that do not go together if they do not.
func (c *statusCheck) conditions(wrong bool, detail string) {
	c.refuse(wrong, "conditions", field.Omit{}, detail)
}

// require reports a field that is missing if it is.
func (c *statusCheck) require(missing bool, name, detail string) {
	if missing {
		c.errs = append(c.errs, field.Required(c.p.Child(name), detail))
	}
}

func (c *statusCheck) numbers() {
	s := c.s
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"active", s.Active}, {"succeeded", s.Succeeded}, {"failed", s.Failed}, {"ready", orZero(s.Ready)}, {"terminating", orZero(s.Terminating)},
	} {
		c.errs = append(c.errs, check.NonNegative(c.p.Child(n.name), n.value)...)
	}
	u := s.UncountedTerminatedPods
	if u == nil {
		return
	}
	p, seen := c.p.Child("uncountedTerminatedPods"), check.Duplicates{}
	for _, list := range []struct {
		name string
		uids []meta.UID
	}{{"succeeded", u.Succeeded}, {"failed", u.Failed}} {
		for i, uid := range field.Each(&c.errs, list.uids) {
			p := p.Child(list.name).Index(i)
			switch {
			case *uid == "":
				c.errs = append(c.errs, field.Invalid(p, string(*uid), "must not be empty"))
			case !seen.Add(string(*uid)):
				c.errs = append(c.errs, field.Duplicate(p, string(*uid)))
			}
		}
	}
}

// outcome checks how a job ends, and when it has.
func (c *statusCheck) outcome() {
	s, is, was := c.s, c.is, c.was
	complete, failed := is.complete != was.complete, is.failed != was.failed
	ended := complete || !sameTime(s.CompletionTime, c.old.CompletionTime)
	if complete || failed {
		c.conditions(is.complete && is.failed, "cannot set Complete=True and Failed=true conditions")
	}
	if complete || is.failureTarget != was.failureTarget {
		c.conditions(is.complete && is.failureTarget, "cannot set Complete=True and FailureTarget=true conditions")
	}
	if ended {
		c.refuse(s.CompletionTime != nil && !is.complete, "completionTime", s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
		c.require(s.CompletionTime == nil && is.complete, "completionTime", "completionTime is required for Complete jobs")
	}
	if !sameTime(s.StartTime, c.old.StartTime) || !sameTime(s.CompletionTime, c.old.CompletionTime) {
		c.refuse(s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Time.Before(s.StartTime.Time),
			"completionTime", s.CompletionTime, "must be equal to or after `startTime`")
	}
	if failed || !check.SamePointer(s.FailedIndexes, c.old.FailedIndexes) {
		c.conditions(is.failed && !is.failureTarget, "cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if complete || is.criteriaMet != was.criteriaMet {
		c.conditions(is.complete && !is.criteriaMet, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
}

func sameTime(a, b *meta.Time) bool { return scheme.Equal(&a, &b) }

// leftovers checks that a job that has finished is done with its pods.
func (c *statusCheck) leftovers() {
	s, u := c.s, c.s.UncountedTerminatedPods
	if c.finished || s.Active != c.old.Active {
		c.refuse(c.is.finished && s.Active > 0, "active", s.Active, "active>0 is invalid for finished job")
	}
	never := orZero(c.spec.Suspend) && c.spec.Completions != nil && *c.spec.Completions == 0
	if (c.finished || !sameTime(s.StartTime, c.old.StartTime)) && !never {
		c.require(c.is.finished && s.StartTime == nil, "startTime", "startTime is required for finished job")
	}
	if c.finished || !scheme.Equal(&u, &c.old.UncountedTerminatedPods) {
		c.refuse(c.is.finished && u != nil && len(u.Failed)+len(u.Succeeded) > 0, "uncountedTerminatedPods", govalue.JSON(u), "must be empty for finished job")
	}
}

// indexes checks which completions are said to have succeeded and failed.
func (c *statusCheck) indexes() {
	s, completed, failed := c.s, c.s.CompletedIndexes, c.s.FailedIndexes
	newCompleted, newFailed := completed != c.old.CompletedIndexes, !check.SamePointer(failed, c.old.FailedIndexes)
	completions := orZero(c.spec.Completions)
	read := func(name, list string) {
		if _, err := countIndexes(list, completions); err != nil {
			c.refuse(true, name, list, "error parsing "+name+": "+err.Error())
		}
	}
	if newCompleted && c.spec.Completions != nil {
		read("completedIndexes", completed)
	}
	if newFailed && c.spec.Completions != nil && c.spec.BackoffLimitPerIndex != nil && failed != nil {
		read("failedIndexes", *failed)
	}
	c.refuse(newCompleted && completed != "" && !isIndexed(c.spec), "completedIndexes", completed,
		"cannot set non-empty completedIndexes when non-indexed completion mode")
	c.refuse(newFailed && failed != nil && c.spec.BackoffLimitPerIndex == nil, "failedIndexes", failed,
		"cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	if (newCompleted || newFailed) && c.spec.Completions != nil && failed != nil {
		at, both := overlap(completed, *failed, completions)
		c.refuse(both, "failedIndexes", failed, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", at))
	}
	if c.finished || !check.SamePointer(s.Terminating, c.old.Terminating) {
		c.refuse(c.is.finished && orZero(s.Terminating) > 0, "terminating", s.Terminating, "terminating>0 is invalid for finished job")
	}
}

func (c *statusCheck) ready() {
	if !check.SamePointer(c.s.Ready, c.old.Ready) || c.s.Active != c.old.Active {
		c.refuse(c.s.Ready != nil && *c.s.Ready > c.s.Active, "ready", c.s.Ready, "cannot set more ready pods than active")
	}
}

// criteria checks that a job that is about to succeed does not fail.
func (c *statusCheck) criteria() {
	is := c.is
	c.conditions(is.criteriaMet && is.failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
	c.conditions(is.criteriaMet && is.failureTarget, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	c.conditions(c.spec.SuccessPolicy != nil && !is.criteriaMet && is.complete,
		"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
}

// lasting checks what stays once it is there.
func (c *statusCheck) lasting() {
	s, old, is, was := c.s, c.old, c.is, c.was
	const disable = "cannot disable the terminal %s=True condition"
	c.conditions(was.failed && !is.failed, fmt.Sprintf(disable, batchv1.JobFailed))
	c.conditions(was.complete && !is.complete, fmt.Sprintf(disable, batchv1.JobComplete))
	c.conditions(was.failureTarget && !is.failureTarget, fmt.Sprintf(disable, batchv1.JobFailureTarget))
	c.refuse(s.Failed < old.Failed, "failed", s.Failed, "cannot decrease the failed counter")
	// An indexed job that runs all its completions at once may get fewer of them.
	if !isIndexed(c.spec) || !check.SamePointer(c.spec.Completions, c.spec.Parallelism) {
		c.refuse(s.Succeeded < old.Succeeded, "succeeded", s.Succeeded, "cannot decrease the succeeded counter")
	}
	c.refuse(s.CompletionTime != nil && old.CompletionTime != nil && !sameTime(s.CompletionTime, old.CompletionTime),
		"completionTime", s.CompletionTime, "field is immutable")
	resumed := has(old, batchv1.JobSuspended, corev1.ConditionTrue) && has(s, batchv1.JobSuspended, corev1.ConditionFalse)
	c.refuse(old.StartTime != nil && !sameTime(s.StartTime, old.StartTime) && !resumed && !orZero(c.spec.Suspend),
		"startTime", s.StartTime, "field is immutable for unsuspended job once set")
	c.conditions(was.criteriaMet && !is.criteriaMet, "cannot disable the SuccessCriteriaMet=True condition")
	c.conditions(was.complete && !was.criteriaMet && is.criteriaMet,
		"cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
}
