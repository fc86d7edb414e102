package batch

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
)

// cronJob returns a cron job with a schedule, more JSON in its spec, and more JSON in the spec of
// its jobs.
func cronJob(t *testing.T, schedule, more, jobs string) *batchv1.CronJob {
	t.Helper()
	return checktest.Decode[batchv1.CronJob](t, `{"spec":{"schedule":"`+schedule+`",`+more+`"jobTemplate":{"spec":{`+jobs+never+`}}}}`)
}

func TestCronJob(t *testing.T) {
	zone := func(name, text string) string { return `spec.timeZone: Invalid value: "` + name + `": ` + text }
	for _, tt := range []struct{ schedule, more, jobs, want string }{
		{`*/5 0-6,22 1,15 * mon-fri`, `"timeZone":"Europe/Berlin",`, ``, ``},
		{`@every 1h30m`, `"timeZone":"Etc/GMT+5",`, ``, ``},
		{``, ``, ``, `spec.schedule: Required value`},
		{`* * *`, ``, ``, `spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]`},
		{`60 * * * *`, ``, ``, `spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`},
		{`TZ=UTC * * * * *`, ``, ``, `spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`},
		{`TZ=0`, ``, ``, `
spec.schedule: Invalid value: "TZ=0": invalid schedule format: runtime error: slice bounds out of range [:-1]
spec.schedule: Invalid value: "TZ=0": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`},
		{`@daily`, `"startingDeadlineSeconds":-1,"successfulJobsHistoryLimit":-2,"failedJobsHistoryLimit":-3,"concurrencyPolicy":"Odd",`, ``, `
spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0
spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"
spec.successfulJobsHistoryLimit: Invalid value: -2: must be greater than or equal to 0
spec.failedJobsHistoryLimit: Invalid value: -3: must be greater than or equal to 0`},
		{`@daily`, `"timeZone":"",`, ``, zone("", "timeZone must be nil or non-empty string")},
		{`@daily`, `"timeZone":"Nowhere/Land",`, ``, zone("Nowhere/Land", "unknown time zone Nowhere/Land")},
		{`@daily`, `"timeZone":"local",`, ``, zone("local", "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones") + "\n" + zone("local", "unknown time zone local")},
		{`@daily`, `"timeZone":"../UTC",`, ``, zone("../UTC", "unknown time zone ../UTC")},
		{`@daily`, `"timeZone":"./UTC",`, ``, zone("./UTC", "unknown time zone ./UTC")},
		{`@daily`, `"timeZone":"-UTC",`, ``, zone("-UTC", "unknown time zone -UTC")},
		{`@daily`, `"timeZone":"U C",`, ``, zone("U C", "unknown time zone U C")},
		{`@daily`, ``, `"parallelism":-1,"selector":{"matchLabels":{"a":"b"}},"manualSelector":true,`, `
spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0
spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: ` + "`selector` will be auto-generated" + `
spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"`},
	} {
		t.Run(tt.schedule+tt.more, func(t *testing.T) {
			checktest.Want(t, create(kind(t, "CronJob"), cronJob(t, tt.schedule, tt.more, tt.jobs)), tt.want)
		})
	}
	r, c := kind(t, "CronJob"), cronJob(t, "@daily", "", "")
	c.Name = strings.Repeat("x", 52)
	checktest.Want(t, create(r, c), "")
	c.Name += "x"
	checktest.Want(t, create(r, c), `metadata.name: Invalid value: "`+c.Name+`": must be no more than 52 characters`)
	checktest.Want(t, update(r, scheme.DeepCopy(c), c), "")
}

// TestOldZones checks that a cron job may keep a time zone in its schedule, with a warning.
func TestOldZones(t *testing.T) {
	r, old := kind(t, "CronJob"), cronJob(t, "TZ=UTC 0 * * * *", "", "")
	const warning = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
		"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
	next := cronJob(t, "TZ=UTC 1 * * * *", "", "")
	checktest.Want(t, update(r, next, old), "")
	if got := r.Strategy.Warnings(next, old); !slices.Equal(got, []string{warning}) {
		t.Errorf("warnings: got %q", got)
	}
	checktest.Want(t, update(r, cronJob(t, "TZ=UTC 1 * * * *", `"timeZone":"UTC",`, ""), old),
		`spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule`)
	plain := cronJob(t, "@daily", `"timeZone":"Gone/Zone",`, "")
	checktest.Want(t, update(r, scheme.DeepCopy(plain), plain), "")
	checktest.Want(t, update(r, cronJob(t, "@daily", `"timeZone":"Gone/Too",`, ""), plain), `spec.timeZone: Invalid value: "Gone/Too": unknown time zone Gone/Too`)
	checktest.Want(t, update(r, plain, cronJob(t, "@daily", "", "")), `spec.timeZone: Invalid value: "Gone/Zone": unknown time zone Gone/Zone`)
	if got := r.Strategy.Warnings(plain, plain); len(got) > 0 {
		t.Errorf("warnings: got %q", got)
	}
	many := cronJob(t, "@daily", "", `"completionMode":"Indexed","completions":100001,"parallelism":10001,`)
	many.Name = "a.b"
	if got := r.Strategy.Warnings(many, nil); len(got) != 2 || !strings.HasPrefix(got[0], "metadata.name: ") || !strings.HasPrefix(got[1], "spec.jobTemplate.spec: ") {
		t.Errorf("warnings: got %q", got)
	}
	if got := r.Strategy.Warnings(many, plain); len(got) > 0 {
		t.Errorf("warnings of what has not changed: got %q", got)
	}
	many.Generation++
	if got := r.Strategy.Warnings(many, plain); len(got) != 1 {
		t.Errorf("warnings of a change: got %q", got)
	}
}

func TestCronJobCells(t *testing.T) {
	for _, tt := range []struct {
		more string
		want []any
	}{
		{``, []any{"x", "@daily", "<none>", "False", int64(0), "<none>", "<unknown>", "c", "i", "<none>"}},
		{`"suspend":true,"timeZone":"UTC",`, []any{"x", "@daily", "UTC", "True", int64(1), "5s", "<unknown>", "c", "i", "<none>"}},
	} {
		c := cronJob(t, "@daily", tt.more, "")
		if tt.more != "" {
			c.Status = checktest.Decode[batchv1.CronJob](t, `{"status":{"active":[{}],"lastScheduleTime":"2030-01-02T03:04:00Z"}}`).Status
		}
		if got := kind(t, "CronJob").Table.Cells(c, now); !slices.Equal(got, tt.want) {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
	if got := kind(t, "CronJob").Table.Cells(&batchv1.CronJob{}, now); got[3] != "<unset>" {
		t.Errorf("an empty cron job: got %v", got)
	}
}
