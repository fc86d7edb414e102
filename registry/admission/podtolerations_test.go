package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const (
	tolerationHead = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n"
	byDefaultKey   = "scheduler.alpha.kubernetes.io/defaultTolerations"
	whitelistKey   = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

func TestPodTolerationRestriction(t *testing.T) {
	const (
		config = tolerationHead + "default: [{key: cluster, operator: Exists}]\nwhitelist: [{key: cluster, operator: Exists}, {key: a, value: b, operator: Equal}]\n"
		clash  = "pod tolerations (possibly merged with namespace default tolerations) conflict with its "
		memory = `{"key":"node.kubernetes.io/memory-pressure","operator":"Exists","effect":"NoSchedule"}`
		bySelf = `{"key":"cluster","operator":"Exists"}`
	)
	read := annotated(map[string]map[string]string{
		"plain": nil,
		"own":   {byDefaultKey: `[{"key":"own","operator":"Exists"}]`, whitelistKey: `[{"operator":"Exists"}]`},
		"none":  {byDefaultKey: "", whitelistKey: ""},
		"strict": {byDefaultKey: "null", whitelistKey: `[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":5},
			{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]`},
		"odd": {byDefaultKey: `[{"key":1}]`}, "odder": {byDefaultKey: "{}"}, "broken": {byDefaultKey: "[]", whitelistKey: "["},
	})
	const limited = `"containers":[{"name":"c","resources":{"limits":{"memory":"1"}}}]`
	for _, tt := range []struct {
		namespace  string
		op         admission.Operation
		spec, want string // want has the tolerations
		refused    string
	}{
		{"plain", admission.Create, `{}`, `[` + bySelf + `]`, ""},
		{"plain", admission.Update, `{}`, `null`, ""},
		{"plain", admission.Create, `{"tolerations":[{"key":"a","operator":"Equal","value":"b","effect":"NoSchedule"}]}`,
			`[{"key":"a","operator":"Equal","value":"b","effect":"NoSchedule"},` + bySelf + `]`, ""},
		{"plain", admission.Create, `{"tolerations":[{"key":"a","operator":"Equal","value":"c"}]}`, "", clash + "cluster whitelist"},
		{"plain", admission.Create, `{` + limited + `}`, "", clash + "cluster whitelist"},
		{"own", admission.Create, `{` + limited + `}`, `[{"key":"own","operator":"Exists"},` + memory + `]`, ""},
		{"own", admission.Update, `{"initContainers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}`, `[` + memory + `]`, ""},
		{"own", admission.Create, `{"resources":{},` + limited + `}`, `[{"key":"own","operator":"Exists"}]`, ""},
		{"own", admission.Create, `{"containers":[{"resources":{"limits":{"memory":"0","x/y":"1"}}}]}`, `[{"key":"own","operator":"Exists"}]`, ""},
		{"own", admission.Create, `{"tolerations":[{"key":"own","value":"x","operator":"Equal"},{"operator":"Exists"},{"operator":"Exists"}]}`, `[{"operator":"Exists"}]`, ""},
		{"none", admission.Create, `{"tolerations":[{"key":"z","operator":"Exists"}]}`, `[{"key":"z","operator":"Exists"}]`, ""},
		{"strict", admission.Create, `{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":5}],` + limited + `}`,
			`[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":5},` + memory + `]`, ""},
		{"strict", admission.Create, `{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":6}]}`, "", clash + "namespace whitelist"},
		{"strict", admission.Create, `{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}]}`, "", clash + "namespace whitelist"},
		{"strict", admission.Create, `{}`, "null", ""},
		{"odd", admission.Create, `{}`, "", "json: cannot unmarshal number into Go struct field Toleration.key of type string"},
		{"odder", admission.Create, `{}`, "", "json: cannot unmarshal object into Go value of type []v1.Toleration"},
		{"broken", admission.Create, `{}`, "null", ""},
		{"broken", admission.Create, `{"tolerations":[{"operator":"Exists"}]}`, "", "unexpected end of JSON input"},
		{"missing", admission.Create, `{}`, "", `namespaces "missing" not found`},
	} {
		p, err := admission.NewPodTolerationRestriction([]byte(config), read, podspec.Tolerations)
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{}
		if err := json.Unmarshal([]byte(tt.spec), &pod.Spec); err != nil {
			t.Fatal(err)
		}
		got := messageOf(p.Mutate(t.Context(), inNamespace(tt.namespace, tt.op, pod)))
		list, err := json.Marshal(pod.Spec.Tolerations)
		if err != nil || got != tt.refused || got == "" && string(list) != tt.want {
			t.Errorf("%s %s %s: got %s, %q, want %s, %q", tt.op, tt.namespace, tt.spec, list, got, tt.want, tt.refused)
		}
	}
}

// TestManyTolerations: a pod with very many tolerations is refused before they are compared.
func TestManyTolerations(t *testing.T) {
	p, err := admission.NewPodTolerationRestriction(nil, annotated(map[string]map[string]string{"ns": nil}), podspec.Tolerations)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: make([]corev1.Toleration, 4097)}}
	if got, want := messageOf(p.Mutate(t.Context(), inNamespace("ns", admission.Create, pod))),
		`pods "p" is forbidden: the pod and its namespace have more than 4096 tolerations`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPodTolerationConfiguration(t *testing.T) {
	for _, tt := range []struct{ configuration, want string }{
		{tolerationHead + "default: [{operator: Equal}]", `invalid config: podtolerationrestriction.default[0].operator: Invalid value: "Equal": operator must be Exists`},
		{tolerationHead + "whitelist: [{key: a, effect: Never}]", `invalid config: podtolerationrestriction.whitelist[0].effect: Unsupported value: "Never"`},
		{tolerationHead + "whitelist: [{key: 5}]", "whitelist.key"},
		{tolerationHead + "other: 5", ""},
		{"kind: Configuration\napiVersion: v1", `no kind "Configuration" is registered for version "v1"`},
	} {
		_, err := admission.NewPodTolerationRestriction([]byte(tt.configuration), annotated(nil), podspec.Tolerations)
		if got := messageOf(err); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", tt.configuration, got, tt.want)
		}
	}
}

func FuzzPodTolerationConfiguration(f *testing.F) {
	f.Add(tolerationHead+"default: [{key: a, operator: Exists}]\nwhitelist: [{effect: NoExecute}]", `[{"key":"a"}]`)
	f.Add("", `[{"operator":"Exists","tolerationSeconds":5}]`)
	f.Fuzz(func(t *testing.T, text, annotation string) {
		read := annotated(map[string]map[string]string{"ns": {byDefaultKey: annotation, whitelistKey: annotation}})
		p, err := admission.NewPodTolerationRestriction([]byte(text), read, podspec.Tolerations)
		if err != nil {
			return
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}}}
		err = p.Mutate(t.Context(), inNamespace("ns", admission.Create, pod))
		if _, ok := err.(*meta.StatusError); err != nil && !ok {
			t.Errorf("got %T", err)
		}
	})
}
