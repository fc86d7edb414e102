package batch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func kind(t *testing.T, name string) *registry.Resource {
	t.Helper()
	return checktest.Resource(t, Resources(podspec.Rules{}), name)
}

// Templates of pods. The containers of never do not restart; those of often restart when they fail.
const (
	never = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"d","image":"i"}]}}`
	often = `"template":{"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","image":"i"}]}}`
)

// job returns a job with the UID u. spec is its spec, in which $ stands for a template; more is
// further JSON beside the spec.
func job(t *testing.T, spec, more string) *batchv1.Job {
	t.Helper()
	j := checktest.Decode[batchv1.Job](t, `{"spec":{`+strings.ReplaceAll(spec, "$", never)+`}`+more+`}`)
	j.UID = "u"
	return j
}

// created returns a job as it is stored after its creation.
func created(t *testing.T, spec, more string) *batchv1.Job {
	t.Helper()
	j := job(t, spec, more)
	checktest.Want(t, create(kind(t, "Job"), j), "")
	kind(t, "Job").Strategy.Canonicalize(j)
	return j
}

func create(r *registry.Resource, obj meta.Object) field.ErrorList {
	r.Strategy.Prepare(&registry.Request{Now: now}, obj, nil)
	return r.Strategy.Validate(obj, nil)
}

func update(r *registry.Resource, obj, old meta.Object) field.ErrorList {
	r.Strategy.Prepare(&registry.Request{Now: now}, obj, old)
	return r.Strategy.Validate(obj, old)
}

func TestJobSpec(t *testing.T) {
	const indexed = `"completionMode":"Indexed","completions":5,`
	for _, tt := range []struct{ spec, want string }{
		{`$`, ``},
		{`"parallelism":-1,"completions":-2,"activeDeadlineSeconds":-3,"backoffLimit":-4,"ttlSecondsAfterFinished":-5,$`, `
spec.parallelism: Invalid value: -1: must be greater than or equal to 0
spec.completions: Invalid value: -2: must be greater than or equal to 0
spec.activeDeadlineSeconds: Invalid value: -3: must be greater than or equal to 0
spec.backoffLimit: Invalid value: -4: must be greater than or equal to 0
spec.ttlSecondsAfterFinished: Invalid value: -5: must be greater than or equal to 0`},
		{indexed + `"backoffLimitPerIndex":-6,"maxFailedIndexes":-7,$`, `
spec.backoffLimitPerIndex: Invalid value: -6: must be greater than or equal to 0
spec.maxFailedIndexes: Invalid value: -7: must be greater than or equal to 0`},
		{indexed + `"maxFailedIndexes":1,$`, `spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified`},
		{`"managedBy":"",$`, `spec.managedBy: Required value`},
		{`"managedBy":"a.b/c",$`, ``},
		{`"managedBy":"a.b/` + strings.Repeat("c", 59) + `",$`, ``},
		{`"managedBy":"a.b/` + strings.Repeat("c", 60) + `",$`, `spec.managedBy: Too long: may not be more than 63 bytes`},
		{`"managedBy":"/b",$`, `spec.managedBy: Invalid value: "/b": must be a domain-prefixed path (such as "acme.io/foo")`},
		{`"completionMode":"Odd",$`, `spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"`},
		{`"backoffLimitPerIndex":1,"maxFailedIndexes":1,$`, `
spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode
spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode`},
		{`"completionMode":"Indexed","parallelism":100001,$`, `
spec.completions: Required value: when completion mode is Indexed
spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed`},
		{`"completionMode":"Indexed","completions":100000,"parallelism":100000,"backoffLimitPerIndex":1,"maxFailedIndexes":100000,$`, ``},
		{indexed + `"backoffLimitPerIndex":1,"maxFailedIndexes":5,$`, ``},
		{indexed + `"backoffLimitPerIndex":1,"maxFailedIndexes":6,$`, `spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions`},
		{`"completionMode":"Indexed","completions":100001,"backoffLimitPerIndex":1,"parallelism":10000,"maxFailedIndexes":10000,$`, ``},
		{`"completionMode":"Indexed","completions":100001,"parallelism":10001,$`, ``},
		{`"completionMode":"Indexed","completions":100001,"backoffLimitPerIndex":1,"parallelism":10001,$`, `
spec.maxFailedIndexes: Required value: must be specified when completions is above 100000
spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index`},
		{`"completionMode":"Indexed","completions":100001,"backoffLimitPerIndex":1,"maxFailedIndexes":100001,$`, `
spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000
spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index`},
		{`"podReplacementPolicy":"Failed",$`, ``},
		{`"podReplacementPolicy":"Odd",$`, `spec.podReplacementPolicy: Unsupported value: "Odd": supported values: "Failed", "TerminatingOrFailed"`},
		{`"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}`, `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{`"template":{"spec":{"restartPolicy":"Odd","containers":[{"name":"c","image":"i"}]}}`, `
spec.template.spec.restartPolicy: Unsupported value: "Odd": supported values: "Always", "OnFailure", "Never"
spec.template.spec.restartPolicy: Unsupported value: "Odd": supported values: "OnFailure", "Never"`},
		{often, ``},
		{`"podFailurePolicy":{"rules":[]},` + often, `spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`},
		{`"manualSelector":true,$`, "spec.selector: Required value\nspec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"},
		{`"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},$`, "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"},
		{`"selector":{"matchExpressions":[{"key":"a","operator":"Odd"}]},$`, `spec.selector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator`},
	} {
		t.Run(tt.spec, func(t *testing.T) { checktest.Want(t, create(kind(t, "Job"), job(t, tt.spec, "")), tt.want) })
	}
}

// TestDeclarations checks that the deletion of a job orphans its pods, with a warning, unless the
// client sets a propagation policy.
func TestDeclarations(t *testing.T) {
	r := kind(t, "Job")
	const warning = "child pods are preserved by default when jobs are deleted; " +
		"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
	if s := r.Strategy; s.Metadata != registry.MetaWhole || !s.OrphanByDefault || s.OrphanWarning != warning || !s.AllowUnconditionalUpdate || s.AllowCreateOnUpdate {
		t.Errorf("jobs: got %+v", s)
	}
	if f := r.Fields[0]; f != (registry.FieldValue{Label: "status.successful", Path: "status.succeeded", Default: "0"}) {
		t.Errorf("jobs: got field %+v", f)
	}
	c := kind(t, "CronJob")
	if s := c.Strategy; s.Metadata != registry.MetaChange || s.OrphanByDefault || s.OrphanWarning != "" || !s.AllowUnconditionalUpdate || c.Status.Validate != nil {
		t.Errorf("cron jobs: got %+v", s)
	}
	for _, r := range []*registry.Resource{r, c} {
		if !r.Namespaced || !slices.Equal(r.Generation, []string{"spec"}) || !slices.Equal(r.Categories, []string{"all"}) {
			t.Errorf("%s: got %+v", r.Kind, r)
		}
	}
}

// TestOldTemplates checks that an update may keep a quirk of the old template.
func TestOldTemplates(t *testing.T) {
	odd := strings.Replace(never, `"restartPolicy"`, `"overhead":{"hugepages-2Mi":"1Mi","memory":"1"},"restartPolicy"`, 1)
	const want = `spec.overhead.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`
	j := job(t, odd, "")
	checktest.Want(t, create(kind(t, "Job"), j), "spec.template."+want)
	checktest.Want(t, update(kind(t, "Job"), scheme.DeepCopy(j), j), "")
	c := checktest.Decode[batchv1.CronJob](t, `{"spec":{"schedule":"@daily","jobTemplate":{"spec":{`+odd+`}}}}`)
	checktest.Want(t, create(kind(t, "CronJob"), c), "spec.jobTemplate.spec.template."+want)
	checktest.Want(t, update(kind(t, "CronJob"), scheme.DeepCopy(c), c), "")
}

// TestSelector checks that the server generates the selector of a job and the labels of its pods,
// and that a client can choose neither.
func TestSelector(t *testing.T) {
	j := created(t, `$`, "")
	want := map[string]string{"batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "x", "controller-uid": "u", "job-name": "x"}
	if text := registry.Labels(want); registry.Labels(j.Labels) != text || registry.Labels(j.Spec.Template.Labels) != text {
		t.Errorf("got labels %v and %v, want both %v", j.Labels, j.Spec.Template.Labels, want)
	}
	if got := registry.Selector(j.Spec.Selector); got != "batch.kubernetes.io/controller-uid=u" {
		t.Errorf("selector: got %s", got)
	}
	if j := created(t, `"template":{"metadata":{"labels":{"a":"b"}},`+strings.TrimPrefix(never, `"template":{`), ""); len(j.Labels) != 5 {
		t.Errorf("labels: got %v, want those of the template", j.Labels)
	}
	if j := created(t, `$`, `,"metadata":{"name":"x","labels":{"a":"b"}}`); len(j.Labels) != 1 {
		t.Errorf("labels: got %v, want its own", j.Labels)
	}
	if j := created(t, `"manualSelector":true,"selector":{"matchExpressions":[{"key":"z","operator":"DoesNotExist"}]},$`, ""); j.Spec.Template.Labels != nil {
		t.Errorf("labels: got %v, want none", j.Spec.Template.Labels)
	}

	r := kind(t, "Job")
	labelled := func(labels string) string {
		return `"template":{"metadata":{"labels":{` + labels + `}},` + strings.TrimPrefix(never, `"template":{`)
	}
	checktest.Want(t, create(r, job(t, labelled(`"controller-uid":"v","batch.kubernetes.io/job-name":"y"`), "")), `
spec.template.metadata.labels[controller-uid]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"y","controller-uid":"v","job-name":"x"}: must be 'u'
spec.template.metadata.labels[batch.kubernetes.io/job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"y","controller-uid":"v","job-name":"x"}: must be 'x'`)
	checktest.Want(t, create(r, job(t, `"selector":{"matchLabels":{"a":"b"}},`+labelled(`"a":"b"`), "")),
		"spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` not auto-generated")

	// Older jobs need not have the labels with a domain.
	old := created(t, `"suspend":true,$`, "")
	delete(old.Spec.Template.Labels, batchv1.JobNameLabel)
	old.Spec.Selector.MatchLabels = map[string]string{batchv1.LegacyControllerUIDLabel: "u"}
	next := *old
	next.Spec.Template.Labels = map[string]string{"controller-uid": "u", "job-name": "x"}
	checktest.Want(t, update(r, &next, old), "")
	old.Spec.Template.Labels[batchv1.JobNameLabel] = "x"
	next.Spec.Template.Labels = map[string]string{"controller-uid": "u", "job-name": "x"}
	checktest.Want(t, update(r, &next, old), `
spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Required value: must be 'u'
spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value: must be 'x'`)
}

func TestJobName(t *testing.T) {
	r, long := kind(t, "Job"), strings.Repeat("x", 61)
	named := func(spec, name string) *batchv1.Job { return job(t, spec, `,"metadata":{"name":"`+name+`"}`) }
	checktest.Want(t, create(r, named(`"completionMode":"Indexed","completions":10,$`, long)), "")
	checktest.Want(t, create(r, named(`"completionMode":"Indexed","completions":11,$`, long)),
		`metadata.name: Invalid value: "`+long+`": will not able to create pod with invalid DNS label: `+long+`-10`)
	checktest.Want(t, create(r, named(`"completionMode":"Indexed","completions":0,$`, "a.b")), "")
	checktest.Want(t, create(r, named(`$`, "a.b")), "")
	dotted := named(`$`, "a.b")
	if got := r.Strategy.Warnings(dotted, nil); len(got) != 1 || !strings.HasPrefix(got[0], "metadata.name: this is used in Pod names") {
		t.Errorf("warnings: got %q", got)
	}
	next := named(`$`, "a.b")
	next.Generation = 2
	if got := r.Strategy.Warnings(next, dotted); len(got) > 0 {
		t.Errorf("warnings of an update: got %q", got)
	}
}

func TestJobWarnings(t *testing.T) {
	r := kind(t, "Job")
	many := job(t, `"completionMode":"Indexed","completions":100001,"parallelism":10001,$`, "")
	const want = "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, " +
		"Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
	if got := r.Strategy.Warnings(many, nil); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
	next := *many
	if got := r.Strategy.Warnings(&next, many); len(got) > 0 {
		t.Errorf("of an unchanged template: got %q", got)
	}
	next.Generation++
	if got := r.Strategy.Warnings(&next, many); !slices.Equal(got, []string{want}) {
		t.Errorf("of a change: got %q", got)
	}
	for _, spec := range []string{`"completionMode":"Indexed","completions":100000,"parallelism":10001,$`,
		`"completionMode":"Indexed","completions":100001,"parallelism":10000,$`, `"completions":100001,"parallelism":10001,$`} {
		if got := r.Strategy.Warnings(job(t, spec, ""), nil); len(got) > 0 {
			t.Errorf("%s: got %q", spec, got)
		}
	}
}

func TestPolicies(t *testing.T) {
	const indexed = `"completionMode":"Indexed","completions":5,"backoffLimitPerIndex":1,`
	rules := func(n int, rule string) string { return strings.TrimSuffix(strings.Repeat(rule+",", n), ",") }
	codes := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("," + string(rune('0'+i%10)))
		}
		return b.String()[1:]
	}
	p := "spec.podFailurePolicy.rules"
	for _, tt := range []struct{ spec, rules, want string }{
		{indexed, `{"action":"FailIndex","onExitCodes":{"containerName":"c","operator":"In","values":[1,2]}},{"action":"Count","onExitCodes":{"containerName":"d","operator":"NotIn","values":[0]}}`, ``},
		{``, `{"action":"FailIndex","onPodConditions":[{"type":"a"}]}`, p + `[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`},
		{``, `{}`, `
` + p + `[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]
` + p + `[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`},
		{``, `{"action":"Odd","onExitCodes":{"containerName":"e","values":[]},"onPodConditions":[{"type":"a b","status":"Odd"}]}`, `
` + p + `[0].action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore"
` + p + `[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]
` + p + `[0].onExitCodes.containerName: Invalid value: "e": must be one of the container or initContainer names in the pod template
` + p + `[0].onExitCodes.values: Invalid value: []: at least one value is required
` + p + `[0].onPodConditions[0].type: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
` + p + `[0].onPodConditions[0].status: Unsupported value: "Odd": supported values: "False", "True", "Unknown"
` + p + `[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported`},
		{``, `{"action":"Count","onExitCodes":{"operator":"In","values":[0,3,2,3]}}`, `
` + p + `[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator
` + p + `[0].onExitCodes.values[3]: Duplicate value: 3
` + p + `[0].onExitCodes.values: Invalid value: [0,3,2,3]: must be ordered`},
		{``, rules(20, `{"action":"Count","onPodConditions":[`+rules(20, `{"type":"a"}`)+`]}`), ``},
		{``, rules(21, `{"action":"Count","onPodConditions":[{"type":"a"}]}`), p + `: Too many: 21: must have at most 20 items`},
		{``, `{"action":"Count","onPodConditions":[` + rules(21, `{"type":"a"}`) + `]}`, p + `[0].onPodConditions: Too many: 21: must have at most 20 items`},
	} {
		checktest.Want(t, create(kind(t, "Job"), job(t, tt.spec+`"podFailurePolicy":{"rules":[`+tt.rules+`]},$`, "")), tt.want)
	}
	long := job(t, `"podFailurePolicy":{"rules":[{"action":"Count","onExitCodes":{"operator":"NotIn","values":[`+codes(256)+`]}}]},$`, "")
	if errs := create(kind(t, "Job"), long); len(errs) == 0 || errs[0].Error() != p+"[0].onExitCodes.values: Too many: 256: must have at most 255 items" {
		t.Errorf("256 exit codes: got %v", errs)
	}
	long.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values = long.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values[:255]
	if errs := create(kind(t, "Job"), long); len(errs) == 0 || strings.Contains(errs[0].Error(), "Too many") {
		t.Errorf("255 exit codes: got %v", errs)
	}
	checktest.Want(t, create(kind(t, "Job"), job(t, `"podFailurePolicy":{"rules":[]},"podReplacementPolicy":"TerminatingOrFailed",$`, "")),
		`spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`)

	p = "spec.successPolicy"
	for _, tt := range []struct{ spec, rules, want string }{
		{indexed, `{"succeededIndexes":"0,2-4","succeededCount":4},{"succeededCount":5},{"succeededIndexes":""}`, ``},
		{``, `{"succeededCount":1}`, p + `: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode`},
		{indexed, ``, p + `.rules: Required value: at least one rules must be specified when the successPolicy is specified`},
		{indexed, `{}`, p + `.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified`},
		{indexed, rules(20, `{"succeededCount":1}`), ``},
		{indexed, rules(21, `{"succeededCount":1}`), p + `.rules: Too many: 21: must have at most 20 items`},
		{indexed, `{"succeededCount":-1},{"succeededCount":6}`, `
` + p + `.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0
` + p + `.rules[1].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)`},
		{indexed, `{"succeededIndexes":"0-1","succeededCount":3}`, p + `.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)`},
		{indexed, `{"succeededIndexes":"a"}`, p + `.rules[0].succeededIndexes: Invalid value: "a": error parsing succeededIndexes: cannot convert string to integer for index: "a"`},
	} {
		checktest.Want(t, create(kind(t, "Job"), job(t, tt.spec+`"successPolicy":{"rules":[`+tt.rules+`]},$`, "")), tt.want)
	}
	for n, want := range map[int]bool{maxSucceededIndexes: false, maxSucceededIndexes + 1: true} {
		j := job(t, indexed+`"successPolicy":{"rules":[{"succeededIndexes":"`+strings.Repeat("x", n)+`"}]},$`, "")
		errs := create(kind(t, "Job"), j)
		if got := strings.Contains(errs[0].Error(), "Too long: may not be more than 65536 bytes"); got != want {
			t.Errorf("%d bytes of indexes: got %v", n, errs[0])
		}
	}
}

func TestIndexes(t *testing.T) {
	for _, tt := range []struct {
		text  string
		count int32
		want  string
	}{
		{"", 0, ""}, {"0", 1, ""}, {"0-1", 2, ""}, {"1,3-5,7", 5, ""}, {"9", 1, ""},
		{"1-2-3", 0, `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"x", 0, `cannot convert string to integer for index: "x"`}, {"1-x", 0, `cannot convert string to integer for index: "x"`},
		{"10", 0, `too large index: "10"`}, {"1-10", 0, `too large index: "10"`},
		{"2-2", 0, "non-increasing order, previous: 2, current: 2"}, {"3-2", 0, "non-increasing order, previous: 3, current: 2"},
		{"1,1", 0, "non-increasing order, previous: 1, current: 1"}, {"1-3,2", 0, "non-increasing order, previous: 3, current: 2"},
	} {
		count, err := countIndexes(tt.text, 10)
		if got := ""; err != nil {
			got = err.Error()
			if got != tt.want {
				t.Errorf("%q: got %s, want %s", tt.text, got, tt.want)
			}
		} else if count != tt.count || tt.want != "" {
			t.Errorf("%q: got %d, want %d, %s", tt.text, count, tt.count, tt.want)
		}
	}
	for _, tt := range []struct {
		a, b  string
		index int32
		found bool
	}{
		{"", "1", 0, false}, {"1", "", 0, false}, {"1", "1", 1, true}, {"1-3", "3", 3, true}, {"3", "1-3", 3, true}, {"1,5", "2-4,6", 0, false},
		{"0-2,5", "3,4-5", 5, true}, {"x,3", "3", 3, true}, {"3", "x,3", 3, true}, {"3-1", "2", 0, false}, {"0,4", "1,2,4", 4, true}, {"1,2,4", "0,4", 4, true},
		{"2-5", "3-4", 3, true},
	} {
		if index, found := overlap(tt.a, tt.b, 10); index != tt.index || found != tt.found {
			t.Errorf("%q and %q: got %d, %v", tt.a, tt.b, index, found)
		}
	}
}
