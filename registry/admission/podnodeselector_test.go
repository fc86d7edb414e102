package admission_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// annotated returns a look-up of the annotations of namespaces, by name.
func annotated(namespaces map[string]map[string]string) admission.NamespaceAnnotations {
	return func(_ context.Context, namespace string) (map[string]string, error) {
		found, ok := namespaces[namespace]
		if !ok {
			return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, namespace)
		}
		return found, nil
	}
}

// inNamespace describes the write of a pod p in a namespace.
func inNamespace(namespace string, op admission.Operation, pod *corev1.Pod) *admission.Attributes {
	a := podAttributes(op, pod, nil)
	pod.Name, pod.Namespace, a.Namespace = "p", namespace, namespace
	return a
}

func TestPodNodeSelector(t *testing.T) {
	const (
		annotation = "scheduler.alpha.kubernetes.io/node-selector"
		forbidden  = `pods "p" is forbidden: pod node label selector `
	)
	read := annotated(map[string]map[string]string{
		"plain": nil, "listed": {"other": "x"},
		"gpu": {annotation: "disk=ssd, gpu = true"}, "empty": {annotation: ""},
		"two": {annotation: "a=b=c"}, "key": {annotation: "-=b"}, "value": {annotation: "a=-"},
	})
	const config = "podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: zone=a\n  listed: zone=a,size=1\n  gpu: \"\"\n"
	type labels = map[string]string
	for _, tt := range []struct {
		namespace string
		selector  labels
		want      labels
		refused   string
	}{
		{"plain", nil, labels{"zone": "a"}, ""},
		{"plain", labels{"zone": "a", "b": "c"}, labels{"zone": "a", "b": "c"}, ""},
		{"plain", labels{"zone": "b"}, nil, forbidden + "conflicts with its namespace node label selector"},
		{"listed", labels{"size": "1"}, labels{"zone": "a", "size": "1"}, ""},
		{"listed", labels{"size": "2"}, nil, forbidden + "labels conflict with its namespace whitelist"},
		{"gpu", labels{"b": "c"}, labels{"disk": "ssd", "gpu": "true", "b": "c"}, ""},
		{"empty", labels{"zone": "b"}, labels{"zone": "b"}, ""},
		{"empty", nil, nil, ""},
		{"two", nil, nil, "invalid selector: [a b c]"},
		{"key", nil, nil, `<nil>: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with ` +
			`an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		{"value", nil, nil, `[a]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start ` +
			`and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		{"missing", nil, nil, "Internal error occurred: namespace missing does not exist"},
	} {
		p, err := admission.NewPodNodeSelector([]byte(config), read)
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: tt.selector}}
		a := inNamespace(tt.namespace, admission.Create, pod)
		err = p.Mutate(t.Context(), a)
		if got := messageOf(err); got != tt.refused || err == nil && !maps.Equal(pod.Spec.NodeSelector, tt.want) {
			t.Errorf("%s with %v: got %v, %q, want %v, %q", tt.namespace, tt.selector, pod.Spec.NodeSelector, got, tt.want, tt.refused)
		}
		if got := messageOf(p.Validate(t.Context(), a)); tt.refused == "" && got != "" || got == "" && tt.refused != "" {
			t.Errorf("%s with %v: Validate says %q, Mutate %q", tt.namespace, tt.selector, got, tt.refused)
		}
	}
}

// TestPodNodeSelectorConfiguration: unknown fields and scalars of any type are accepted. A value
// that is no selector is an error that names the field.
func TestPodNodeSelectorConfiguration(t *testing.T) {
	for _, tt := range []struct{ configuration, want string }{
		{"", ""},
		{"other: 1", ""},
		{`{"podNodeSelectorPluginConfig":null}`, ""},
		{`{"PODNodeSelectorPluginConfig":{"a":"b"}}`, "podNodeSelectorPluginConfig[a]: invalid selector: [b]"},
		{"podNodeSelectorPluginConfig: {a: 5}", "podNodeSelectorPluginConfig[a]: invalid selector: [5]"},
		{"podNodeSelectorPluginConfig: {a: 0.5}", "podNodeSelectorPluginConfig[a]: invalid selector: [0.5]"},
		{"podNodeSelectorPluginConfig: {a: yes}", "podNodeSelectorPluginConfig[a]: invalid selector: [true]"},
		{"podNodeSelectorPluginConfig: {a: [b]}", "podNodeSelectorPluginConfig[a]: it is not a string"},
		{"podNodeSelectorPluginConfig: {a: x/=b}", "podNodeSelectorPluginConfig[a]: <nil>: Invalid value: \"x/\""},
		{"podNodeSelectorPluginConfig: [a]", "podNodeSelectorPluginConfig: json: cannot unmarshal array"},
		{"podNodeSelectorPluginConfig: {a: ~}", ""},
		{"a: [", "yaml: line 1"},
	} {
		var data []byte
		if tt.configuration != "" {
			data = []byte(tt.configuration)
		}
		_, err := admission.NewPodNodeSelector(data, annotated(nil))
		if got := messageOf(err); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", tt.configuration, got, tt.want)
		}
	}
}

func FuzzPodNodeSelectorConfiguration(f *testing.F) {
	f.Add("podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: zone=a\n  a: 1.5\n", "a=b,c=d")
	f.Add(`{"podNodeSelectorPluginConfig":{"ns":"a=b"}}`, "a==b")
	f.Fuzz(func(t *testing.T, text, annotation string) {
		p, err := admission.NewPodNodeSelector([]byte(text), annotated(map[string]map[string]string{
			"ns": {"scheduler.alpha.kubernetes.io/node-selector": annotation},
		}))
		if err == nil {
			p.Mutate(t.Context(), inNamespace("ns", admission.Create, &corev1.Pod{}))
		}
	})
}
