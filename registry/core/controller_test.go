package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

const webTemplate = `"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

func TestReplicationController(t *testing.T) {
	r := resource(t, "replicationcontrollers")
	const t1, negative = "spec.template.", "must be greater than or equal to 0"
	for _, tt := range []struct{ in, want string }{
		{webTemplate, ``},
		{`"replicas":-1,"minReadySeconds":-2`, `
spec.minReadySeconds: Invalid value: -2: ` + negative + `
spec.selector: Required value
spec.replicas: Invalid value: -1: ` + negative + `
spec.template: Required value`},
		{`"selector":{"app":"db"},` + webTemplate, t1 + "metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`"},
		{strings.Replace(webTemplate, `"spec":{`, `"spec":{"restartPolicy":"Never","activeDeadlineSeconds":1,`, 1),
			t1 + `spec.restartPolicy: Unsupported value: "Never": supported values: "Always"` + "\n" +
				t1 + `spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported`},
		{strings.Replace(webTemplate, `"image":"i"`, `"image":""`, 1), t1 + `spec.containers[0].image: Required value`},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.ReplicationController](t, `{"spec":{`+tt.in+`}}`)), tt.want)
	}
	for name, want := range map[string]string{"made-": "", "Made": "", "a/b": "may not contain '/'"} {
		if got := strings.Join(r.Strategy.ValidateName(name, true), "\n"); got != want {
			t.Errorf("names that begin with %s: got %q, want %q", name, got, want)
		}
	}
	if got := strings.Join(r.Strategy.ValidateName("A"+strings.Repeat("a", 253), false), "\n"); got != "must be no more than 253 bytes\n"+checktest.Subdomain {
		t.Errorf("a wrong name: got %q", got)
	}
	if !r.Strategy.OrphanByDefault {
		t.Error("clients of this version leave the pods alone unless they say otherwise")
	}
}

// TestOldTemplates: a template may keep a value that an older server accepted.
func TestOldTemplates(t *testing.T) {
	odd := strings.Replace(webTemplate, `"spec":{`, `"spec":{"overhead":{"hugepages-2Mi":"1Mi","memory":"1"},`, 1)
	const want = `template.spec.overhead.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`
	controllers, templates := resource(t, "replicationcontrollers"), resource(t, "podtemplates")
	rc := checktest.Decode[corev1.ReplicationController](t, `{"spec":{"selector":{"app":"web"},`+odd+`}}`)
	checktest.Want(t, create(controllers, rc), "spec."+want)
	checktest.Want(t, update(controllers, "", scheme.DeepCopy(rc), rc), "")
	bare := scheme.DeepCopy(rc)
	bare.Spec.Template = nil
	checktest.Want(t, update(controllers, "", rc, bare), "spec."+want)
	pt := checktest.Decode[corev1.PodTemplate](t, `{`+odd+`}`)
	checktest.Want(t, create(templates, pt), want)
	checktest.Want(t, update(templates, "", scheme.DeepCopy(pt), pt), "")
}

// TestNonConvertible: an annotation names the fields of another version that this version cannot
// show in full.
func TestNonConvertible(t *testing.T) {
	r := resource(t, "replicationcontrollers")
	now := checktest.Decode[corev1.ReplicationController](t, `{"spec":{"selector":{"app":"web"},`+webTemplate+`}}`)
	for key, want := range map[string]string{
		"non-convertible.kubernetes.io/spec.selector":   `spec.selector: Invalid value: {"app":"web"}: cannot update non-convertible selector`,
		"non-convertible.kubernetes.io/status":          `status: Not found: "v": unknown non-convertible field`,
		"non-convertible.kubernetes.io/a/spec.selector": ``,
		"non-convertible.kubernetes.io":                 ``,
		"example.com/spec.selector":                     ``,
	} {
		old := scheme.DeepCopy(now)
		old.Annotations = map[string]string{key: "v"}
		if checktest.Want(t, update(r, "", scheme.DeepCopy(now), old), strings.Repeat(want, strings.Count(key, "status"))); strings.Contains(key, "status") {
			continue
		}
		old.Spec.Selector = map[string]string{"app": "db"}
		checktest.Want(t, update(r, "", scheme.DeepCopy(now), old), want)
	}
}

func TestReplicationControllerStatus(t *testing.T) {
	r := resource(t, "replicationcontrollers")
	old := checktest.Decode[corev1.ReplicationController](t, `{"spec":{`+webTemplate+`}}`)
	const negative, more = "must be greater than or equal to 0", "cannot be greater than status.replicas"
	for in, want := range map[string]string{
		`"replicas":3,"fullyLabeledReplicas":3,"readyReplicas":3,"availableReplicas":3,"observedGeneration":1`: ``,
		`"replicas":-1,"fullyLabeledReplicas":-1,"readyReplicas":-1,"availableReplicas":-1,"observedGeneration":-1`: `
status.replicas: Invalid value: -1: ` + negative + `
status.fullyLabeledReplicas: Invalid value: -1: ` + negative + `
status.readyReplicas: Invalid value: -1: ` + negative + `
status.availableReplicas: Invalid value: -1: ` + negative + `
status.observedGeneration: Invalid value: -1: ` + negative,
		`"replicas":1,"fullyLabeledReplicas":2,"readyReplicas":2,"availableReplicas":3`: `
status.fullyLabeledReplicas: Invalid value: 2: ` + more + `
status.readyReplicas: Invalid value: 2: ` + more + `
status.availableReplicas: Invalid value: 3: ` + more + `
status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas`,
	} {
		checktest.Want(t, update(r, "status", checktest.Decode[corev1.ReplicationController](t, `{"status":{`+in+`}}`), old), want)
	}
	now := scheme.DeepCopy(old)
	now.Labels = nil
	checktest.Want(t, update(r, "status", now, old), "")
	if now.Labels["app"] != "web" {
		t.Errorf("labels: got %v, want those of the template", now.Labels)
	}
}

// TestTemplateWarnings: an update of a controller warns about the old template, not about the new
// one.
func TestTemplateWarnings(t *testing.T) {
	const odd = `{"spec":{"selector":{"app":"web"},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}]}]}}}}`
	const said = `template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`
	rc := checktest.Decode[corev1.ReplicationController](t, odd)
	plain := checktest.Decode[corev1.ReplicationController](t, `{"metadata":{"name":"a.b","generation":2},"spec":{`+webTemplate+`}}`)
	bare := checktest.Decode[corev1.ReplicationController](t, `{"metadata":{"generation":1}}`)
	template := &corev1.PodTemplate{Template: *rc.Spec.Template}
	next := scheme.DeepCopy(template)
	next.Generation = 2
	controllers, templates := resource(t, "replicationcontrollers").Strategy.Warnings, resource(t, "podtemplates").Strategy.Warnings
	for name, tt := range map[string]struct{ got, want []string }{
		"new":                {controllers(rc, nil), []string{"spec." + said}},
		"a name of pods":     {controllers(plain, nil), []string{"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [" + "must not contain dots]"}},
		"unchanged":          {controllers(rc, rc), nil},
		"the old template":   {controllers(plain, rc), []string{"spec." + said}},
		"the new template":   {controllers(rc, plain), nil},
		"no template":        {controllers(plain, bare), nil},
		"a template":         {templates(template, nil), []string{said}},
		"a template, kept":   {templates(template, template), nil},
		"a changed template": {templates(next, template), []string{said}},
	} {
		if len(tt.got) != len(tt.want) || len(tt.got) > 0 && tt.got[0] != tt.want[0] && name != "a name of pods" {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
}

func TestControllerCells(t *testing.T) {
	for kind, want := range map[string]string{
		"replicationcontrollers": "[x 3 2 1 <unknown> c i app=web]",
		"podtemplates":           "[x c i app=web]",
	} {
		var got []any
		if kind == "podtemplates" {
			got = resource(t, kind).Table.Cells(checktest.Decode[corev1.PodTemplate](t, `{`+webTemplate+`}`), testTime)
		} else {
			got = resource(t, kind).Table.Cells(checktest.Decode[corev1.ReplicationController](t,
				`{"spec":{"replicas":3,`+webTemplate+`},"status":{"replicas":2,"readyReplicas":1}}`), testTime)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", kind, got, want)
		}
	}
	bare := resource(t, "replicationcontrollers").Table.Cells(&corev1.ReplicationController{}, testTime)
	if fmt.Sprint(bare) != "[ 0 0 0 <unknown>   <none>]" {
		t.Errorf("empty: got %v", bare)
	}
}

func TestControllerScale(t *testing.T) {
	rc := checktest.Decode[corev1.ReplicationController](t, `{"spec":{"replicas":3,`+webTemplate+`},"status":{"replicas":2}}`)
	shown, err := resource(t, "replicationcontrollers").Subresources[0].Project.Show(rc, registry.ToRead)
	if err != nil {
		t.Fatal(err)
	}
	s := shown.(*autoscalingv1.Scale)
	if s.Spec.Replicas != 3 || s.Status.Replicas != 2 || s.Status.Selector != "app=web" {
		t.Errorf("got %+v", s)
	}
}

// TestTemplatesArePrepared: fields that are not served are dropped from templates, unless the old
// template has them.
func TestTemplatesArePrepared(t *testing.T) {
	const with = `"template":{"metadata":{"labels":{"app":"web"}},"spec":{"schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"c","image":"i"}]}}`
	template := func() *corev1.PodTemplate { return checktest.Decode[corev1.PodTemplate](t, `{`+with+`}`) }
	rc := func() *corev1.ReplicationController {
		return checktest.Decode[corev1.ReplicationController](t, `{"spec":{`+with+`}}`)
	}
	templates, controllers := resource(t, "podtemplates").Strategy.Prepare, resource(t, "replicationcontrollers").Strategy.Prepare
	made, kept := template(), template()
	templates(nil, made, nil)
	templates(nil, kept, template())
	if made.Template.Spec.SchedulingGroup != nil || kept.Template.Spec.SchedulingGroup == nil {
		t.Errorf("templates: got %v and %v", made.Template.Spec.SchedulingGroup, kept.Template.Spec.SchedulingGroup)
	}
	first, then := rc(), rc()
	controllers(nil, first, nil)
	controllers(nil, then, rc())
	if first.Spec.Template.Spec.SchedulingGroup != nil || then.Spec.Template.Spec.SchedulingGroup == nil {
		t.Errorf("controllers: got %v and %v", first.Spec.Template.Spec.SchedulingGroup, then.Spec.Template.Spec.SchedulingGroup)
	}
}
