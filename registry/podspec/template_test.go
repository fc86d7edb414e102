package podspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestTemplate checks values that a template may have and a pod may not: an image with spaces, a
// token without a service account, and a name of any length. The labels and annotations of a
// template are checked.
func TestTemplate(t *testing.T) {
	pod := decode(t, `{"metadata":{"name":"`+strings.Repeat("n", 250)+`","labels":{"a b":"c"},"annotations":{"-":"","kubernetes.io/config.mirror":"m",
		"seccomp.security.alpha.kubernetes.io/pod":"unconfined"}},"spec":{"hostNetwork":true,"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},"volumes":[{"name":"v","image":{}},{"name":"data","ephemeral":{"volumeClaimTemplate":{"spec":{
			"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}},{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}],
		"containers":[{"name":"c","image":" i","ports":[{"containerPort":80}]}],"ephemeralContainers":[{"name":"e","image":"i"}]}}`)
	pod.Spec.Containers[0].Ports[0].HostPort = 0 // a default sets it
	const name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	checktest.Want(t, Rules{}.Template(field.NewPath("spec", "template"), &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}), `
spec.template.labels: Invalid value: "a b": `+name+`
spec.template.annotations: Invalid value: "-": `+name+`
spec.template.annotations[kubernetes.io/config.mirror]: Invalid value: "m": must set spec.nodeName if mirror pod annotation is set
spec.template.spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match
spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`)
}

func TestSelected(t *testing.T) {
	template := &corev1.PodTemplateSpec{}
	template.Labels = map[string]string{"a": "b"}
	for _, tt := range []struct {
		selector *meta.LabelSelector
		bad      bool
	}{
		{nil, true}, {&meta.LabelSelector{}, false}, {&meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, false},
		{&meta.LabelSelector{MatchLabels: map[string]string{"a": "c"}}, true},
	} {
		selector, err := meta.SelectorFrom(tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if tt.bad {
			want = "t.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"
		}
		checktest.Want(t, SelectorMatchesTemplate(field.NewPath("t"), template, selector), want)
	}
}

func TestLasting(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways}}
	checktest.Want(t, LongRunningTemplate(field.NewPath("t"), template, "Thing"), "")
	template.Spec.RestartPolicy, template.Spec.ActiveDeadlineSeconds = corev1.RestartPolicyNever, new(int64(1))
	checktest.Want(t, LongRunningTemplate(field.NewPath("t"), template, "Thing"), `
t.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"
t.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in Thing is not Supported`)
}

func TestSelector(t *testing.T) {
	p := field.NewPath("s")
	checktest.Want(t, Selector(p, nil, "thing"), "s: Required value")
	checktest.Want(t, Selector(p, &meta.LabelSelector{}, "thing"), "s: Invalid value: {}: empty selector is invalid for thing")
	checktest.Want(t, Selector(p, &meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, "thing"), "")
	checktest.Want(t, Selector(p, &meta.LabelSelector{MatchExpressions: []meta.LabelSelectorRequirement{{Key: "a", Operator: "X"}}}, "thing"),
		`s.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`)
}

func TestDropDisabledTemplate(t *testing.T) {
	with := func() *corev1.ReplicationController {
		t := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{}}}
		return &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: t}}
	}
	for _, tt := range []struct {
		name string
		old  *corev1.ReplicationController
		kept bool
	}{
		{"no old object", nil, false},
		{"no old template", &corev1.ReplicationController{}, false},
		{"an old template that uses it", with(), true},
	} {
		rc := with()
		DropDisabledTemplate(rc, tt.old, templateOf)
		if kept := rc.Spec.Template.Spec.SchedulingGroup != nil; kept != tt.kept {
			t.Errorf("%s: the group is kept: got %v, want %v", tt.name, kept, tt.kept)
		}
	}
	none := &corev1.ReplicationController{}
	if DropDisabledTemplate(none, with(), templateOf); none.Spec.Template != nil {
		t.Error("there is a template where there was none")
	}
}

func templateOf(rc *corev1.ReplicationController) *corev1.PodTemplateSpec { return rc.Spec.Template }

func TestTemplateWarnings(t *testing.T) {
	p, template := field.NewPath("template"), &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}
	if got := TemplateWarnings(p, nil); got != nil {
		t.Errorf("no template: got %q", got)
	}
	if got, want := TemplateWarnings(p, template), Warnings(p, &template.Spec, &template.ObjectMeta); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
