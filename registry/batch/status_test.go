package batch

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
)

// conditions returns the JSON of conditions with these types. The status is True, unless it follows
// the type: Suspended=False.
func conditions(names ...string) string {
	var list []string
	for _, name := range names {
		t, status, ok := strings.Cut(name, "=")
		if !ok {
			status = "True"
		}
		list = append(list, `{"type":"`+t+`","status":"`+status+`"}`)
	}
	return `"conditions":[` + strings.Join(list, ",") + `]`
}

func TestJobStatus(t *testing.T) {
	const (
		started = `"startTime":"2030-01-02T03:04:05Z"`
		ended   = `"completionTime":"2030-01-02T03:05:05Z"`
		done    = started + `,` + ended + `,`
		indexed = `"completionMode":"Indexed","completions":5,"backoffLimitPerIndex":1,`
	)
	complete := done + conditions("Complete", "SuccessCriteriaMet")
	failed := started + `,` + conditions("Failed", "FailureTarget")
	conflict := func(text string) string { return "status.conditions: Invalid value: " + text }
	for _, tt := range []struct{ spec, old, status, want string }{
		{``, ``, ``, ``},
		{``, ``, complete, ``},
		{``, complete, complete, ``},
		{``, ``, failed, ``},
		{``, ``, `"active":-1,"succeeded":-2,"failed":-3,"ready":-4,"terminating":-5`, `
status.active: Invalid value: -1: must be greater than or equal to 0
status.succeeded: Invalid value: -2: must be greater than or equal to 0
status.failed: Invalid value: -3: must be greater than or equal to 0
status.ready: Invalid value: -4: must be greater than or equal to 0
status.terminating: Invalid value: -5: must be greater than or equal to 0
status.failed: Invalid value: -3: cannot decrease the failed counter
status.succeeded: Invalid value: -2: cannot decrease the succeeded counter`},
		{``, ``, `"uncountedTerminatedPods":{"succeeded":["a","","a"],"failed":["","a","b"]}`, `
status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty
status.uncountedTerminatedPods.succeeded[2]: Duplicate value: "a"
status.uncountedTerminatedPods.failed[0]: Invalid value: "": must not be empty
status.uncountedTerminatedPods.failed[1]: Duplicate value: "a"`},
		{``, ``, done + conditions("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"), conflict("cannot set Complete=True and Failed=true conditions") + "\n" +
			conflict("cannot set Complete=True and FailureTarget=true conditions") + "\n" + conflict("cannot set SuccessCriteriaMet=True and Failed=true conditions") + "\n" +
			conflict("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")},
		{``, complete, done + conditions("Complete", "SuccessCriteriaMet", "Failed"), conflict("cannot set Complete=True and Failed=true conditions") + "\n" +
			conflict("cannot set Failed=True condition without the FailureTarget=true condition") + "\n" + conflict("cannot set SuccessCriteriaMet=True and Failed=true conditions")},
		{``, complete, done + conditions("Complete", "SuccessCriteriaMet", "FailureTarget"), conflict("cannot set Complete=True and FailureTarget=true conditions") + "\n" +
			conflict("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")},
		{``, started, done[:len(done)-1], `status.completionTime: Invalid value: "2030-01-02T03:05:05Z": cannot set completionTime when there is no Complete=True condition`},
		{``, started, started + `,` + conditions("Complete", "SuccessCriteriaMet"), `status.completionTime: Required value: completionTime is required for Complete jobs`},
		{``, complete, started + `,` + conditions("Complete", "SuccessCriteriaMet"), `status.completionTime: Required value: completionTime is required for Complete jobs`},
		{``, started, `"startTime":"2030-01-02T03:04:05Z","completionTime":"2030-01-02T03:04:04Z",` + conditions("Complete", "SuccessCriteriaMet"),
			"status.completionTime: Invalid value: \"2030-01-02T03:04:04Z\": must be equal to or after `startTime`"},
		{``, started, `"startTime":"2030-01-02T03:04:05Z","completionTime":"2030-01-02T03:04:05Z",` + conditions("Complete", "SuccessCriteriaMet"), ``},
		{``, ``, started + `,` + conditions("Failed"), conflict("cannot set Failed=True condition without the FailureTarget=true condition")},
		{``, ``, done + conditions("Complete"), conflict("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")},
		{``, ``, complete + `,"active":1`, `status.active: Invalid value: 1: active>0 is invalid for finished job`},
		{``, complete, complete + `,"active":1`, `status.active: Invalid value: 1: active>0 is invalid for finished job`},
		{``, complete + `,"active":1`, complete + `,"active":1`, ``},
		{``, ``, ended + `,` + conditions("Complete", "SuccessCriteriaMet"), `status.startTime: Required value: startTime is required for finished job`},
		{`"suspend":true,"completions":0,`, ``, ended + `,` + conditions("Complete", "SuccessCriteriaMet"), ``},
		{`"suspend":true,"completions":1,`, ``, ended + `,` + conditions("Complete", "SuccessCriteriaMet"), `status.startTime: Required value: startTime is required for finished job`},
		{``, ``, complete + `,"uncountedTerminatedPods":{"failed":["a"]}`, `status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must be empty for finished job`},
		{``, complete, complete + `,"uncountedTerminatedPods":{"succeeded":["a"]}`, `status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job`},
		{``, ``, complete + `,"uncountedTerminatedPods":{}`, ``},
		{indexed, ``, `"completedIndexes":"0,2","failedIndexes":"1"`, ``},
		{indexed, ``, `"completedIndexes":"x","failedIndexes":"5"`, `
status.completedIndexes: Invalid value: "x": error parsing completedIndexes: cannot convert string to integer for index: "x"
status.failedIndexes: Invalid value: "5": error parsing failedIndexes: too large index: "5"`},
		{indexed, `"completedIndexes":"x"`, `"completedIndexes":"x","failed":1`, ``},
		{indexed, ``, `"completedIndexes":"0-2","failedIndexes":"2"`, `status.failedIndexes: Invalid value: "2": failedIndexes and completedIndexes overlap at index: 2`},
		{indexed, `"failedIndexes":"2"`, `"completedIndexes":"2","failedIndexes":"2"`, `status.failedIndexes: Invalid value: "2": failedIndexes and completedIndexes overlap at index: 2`},
		{indexed, `"completedIndexes":"2","failedIndexes":"2"`, `"completedIndexes":"2","failedIndexes":"2","failed":1`, ``},
		{``, ``, `"completedIndexes":"0"`, `status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode`},
		{``, ``, `"failedIndexes":""`, `status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null`},
		{``, ``, complete + `,"terminating":1`, `status.terminating: Invalid value: 1: terminating>0 is invalid for finished job`},
		{``, complete, complete + `,"terminating":1`, `status.terminating: Invalid value: 1: terminating>0 is invalid for finished job`},
		{``, complete + `,"terminating":1`, complete + `,"terminating":1`, ``},
		{``, ``, complete + `,"terminating":0`, ``},
		{``, ``, `"active":1,"ready":2`, `status.ready: Invalid value: 2: cannot set more ready pods than active`},
		{``, `"active":2,"ready":2`, `"active":1,"ready":2`, `status.ready: Invalid value: 2: cannot set more ready pods than active`},
		{``, `"active":1,"ready":2`, `"active":1,"ready":2`, ``},
		{``, ``, `"active":1,"ready":1`, ``},
		{indexed + `"successPolicy":{"rules":[{"succeededCount":1}]},`, done + conditions("Complete"), done + conditions("Complete"),
			conflict("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")},
		{``, complete, done + conditions("SuccessCriteriaMet"), `
status.completionTime: Invalid value: "2030-01-02T03:05:05Z": cannot set completionTime when there is no Complete=True condition
` + conflict("cannot disable the terminal Complete=True condition")},
		{``, failed, started, conflict("cannot disable the terminal Failed=True condition") + "\n" + conflict("cannot disable the terminal FailureTarget=True condition")},
		{``, conditions("SuccessCriteriaMet"), conditions("SuccessCriteriaMet=False"), conflict("cannot disable the SuccessCriteriaMet=True condition")},
		{``, done + conditions("Complete"), complete, conflict("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")},
		{``, `"failed":2,"succeeded":2`, `"failed":1,"succeeded":1`, `
status.failed: Invalid value: 1: cannot decrease the failed counter
status.succeeded: Invalid value: 1: cannot decrease the succeeded counter`},
		{`"completionMode":"Indexed","completions":5,"parallelism":5,`, `"succeeded":2`, `"succeeded":1`, ``},
		{`"completionMode":"Indexed","completions":5,"parallelism":4,`, `"succeeded":2`, `"succeeded":1`, `status.succeeded: Invalid value: 1: cannot decrease the succeeded counter`},
		{``, complete, strings.Replace(complete, "05:05", "05:06", 1), `status.completionTime: Invalid value: "2030-01-02T03:05:06Z": field is immutable`},
		{``, started, `"startTime":"2030-01-02T03:04:06Z"`, `status.startTime: Invalid value: "2030-01-02T03:04:06Z": field is immutable for unsuspended job once set`},
		{``, started, ``, `status.startTime: Invalid value: null: field is immutable for unsuspended job once set`},
		{`"suspend":true,`, started, ``, ``},
		{``, started + `,` + conditions("Suspended"), `"startTime":"2030-01-02T03:04:06Z",` + conditions("Suspended=False"), ``},
		{``, started + `,` + conditions("Suspended"), `"startTime":"2030-01-02T03:04:06Z",` + conditions("Suspended=Unknown"),
			`status.startTime: Invalid value: "2030-01-02T03:04:06Z": field is immutable for unsuspended job once set`},
	} {
		t.Run(tt.spec+tt.old+" to "+tt.status, func(t *testing.T) {
			old := changed(t, created(t, tt.spec+"$", ""), `{"status":{`+tt.old+`}}`)
			next := changed(t, created(t, tt.spec+"$", ""), `{"metadata":{"labels":null},"status":{`+tt.status+`}}`)
			r := kind(t, "Job")
			r.Status.Prepare(&registry.Request{Now: now}, next, old)
			if len(next.Labels) != 4 {
				t.Errorf("labels: got %v, want those of the template", next.Labels)
			}
			checktest.Want(t, r.Status.Validate(next, old), tt.want)
		})
	}
}

func TestJobCells(t *testing.T) {
	for _, tt := range []struct{ spec, status, more, state, completions, duration string }{
		{``, ``, ``, "Running", "0/1", ""},
		{`"completions":3,`, `"succeeded":2,"startTime":"2030-01-02T03:04:00Z"`, ``, "Running", "2/3", "5s"},
		{`"parallelism":2,`, `"succeeded":1,"startTime":"2030-01-02T03:04:00Z","completionTime":"2030-01-02T03:04:03Z",` + conditions("Complete"), ``, "Complete", "1/1 of 2", "3s"},
		{`"parallelism":1,`, conditions("Failed", "FailureTarget"), ``, "Failed", "0/1", ""},
		{``, conditions("FailureTarget"), ``, "FailureTarget", "0/1", ""},
		{``, conditions("SuccessCriteriaMet"), ``, "SuccessCriteriaMet", "0/1", ""},
		{``, conditions("Suspended", "FailureTarget"), ``, "Suspended", "0/1", ""},
		{``, conditions("Suspended"), `,"metadata":{"name":"x","deletionTimestamp":"2030-01-02T03:04:05Z"}`, "Terminating", "0/1", ""},
		{``, conditions("Complete=False"), ``, "Running", "0/1", ""},
	} {
		j := changed(t, created(t, tt.spec+`$`, tt.more), `{"status":{`+tt.status+`}}`)
		cells := kind(t, "Job").Table.Cells(j, now)
		want := []any{"x", tt.state, tt.completions, tt.duration, "<unknown>", "c", "i", "batch.kubernetes.io/controller-uid=u"}
		for i := range want {
			if cells[i] != want[i] {
				t.Errorf("%s: cell %d: got %v, want %v", tt.status, i, cells[i], want[i])
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	j := checktest.Decode[batchv1.Job](t, `{"spec":{"backoffLimitPerIndex":1,"parallelism":2,"podFailurePolicy":{"rules":[{"onPodConditions":[{"type":"a"}]}]}}}`)
	s := &j.Spec
	if s.Completions != nil || *s.Parallelism != 2 || *s.BackoffLimit != 1<<31-1 || *s.PodReplacementPolicy != "Failed" ||
		s.PodFailurePolicy.Rules[0].OnPodConditions[0].Status != "True" || *s.Suspend || *s.ManualSelector || *s.CompletionMode != "NonIndexed" {
		t.Errorf("got %+v", s)
	}
	s = &checktest.Decode[batchv1.Job](t, `{}`).Spec
	if *s.Completions != 1 || *s.Parallelism != 1 || *s.BackoffLimit != 6 || *s.PodReplacementPolicy != "TerminatingOrFailed" {
		t.Errorf("got %+v", s)
	}
	s = &checktest.Decode[batchv1.Job](t, `{"spec":{"completions":3}}`).Spec
	if *s.Completions != 3 || *s.Parallelism != 1 {
		t.Errorf("got %+v", s)
	}
	c := &checktest.Decode[batchv1.CronJob](t, `{}`).Spec
	if c.ConcurrencyPolicy != "Allow" || *c.Suspend || *c.SuccessfulJobsHistoryLimit != 3 || *c.FailedJobsHistoryLimit != 1 || c.JobTemplate.Spec.Parallelism != nil {
		t.Errorf("got %+v", c)
	}
}
