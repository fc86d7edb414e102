package batch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
)

// changed returns a copy of a job with fields changed to those of the JSON text.
func changed(t *testing.T, j *batchv1.Job, text string) *batchv1.Job {
	t.Helper()
	next := scheme.DeepCopy(j)
	if err := json.Unmarshal([]byte(text), next); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return next
}

func TestJobUpdate(t *testing.T) {
	const indexed = `"completionMode":"Indexed","completions":5,"parallelism":5,`
	immutable := func(field, value string) string {
		return "spec." + field + ": Invalid value: " + value + ": field is immutable"
	}
	for _, tt := range []struct{ spec, change, want string }{
		{``, `{"spec":{"parallelism":9,"suspend":true,"backoffLimit":1,"activeDeadlineSeconds":9,"ttlSecondsAfterFinished":9}}`, ``},
		{`"completions":5,`, `{"spec":{"completions":6}}`, immutable("completions", "6")},
		{`"parallelism":5,`, `{"spec":{"completions":6}}`, immutable("completions", "6")},
		{indexed, `{"spec":{"completions":6,"parallelism":6}}`, ``},
		{indexed, `{"spec":{"completions":6}}`, `spec.completions: Invalid value: 6: can only be modified in tandem with spec.parallelism`},
		{indexed, `{"spec":{"parallelism":6}}`, ``},
		{``, `{"spec":{"managedBy":"a.b/c"}}`, immutable("managedBy", `"a.b/c"`)},
		{indexed, `{"spec":{"backoffLimitPerIndex":1}}`, immutable("backoffLimitPerIndex", "1")},
		{indexed, `{"spec":{"successPolicy":{"rules":[{"succeededCount":1}]}}}`, immutable("successPolicy", `{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}`)},
		{``, `{"spec":{"podFailurePolicy":{"rules":[]},"podReplacementPolicy":"Failed"}}`, immutable("podFailurePolicy", `{"Rules":[]}`)},
		{`"completions":5,"parallelism":5,`, `{"spec":{"completionMode":"Indexed"}}`, immutable("completionMode", `"Indexed"`)},
	} {
		old := created(t, tt.spec+"$", "")
		checktest.Want(t, update(kind(t, "Job"), changed(t, old, tt.change), old), tt.want)
	}
	old := created(t, `$`, "")
	errs := update(kind(t, "Job"), changed(t, old, `{"spec":{"selector":{"matchLabels":{"job-name":"x"}}}}`), old)
	checktest.Want(t, errs, `spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","job-name":"x"}}: field is immutable`)
}

// TestTemplateUpdate checks that only an idle job may change its template, and only some fields of
// it.
func TestTemplateUpdate(t *testing.T) {
	const (
		scheduling = `{"spec":{"template":{"metadata":{"labels":{"c":"d"},"annotations":{"e":"f"}},"spec":{"nodeSelector":{"a":"b"},"schedulingGates":[{"name":"a"}],
			"tolerations":[{"key":"a","operator":"Exists"}],"affinity":{"nodeAffinity":{}}}}}}`
		resources = `{"spec":{"template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}],"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}}}}`
		other     = `{"spec":{"template":{"spec":{"hostname":"h"}}}}`
		affine    = `{"spec":{"template":{"spec":{"affinity":{"podAffinity":{}}}}}}`
		more      = `{"spec":{"template":{"spec":{"containers":[{},{"name":"e","image":"i","imagePullPolicy":"Always","terminationMessagePath":"/m","terminationMessagePolicy":"File"}]}}}}`
		renamed   = `{"spec":{"template":{"spec":{"containers":[{"name":"f","resources":{"requests":{"cpu":"1"}}}]}}}}`
	)
	const started, suspended = `"startTime":"2030-01-02T03:04:05Z"`, `"conditions":[{"type":"Suspended","status":"True"}]`
	for _, tt := range []struct{ spec, status, change, path string }{
		{`"suspend":true,`, ``, scheduling, ""},
		{`"suspend":true,`, ``, resources, ""},
		{`"suspend":true,`, ``, other, "spec.template.spec"},
		{`"suspend":true,`, ``, affine, "spec.template.spec"},
		{`"suspend":true,`, ``, more, "spec.template.spec"},
		{`"suspend":true,`, ``, renamed, "spec.template.spec"},
		{`"suspend":true,`, started, resources, "spec.template"},
		{`"suspend":true,`, started, scheduling, "spec.template"},
		{`"suspend":true,`, started + `,` + suspended, resources, ""},
		{`"suspend":true,`, started + `,` + suspended + `,"active":1`, resources, "spec.template"},
		{``, ``, resources, "spec.template"},
		{``, ``, other, "spec.template"},
	} {
		old := changed(t, created(t, tt.spec+"$", ""), `{"status":{`+tt.status+`}}`)
		errs := update(kind(t, "Job"), changed(t, old, tt.change), old)
		if tt.path == "" {
			checktest.Want(t, errs, "")
		} else if len(errs) != 1 || errs[0].Field != tt.path || !strings.HasSuffix(errs[0].Error(), ": field is immutable") {
			t.Errorf("%s of %s: got %v, want %s to be immutable", tt.change, tt.status, errs, tt.path)
		}
	}
	// An update can remove the affinity for nodes, but not the affinity for pods.
	for affinity, fine := range map[string]bool{`{"nodeAffinity":{}}`: true, `{"nodeAffinity":{},"podAffinity":{}}`: false} {
		old := created(t, `"suspend":true,$`, "")
		old = changed(t, old, `{"spec":{"template":{"spec":{"affinity":`+affinity+`}}}}`)
		next := scheme.DeepCopy(old)
		next.Spec.Template.Spec.Affinity = nil
		if errs := update(kind(t, "Job"), next, old); len(errs) == 0 != fine {
			t.Errorf("without %s: got %v", affinity, errs)
		}
		next = scheme.DeepCopy(old)
		next.Spec.Template.Spec.Affinity.NodeAffinity = nil
		checktest.Want(t, update(kind(t, "Job"), next, old), "")
	}
}
