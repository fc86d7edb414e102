package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// kites returns the converter of kites.toys.io. respond makes the webhook's answer; it gets the UID
// of the review and the objects in the wanted version.
func kites(reviews []string, respond func(uid, objects string) string) *converter {
	def := &v1.CustomResourceDefinition{}
	def.Spec.Group = "toys.io"
	def.Spec.Conversion = &v1.CustomResourceConversion{Strategy: v1.WebhookConverter, Webhook: &v1.WebhookConversion{ConversionReviewVersions: reviews}}
	return newConverter(def, &Webhook{Ask: func(_ context.Context, body []byte) ([]byte, error) {
		var review v1.ConversionReview
		if err := json.Unmarshal(body, &review); err != nil {
			return nil, err
		}
		var objects []string
		for _, o := range review.Request.Objects {
			objects = append(objects, strings.ReplaceAll(string(o.Raw), "toys.io/v1", review.Request.DesiredAPIVersion))
		}
		return []byte(respond(string(review.Request.UID), strings.Join(objects, ","))), nil
	}})
}

// reviewed returns the answer of a webhook, with the converted objects.
func reviewed(uid, objects string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":%q,"convertedObjects":[%s],"result":{"status":"Success"}}}`, uid, objects)
}

// kite returns an object in v1.
func kite(t testing.TB, name string) *scheme.Unstructured {
	t.Helper()
	u := &scheme.Unstructured{}
	err := u.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"toys.io/v1","kind":"Kite","metadata":{"name":%q,"namespace":"ns","uid":"u-%[1]s",
		"resourceVersion":"7","generation":3,"labels":{"a":"b"},"finalizers":["x.io/y"]},"spec":{"tail":1}}`, name))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestConversionAnswers compares the errors of failed conversions with those of kube-apiserver.
func TestConversionAnswers(t *testing.T) {
	const failed = "conversion webhook for toys.io/v1, Kind=Kite "
	with := func(change ...string) func(uid, objects string) string {
		return func(uid, objects string) string {
			return strings.NewReplacer(change...).Replace(reviewed(uid, objects))
		}
	}
	for _, tt := range []struct {
		name    string
		respond func(uid, objects string) string
		want    string
	}{
		{"another name", with(`"name":"a"`, `"name":"b"`), failed + "returned invalid object: must have the same name: a != b"},
		{"a name that is none", with(`"name":"a"`, `"name":5`), failed + "returned invalid object: must have the same name: a != "},
		{"another namespace", with(`"namespace":"ns"`, `"namespace":"x"`), failed + "returned invalid object: must have the same namespace: ns != x"},
		{"another UID", with(`"uid":"u-a"`, `"uid":"u-b"`), failed + "returned invalid object: must have the same UID: u-a != u-b"},
		{"another kind", with(`"Kite"`, `"Boat"`), failed + "returned invalid object at index 0: invalid kind (expected Kite, received Boat)"},
		{"no kind", with(`"kind":"Kite",`, ``), "Object 'Kind' is missing in '"},
		{"another version", with(`toys.io/v2`, `toys.io/v3`), failed + "returned invalid object at index 0: invalid groupVersion (expected toys.io/v2, received toys.io/v3)"},
		{"no object", func(uid, _ string) string { return reviewed(uid, `"x"`) }, "json: cannot unmarshal string into Go value of type map[string]interface {}"},
		{"null", func(uid, _ string) string { return reviewed(uid, `null`) }, "unexpected end of JSON input"},
		{"bad labels", with(`{"a":"b"}`, `{"a b":"c"}`), failed + `returned invalid metadata: metadata.labels: Invalid value: "a b": name part must consist of`},
		{"labels of another type", with(`{"a":"b"}`, `{"a":1}`), failed + "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
		{"labels that are a list", with(`{"a":"b"}`, `[]`), failed + "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object"},
		{"bad annotations", with(`"labels":{"a":"b"}`, `"annotations":{"a b":"c"}`), failed + `returned invalid metadata: metadata.annotation: Invalid value: "a b": name part`},
		{"too few", func(uid, _ string) string { return reviewed(uid, "") }, failed + "returned 0 objects, expected 1"},
		{"too many", func(uid, o string) string { return reviewed(uid, o+","+o) }, failed + "returned 2 objects, expected 1"},
		{"the answer to something else", func(_, o string) string { return reviewed("x", o) }, failed + `failed: expected response.uid="`},
		{"no response", func(string, string) string {
			return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`
		}, failed + "failed: no response provided"},
		{"refused", with(`"Success"`, `"Failed","message":"I do not like it"`), failed + "failed: I do not like it"},
		{"refused without a word", with(`"Success"`, `"Failed"`), failed + "failed: response.result.status was 'Failed', not 'Success'"},
		{"no review", with(`"kind":"ConversionReview",`, ``), failed + "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind="},
		{"nothing", func(string, string) string { return "" }, failed + "failed: 0-length response with status code: 200 and content type: application/json"},
		{"nonsense", func(string, string) string { return "hello" }, failed + "failed: the answer is not an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := kites([]string{"v1"}, tt.respond).convert(t.Context(), []*scheme.Unstructured{kite(t, "a")}, "v2")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("got %v, %v, want an error that begins with %q", out, err, tt.want)
			}
			var status *meta.StatusError
			if !errors.As(err, &status) || status.Status.Code != 500 || status.Status.Reason != meta.StatusReasonUnknown {
				t.Errorf("got %#v, want a Status with code 500 and no reason", err)
			}
		})
	}
}

// TestConverted: content, labels and annotations come from the webhook, and all other metadata
// stays. The objects keep their order, in either version of the review. An object that has only a
// kind is not sent.
func TestConverted(t *testing.T) {
	for _, reviews := range []string{"v1", "v1beta1"} {
		asked := 0
		c := kites([]string{"v7", reviews}, func(uid, objects string) string {
			asked++
			objects = strings.NewReplacer(`"tail":1`, `"tails":[1]`, `"labels":{"a":"b"}`, `"annotations":{"c":"d"},"generation":9,"finalizers":[],"ownerReferences":[{}]`,
				`"resourceVersion"`, `"unexpected"`).Replace(objects)
			if reviews == "v1beta1" { // a v1beta1 webhook need not repeat the metadata
				return fmt.Sprintf(`{"response":{"convertedObjects":[%s],"result":{"status":"Success"}}}`, objects)
			}
			return reviewed(uid, objects)
		})
		empty := &scheme.Unstructured{TypeMeta: meta.TypeMeta{APIVersion: "toys.io/v1", Kind: "Kite"}}
		out, err := c.convert(t.Context(), []*scheme.Unstructured{kite(t, "b"), empty, kite(t, "a")}, "v2")
		if err != nil || len(out) != 3 || asked != 1 {
			t.Fatalf("%s: got %d objects, %v after %d calls", reviews, len(out), err, asked)
		}
		for i, name := range map[int]string{0: "b", 2: "a"} {
			got, _ := out[i].MarshalJSON()
			want := fmt.Sprintf(`{"apiVersion":"toys.io/v2","kind":"Kite","metadata":{"name":%q,"namespace":"ns","uid":"u-%[1]s","resourceVersion":"7","generation":3,`+
				`"annotations":{"c":"d"},"finalizers":["x.io/y"]},"spec":{"tails":[1]}}`, name)
			if string(got) != want {
				t.Errorf("%s: got  %s\nwant %s", reviews, got, want)
			}
		}
		if out[1].APIVersion != "toys.io/v2" {
			t.Errorf("the empty object: got %+v", out[1])
		}
	}
	_, err := kites([]string{"v7"}, reviewed).convert(t.Context(), []*scheme.Unstructured{kite(t, "a")}, "v2")
	if err == nil || err.Error() != "no supported conversion review versions" {
		t.Errorf("no version in common: got %v", err)
	}
}

// FuzzConversionAnswer: whatever a webhook answers, the object keeps its identity or the conversion
// fails.
func FuzzConversionAnswer(f *testing.F) {
	f.Add(reviewed("UID", `{"apiVersion":"toys.io/v2","kind":"Kite","metadata":{"name":"a","namespace":"ns","uid":"u-a"},"spec":{}}`))
	f.Add(reviewed("UID", `{"apiVersion":"toys.io/v2","kind":"Kite","metadata":{"name":"a","namespace":"ns","uid":"u-a","labels":{"x":"y"}},"metadata":{"name":"b"}}`))
	f.Add(reviewed("UID", `null,[{}],{"kind":1}`))
	f.Add(`{"response":{"convertedObjects":[[[[],"result":{"status":"Success"}}}`)
	f.Add(`{"response":null,"kind":{}}`)
	f.Fuzz(func(t *testing.T, answer string) {
		for _, reviews := range []string{"v1", "v1beta1"} {
			c := kites([]string{reviews}, func(uid, _ string) string { return strings.ReplaceAll(answer, "UID", uid) })
			was := kite(t, "a")
			out, err := c.convert(t.Context(), []*scheme.Unstructured{kite(t, "a")}, "v2")
			if err != nil {
				continue
			}
			got := out[0].ObjectMeta
			got.Labels, got.Annotations, was.Annotations = was.Labels, nil, nil
			if out[0].APIVersion != "toys.io/v2" || out[0].Kind != "Kite" || !scheme.Equal(&got, &was.ObjectMeta) {
				t.Errorf("got %+v", out[0])
			}
			for _, name := range []string{"apiVersion", "kind", "metadata"} {
				if _, ok := out[0].Content[name]; ok {
					t.Errorf("the content has %s", name)
				}
			}
			if _, err := out[0].MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
	})
}
