package admission_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// runtimeClasses lists runtime classes. Only a consistent read finds the class "late", and the
// class "hidden" cannot be read.
type runtimeClasses []*nodev1.RuntimeClass

func (c runtimeClasses) List(_ context.Context, fresh request.Freshness) ([]*nodev1.RuntimeClass, error) {
	if fresh == request.Consistent {
		c = append(c, &nodev1.RuntimeClass{ObjectMeta: meta.ObjectMeta{Name: "late"}})
	}
	return c, nil
}

func (runtimeClasses) Hidden(_ context.Context, name string) error {
	if name == "hidden" {
		return meta.NewStoreReadError("hidden cannot be read", nil)
	}
	return nil
}

func decoded[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := codec.DecodeJSON([]byte(text), obj); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return obj
}

// TestRuntimeClass mutates pods twice, because a mutator must allow it, and then validates them.
func TestRuntimeClass(t *testing.T) {
	const prefix = `pods "p" is forbidden: `
	const other = prefix + "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
	const unfounded = prefix + "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
	some := runtimeClasses{
		decoded[nodev1.RuntimeClass](t, `{"metadata":{"name":"plain"}}`),
		decoded[nodev1.RuntimeClass](t, `{"metadata":{"name":"heavy"},"overhead":{"podFixed":{"cpu":"250m"}}}`),
		decoded[nodev1.RuntimeClass](t, `{"metadata":{"name":"light"},"overhead":{}}`),
		decoded[nodev1.RuntimeClass](t, `{"metadata":{"name":"placed"},"scheduling":{"nodeSelector":{"a":"1","b":"2"},
			"tolerations":[{"key":"k","operator":"Exists"},{"key":"l","operator":"Equal","value":"v","effect":"NoSchedule"}]}}`),
	}
	for _, tt := range []struct{ name, pod, want, refused string }{
		{"no class", `{}`, `{}`, ""},
		{"no class, overhead", `{"spec":{"overhead":{"cpu":"1"}}}`, "", unfounded},
		{"no class, empty overhead", `{"spec":{"overhead":{}}}`, "", unfounded},
		{"plain", `{"spec":{"runtimeClassName":"plain"}}`, `{"spec":{"runtimeClassName":"plain"}}`, ""},
		{"plain, overhead", `{"spec":{"runtimeClassName":"plain","overhead":{"cpu":"1"}}}`, "", unfounded},
		{"just created", `{"spec":{"runtimeClassName":"late"}}`, `{"spec":{"runtimeClassName":"late"}}`, ""},
		{"unknown", `{"spec":{"runtimeClassName":"nope"}}`, "", prefix + `pod rejected: RuntimeClass "nope" not found`},
		{"not readable", `{"spec":{"runtimeClassName":"hidden"}}`, "", "hidden cannot be read"},
		{"heavy", `{"spec":{"runtimeClassName":"heavy"}}`, `{"spec":{"runtimeClassName":"heavy","overhead":{"cpu":"250m"}}}`, ""},
		{"heavy, the same", `{"spec":{"runtimeClassName":"heavy","overhead":{"cpu":"0.25"}}}`,
			`{"spec":{"runtimeClassName":"heavy","overhead":{"cpu":"250m"}}}`, ""},
		{"heavy, another", `{"spec":{"runtimeClassName":"heavy","overhead":{"cpu":"1"}}}`, "", other},
		{"light, another", `{"spec":{"runtimeClassName":"light","overhead":{"cpu":"1"}}}`, "", other},
		{"placed", `{"spec":{"runtimeClassName":"placed"}}`, `{"spec":{"nodeSelector":{"a":"1","b":"2"},"tolerations":[
			{"key":"k","operator":"Exists"},{"key":"l","operator":"Equal","value":"v","effect":"NoSchedule"}],"runtimeClassName":"placed"}}`, ""},
		{"placed further", `{"spec":{"runtimeClassName":"placed","nodeSelector":{"b":"2","c":"3"},"tolerations":[
			{"key":"k","operator":"Equal","value":"x"},{"key":"l","operator":"Exists"}]}}`,
			`{"spec":{"nodeSelector":{"a":"1","b":"2","c":"3"},
			"tolerations":[{"key":"l","operator":"Exists"},{"key":"k","operator":"Exists"}],"runtimeClassName":"placed"}}`, ""},
		{"placed elsewhere", `{"spec":{"runtimeClassName":"placed","nodeSelector":{"a":"0","b":"0"}}}`, "",
			prefix + "conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 0"},
	} {
		plugin, pod := admission.NewRuntimeClass(some), decoded[corev1.Pod](t, tt.pod)
		a := podAttributes(admission.Create, pod, nil)
		err := plugin.Mutate(t.Context(), a)
		if err == nil {
			err = plugin.Mutate(t.Context(), a)
		}
		if err == nil {
			err = plugin.Validate(t.Context(), a)
		}
		if got := errorText(err); got != tt.refused {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.refused)
		}
		if tt.refused != "" {
			continue
		}
		if got, want := asJSON(t, pod), asJSON(t, decoded[corev1.Pod](t, tt.want)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
	if _, added := some[3].Scheduling.NodeSelector["c"]; added {
		t.Error("the selector of a class has been changed")
	}
}

// TestRuntimeClassIsValidated changes the overhead after the mutators: the pod is refused.
func TestRuntimeClassIsValidated(t *testing.T) {
	some := runtimeClasses{decoded[nodev1.RuntimeClass](t, `{"metadata":{"name":"heavy"},"overhead":{"podFixed":{"cpu":"250m"}}}`)}
	for _, overhead := range []string{`{}`, `{"cpu":"1"}`, `{"cpu":"250m","memory":"0"}`} {
		a := podAttributes(admission.Create, decoded[corev1.Pod](t, `{"spec":{"runtimeClassName":"heavy","overhead":`+overhead+`}}`), nil)
		const want = `pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`
		if got := errorText(admission.NewRuntimeClass(some).Validate(t.Context(), a)); got != want {
			t.Errorf("%s: got %q", overhead, got)
		}
	}
}

// TestRuntimeClassOfOtherPods: a write that the plugin ignores allocates nothing.
func TestRuntimeClassOfOtherPods(t *testing.T) {
	plugin, a := admission.NewRuntimeClass(nil), podAttributes(admission.Create, &corev1.Pod{}, nil)
	if got := testing.AllocsPerRun(100, func() {
		if plugin.Mutate(t.Context(), a) != nil || plugin.Validate(t.Context(), a) != nil {
			t.Error("a pod without a class is refused")
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func asJSON(t *testing.T, obj any) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
