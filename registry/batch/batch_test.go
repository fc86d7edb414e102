package batch

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
)

// job makes a job whose spec has what is given beside a template and a selector.
func job(t *testing.T, spec, status string) *batchv1.Job {
	t.Helper()
	if spec != "" {
		spec += ","
	}
	return checktest.Decode[batchv1.Job](t, `{"spec":{`+spec+`"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}},"status":{`+status+`}}`)
}

func kind(t *testing.T, name string) *registry.Resource {
	t.Helper()
	return checktest.Resource(t, Resources(podspec.Rules{}), name)
}

// TestJobs has jobs right and wrong. In want, $ is the path of the spec.
func TestJobs(t *testing.T) {
	s := kind(t, "Job").Strategy
	const indexed, negative = `"completionMode":"Indexed",`, `: must be greater than or equal to 0`
	for spec, want := range map[string]string{
		``:                             ``,
		indexed + `"completions":3`:    ``,
		`"parallelism":-1`:             `$.parallelism: Invalid value: -1` + negative,
		`"completions":-1`:             `$.completions: Invalid value: -1` + negative,
		`"activeDeadlineSeconds":-1`:   `$.activeDeadlineSeconds: Invalid value: -1` + negative,
		`"ttlSecondsAfterFinished":-1`: `$.ttlSecondsAfterFinished: Invalid value: -1` + negative,
		`"backoffLimit":-1`:            `$.backoffLimit: Invalid value: -1` + negative,
		`"maxFailedIndexes":1`: `
$.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified
$.maxFailedIndexes: Invalid value: 1: requires indexed completion mode`,
		`"backoffLimitPerIndex":1`: `$.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode`,
		`"completionMode":"Odd"`:   `$.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"`,
		`"managedBy":"a"`:          `$.managedBy: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")`,
		indexed + `"parallelism":100001`: `
$.completions: Required value: when completion mode is Indexed
$.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed`,
		indexed + `"completions":100001,"backoffLimitPerIndex":1,"parallelism":10001`: `
$.maxFailedIndexes: Required value: must be specified when completions is above 100000
$.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index`,
		`"podFailurePolicy":{"rules":[{"action":"Odd","onExitCodes":{"operator":"In","values":[0,2,2,1]}},{"action":"FailIndex"}]}`: `
$.podFailurePolicy.rules[0].action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore"
$.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator
$.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2
$.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [0,2,2,1]: must be ordered
$.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set
$.podFailurePolicy.rules[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
		indexed + `"completions":5,"successPolicy":{"rules":[{},{"succeededIndexes":"0,2-3","succeededCount":4},{"succeededIndexes":"3-1"}]}`: `
$.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified
$.successPolicy.rules[1].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)
$.successPolicy.rules[2].succeededIndexes: Invalid value: "3-1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1`,
	} {
		t.Run(spec, func(t *testing.T) {
			checktest.Want(t, s.Validate(job(t, spec, ""), nil), strings.ReplaceAll(want, "$", "spec"))
		})
	}
}

// TestGeneratedSelector: a job without a selector finds its pods by its UID.
func TestGeneratedSelector(t *testing.T) {
	s := kind(t, "Job").Strategy
	j := checktest.Decode[batchv1.Job](t, `{"metadata":{"uid":"u"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
	s.Prepare(&registry.Request{}, j, nil)
	checktest.Want(t, s.Validate(j, nil), "")
	if got := registry.Labels(j.Labels); got != "batch.kubernetes.io/controller-uid=u,batch.kubernetes.io/job-name=x,controller-uid=u,job-name=x" {
		t.Errorf("labels: got %s", got)
	}
	if got := registry.Selector(j.Spec.Selector); got != "batch.kubernetes.io/controller-uid=u" {
		t.Errorf("selector: got %s", got)
	}
	j.Spec.Template.Labels["job-name"] = "y"
	checktest.Want(t, s.Validate(j, nil), `spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"u",`+
		`"batch.kubernetes.io/job-name":"x","controller-uid":"u","job-name":"y"}: must be 'x'`)
}

func TestJobUpdates(t *testing.T) {
	s := kind(t, "Job").Strategy
	checktest.Want(t, s.Validate(job(t, `"completions":2`, ""), job(t, `"completions":1`, "")), `spec.completions: Invalid value: 2: field is immutable`)
	const indexed = `"completionMode":"Indexed",`
	checktest.Want(t, s.Validate(job(t, indexed+`"completions":2,"parallelism":2`, ""), job(t, indexed+`"completions":1`, "")), ``)
	checktest.Want(t, s.Validate(job(t, indexed+`"completions":2,"parallelism":1`, ""), job(t, indexed+`"completions":1`, "")),
		`spec.completions: Invalid value: 2: can only be modified in tandem with spec.parallelism`)
	for status, allowed := range map[string]bool{
		``: true, `"active":1`: false, `"startTime":"2030-01-02T03:04:05Z"`: false,
		`"startTime":"2030-01-02T03:04:05Z","conditions":[{"type":"Suspended","status":"True"}]`: true,
	} {
		old, j := job(t, `"suspend":true`, status), job(t, `"suspend":true`, status)
		j.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"}
		if errs := s.Validate(j, old); (len(errs) == 0) != allowed {
			t.Errorf("%s: got %v, want allowed %v", status, errs, allowed)
		}
	}
}

func TestJobStatus(t *testing.T) {
	status := kind(t, "Job").Status
	const start, end = `"startTime":"2030-01-02T03:04:05Z"`, `"completionTime":"2030-01-02T04:04:05Z"`
	const complete = `"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]`
	for _, tt := range []struct{ old, new, want string }{
		{``, start + `,` + end + `,` + complete, ``},
		{``, complete, `
status.completionTime: Required value: completionTime is required for Complete jobs
status.startTime: Required value: startTime is required for finished job`},
		{start, start + `,"conditions":[{"type":"Failed","status":"True"}]`, `status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition`},
		{`"failed":2,"succeeded":2`, `"failed":1,"succeeded":1`, `
status.failed: Invalid value: 1: cannot decrease the failed counter
status.succeeded: Invalid value: 1: cannot decrease the succeeded counter`},
		{start + `,` + end + `,` + complete, start, `
status.conditions: Invalid value: cannot disable the terminal Complete=True condition
status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition`},
		{``, `"ready":2,"active":1`, `status.ready: Invalid value: 2: cannot set more ready pods than active`},
		{``, `"completedIndexes":"0"`, `status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode`},
	} {
		checktest.Want(t, status.Validate(job(t, `"completions":3`, tt.new), job(t, `"completions":3`, tt.old)), tt.want)
	}
}

func TestCronJobs(t *testing.T) {
	s := kind(t, "CronJob").Strategy
	const bad = `spec.schedule: Invalid value: `
	for spec, want := range map[string]string{
		`"schedule":"* * * * *"`:                           ``,
		`"schedule":"@daily","timeZone":"Europe/Berlin"`:   ``,
		`"schedule":""`:                                    `spec.schedule: Required value`,
		`"schedule":"* * * *"`:                             bad + `"* * * *": expected exactly 5 fields, found 4: [* * * *]`,
		`"schedule":"TZ=UTC * * * * *"`:                    bad + `"TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`,
		`"schedule":"@daily","timeZone":""`:                `spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string`,
		`"schedule":"@daily","timeZone":"a/../b"`:          `spec.timeZone: Invalid value: "a/../b": unknown time zone a/../b`,
		`"schedule":"@daily","timeZone":"Mars/Base"`:       `spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base`,
		`"schedule":"@daily","concurrencyPolicy":"Odd"`:    `spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"`,
		`"schedule":"@daily","startingDeadlineSeconds":-1`: `spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0`,
		`"schedule":"@daily","failedJobsHistoryLimit":-1`:  `spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0`,
	} {
		c := checktest.Decode[batchv1.CronJob](t, `{"spec":{`+spec+`,"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`)
		checktest.Want(t, s.Validate(c, nil), want)
		c.Name = strings.Repeat("a", 53)
		if errs := s.Validate(c, nil); want == "" && (len(errs) != 1 || errs[0].Detail != "must be no more than 52 characters") {
			t.Errorf("%s: got %v, want the name refused", spec, errs)
		}
	}
}

func TestTables(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 5, 5, 0, time.UTC)
	checktest.WantCells(t, kind(t, "Job"), job(t, `"parallelism":3`, `"succeeded":1,"startTime":"2030-01-02T03:04:05Z"`), now,
		"x", "Running", "1/1 of 3", "60s", "<unknown>", "c", "i", "a=b")
	checktest.WantCells(t, kind(t, "CronJob"), checktest.Decode[batchv1.CronJob](t, `{"spec":{"schedule":"@daily"}}`), now,
		"x", "@daily", "<none>", "False", int64(0), "<none>", "<unknown>", "", "", "<none>")
}
