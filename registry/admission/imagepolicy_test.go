package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// imageHook is a webhook that answers with a status, or fails, and counts the calls.
type imageHook struct {
	answer string // the response, as JSON
	err    error
	calls  int
	asked  string // the last request, as JSON
}

func (h *imageHook) Call(_ context.Context, in, out any) error {
	h.calls++
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	h.asked = string(text)
	if h.err != nil {
		return h.err
	}
	return json.Unmarshal([]byte(h.answer), out)
}

// imagePolicy makes the plugin with a webhook and fields of its configuration.
func imagePolicy(t *testing.T, hook *imageHook, fields string) *admission.ImagePolicyWebhook {
	t.Helper()
	p, err := admission.NewImagePolicyWebhook([]byte(`imagePolicy: {kubeConfigFile: f`+fields+`}`),
		func(string, time.Duration) (admission.ImageReviewer, error) { return hook, nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// imagePod is a pod with images of each kind.
func imagePod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Annotations: map[string]string{"a.image-policy.k8s.io/b": "c", "image-policy.k8s.io/b": "d"}}}
	pod.Spec.Containers = []corev1.Container{{Image: "one"}}
	pod.Spec.InitContainers = []corev1.Container{{Image: "two"}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "three"}}}
	return pod
}

// TestImagePolicyAnswers checks the result of the creation of a pod and its audit annotations after
// each answer of the webhook.
func TestImagePolicyAnswers(t *testing.T) {
	const prefix = "imagepolicywebhook.image-policy.k8s.io/"
	forbidden := func(text string) string { return `pods "p" is forbidden: ` + text }
	for _, tt := range []struct {
		answer, fields string
		err            error
		want           string
		audit          map[string]string
	}{
		{answer: `{"kind":"ImageReview","apiVersion":"imagepolicy.k8s.io/v1alpha1","status":{"allowed":true}}`},
		{answer: `{"status":{"allowed":true,"auditAnnotations":{"a":"b","x/y":"c","-":"d"}}}`, audit: map[string]string{prefix + "a": "b"}},
		{answer: `{"status":{"reason":"it is old","auditAnnotations":{"a":"b"}}}`, want: forbidden("image policy webhook backend denied one or more images: it is old"), audit: map[string]string{prefix + "a": "b"}},
		{answer: `{}`, want: forbidden("one or more images rejected by webhook backend")},
		{answer: `{"kind":"Pod","status":{"allowed":true}}`, want: forbidden("the webhook's response is not an ImageReview of imagepolicy.k8s.io/v1alpha1")},
		{err: errors.New("it is away"), want: forbidden("it is away")},
		{err: errors.New("it is away"), fields: ", defaultAllow: true", audit: map[string]string{prefix + "failed-open": "true"}},
	} {
		hook, audit := &imageHook{answer: tt.answer, err: tt.err}, map[string]string{}
		p, pod := imagePolicy(t, hook, tt.fields), imagePod()
		a := inNamespace("ns", admission.Create, pod)
		a.Listen(nil, func(key, value string) { audit[key] = value })
		if got := messageOf(p.Validate(t.Context(), a)); got != tt.want || !maps.Equal(audit, tt.audit) {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.answer, got, audit, tt.want, tt.audit)
		}
		const asked = `{"kind":"ImageReview","apiVersion":"imagepolicy.k8s.io/v1alpha1","metadata":{},"spec":` +
			`{"containers":[{"image":"one"},{"image":"two"}],"annotations":{"a.image-policy.k8s.io/b":"c"},"namespace":"ns"},"status":{"allowed":false}}`
		if hook.asked != asked {
			t.Errorf("asked %s, want %s", hook.asked, asked)
		}
		if len(pod.Annotations) != 2 {
			t.Errorf("the pod was changed: %v", pod.Annotations)
		}
	}
}

// TestImagePolicyConcerns: the plugin asks only about pods and their ephemeral containers.
func TestImagePolicyConcerns(t *testing.T) {
	hook := &imageHook{answer: `{"status":{"allowed":true}}`}
	p := imagePolicy(t, hook, "")
	a := inNamespace("ns", admission.Update, imagePod())
	for _, a.Subresource = range []string{"status", "resize", "binding"} {
		if err := p.Validate(t.Context(), a); err != nil || hook.calls != 0 {
			t.Errorf("%s: got %v, %d calls", a.Subresource, err, hook.calls)
		}
	}
	a.Subresource = "ephemeralcontainers"
	if err := p.Validate(t.Context(), a); err != nil || !strings.Contains(hook.asked, `"containers":[{"image":"three"}]`) {
		t.Errorf("ephemeral containers: got %v, asked %s", err, hook.asked)
	}
	a.Subresource, a.Object = "", &corev1.Binding{}
	if got := messageOf(p.Validate(t.Context(), a)); got != "Resource was marked with kind Pod but was unable to be converted" {
		t.Errorf("another object: got %q", got)
	}
	a.Resource.Resource = "configmaps"
	if n := testing.AllocsPerRun(100, func() { p.Validate(t.Context(), a) }); n > 0 {
		t.Errorf("another resource costs %v allocations", n)
	}
	if p.Handles(admission.Delete) || p.Handles(admission.Connect) || !p.Handles(admission.Create) {
		t.Error("handles other operations than creates and updates")
	}
}

// TestImagePolicyCache: the plugin caches at most 1024 answers, those that allow and those that
// deny each for a time of their own. It does not cache failures.
func TestImagePolicyCache(t *testing.T) {
	const allow, deny = `{"status":{"allowed":true}}`, `{"status":{"reason":"no"}}`
	synctest.Test(t, func(t *testing.T) {
		hook := &imageHook{}
		p := imagePolicy(t, hook, ", allowTTL: 60, denyTTL: 10")
		ask := func(image, answer string, calls int) {
			t.Helper()
			hook.answer, hook.calls = answer, 0
			pod := imagePod()
			pod.Spec.Containers[0].Image = image
			p.Validate(t.Context(), inNamespace("ns", admission.Create, pod))
			if hook.calls != calls {
				t.Errorf("%s after %s: got %d calls, want %d", image, answer, hook.calls, calls)
			}
		}
		ask("a", allow, 1)
		ask("b", deny, 1)
		ask("long", `{"status":{"reason":"`+strings.Repeat("x", 5000)+`"}}`, 1)
		ask("long", deny, 1)
		time.Sleep(9 * time.Second)
		ask("a", deny, 0)
		ask("b", deny, 0)
		time.Sleep(time.Second)
		ask("b", deny, 1)
		ask("a", deny, 0)
		time.Sleep(50 * time.Second)
		ask("a", allow, 1)
		hook.err = errors.New("away")
		ask("c", allow, 1)
		ask("c", allow, 1)
		hook.err = nil
		for i := range 1024 {
			ask(fmt.Sprint("many", i), allow, 1)
		}
		ask("many0", allow, 0)
		ask("a", allow, 1)
	})
	hook := &imageHook{answer: allow}
	p := imagePolicy(t, hook, ", allowTTL: -1, denyTTL: -1")
	for range 2 {
		p.Validate(t.Context(), inNamespace("ns", admission.Create, imagePod()))
	}
	if hook.calls != 2 {
		t.Errorf("without a cache: got %d calls, want 2", hook.calls)
	}
}

func TestImagePolicyConfiguration(t *testing.T) {
	const file = "imagePolicy: {kubeConfigFile: f"
	for _, tt := range []struct {
		configuration string
		pause         time.Duration
		want          string
	}{
		{"", 0, "no config specified"},
		{"other: 1", 0, "imagePolicy.kubeConfigFile: Required value"},
		{file + "}", 500 * time.Millisecond, ""},
		{file + ", retryBackoff: -1, other: x}", 0, ""},
		{file + ", retryBackoff: 300000}", 5 * time.Minute, ""},
		{file + ", retryBackoff: 300001}", 0, "imagePolicy.retryBackoff: valid value is between 1ns and 5m0s, got 300001ms"},
		{file + ", retryBackoff: -2}", 0, "imagePolicy.retryBackoff: valid value is between 1ns and 5m0s, got -2ms"},
		{file + ", allowTTL: 1801}", 0, "imagePolicy.allowTTL: valid value is between 1s and 30m0s, got 1801s"},
		{file + ", denyTTL: 9223372036854775807}", 0, "imagePolicy.denyTTL: valid value is between 1s and 30m0s, got 9223372036854775807s"},
		{file + ", allowTTL: 5s}", 0, "imagePolicy.allowTTL of type int64"},
		{file + ", denyTTL: 0.5}", 0, "imagePolicy.denyTTL of type int64"},
		{`{"IMAGEPOLICY":{"KubeConfigFile":"f","defaultAllow":"x"}}`, 0, "imagePolicy.defaultAllow of type bool"},
		{"imagePolicy: {kubeConfigFile: missing}", 0, "imagePolicy.kubeConfigFile: it is not there"},
		{"a: [", 0, "yaml: line 1"},
	} {
		var data []byte
		if tt.configuration != "" {
			data = []byte(tt.configuration)
		}
		_, err := admission.NewImagePolicyWebhook(data, func(file string, pause time.Duration) (admission.ImageReviewer, error) {
			if file != "f" {
				return nil, errors.New("it is not there")
			}
			if pause != tt.pause {
				t.Errorf("%s: got a pause of %v, want %v", tt.configuration, pause, tt.pause)
			}
			return &imageHook{}, nil
		})
		if got := messageOf(err); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", tt.configuration, got, tt.want)
		}
	}
}

func FuzzImagePolicyConfiguration(f *testing.F) {
	f.Add(`{"imagePolicy":{"kubeConfigFile":"f","allowTTL":30,"denyTTL":-1,"retryBackoff":5,"defaultAllow":true}}`, `{"status":{"allowed":true,"auditAnnotations":{"a":"b"}}}`)
	f.Add("imagePolicy:\n  kubeConfigFile: f\n", `{"status":{"reason":"no"}}`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		p, err := admission.NewImagePolicyWebhook([]byte(text), func(string, time.Duration) (admission.ImageReviewer, error) {
			return &imageHook{answer: answer}, nil
		})
		if err == nil {
			for range 2 {
				p.Validate(t.Context(), inNamespace("ns", admission.Create, imagePod()))
			}
		}
	})
}
