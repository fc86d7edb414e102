package differential

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/meta"
)

// scaleEntries is how many made-up managedFields TestScaleOwners takes to scales and back.
const scaleEntries = 20_000

// TestScaleOwners has both sides take managedFields of objects to their scales and back.
func TestScaleOwners(t *testing.T) {
	r := random("scale owners")
	theirPaths := managedfields.ResourcePathMappings{
		"apps/v1":      fieldpath.MakePathOrDie("spec", "replicas"),
		"apps/v1beta1": nil,
		"apps/v2":      fieldpath.MakePathOrDie("spec", "size", "count"),
	}
	ourPaths := map[string]apply.Path{
		"apps/v1":      {apply.Field("spec"), apply.Field("replicas")},
		"apps/v1beta1": nil,
		"apps/v2":      {apply.Field("spec"), apply.Field("size"), apply.Field("count")},
	}
	for range times(scaleEntries) {
		version := pick(r, "v1", "v1", "v2", "v1beta1")
		parent := scaleOwners(r, "apps/v1", "apps/v1", "apps/v2", "apps/v1beta1", "apps/v0", "")
		theirs := managedfields.NewScaleHandler(read[metav1.ManagedFieldsEntry](parent),
			kubeschema.GroupVersion{Group: "apps", Version: version}, theirPaths)
		ours := &apply.Scale{APIVersion: "apps/" + version, Replicas: ourPaths}

		theirScale, theirErr := theirs.ToSubresource()
		ourScale, ourErr := ours.Of(t.Context(), read[meta.ManagedFieldsEntry](parent))
		sameEntries(t, "to the scale of "+parent, theirScale, theirErr, ourScale, ourErr)

		scale := scaleOwners(r, "autoscaling/v1")
		if theirErr == nil && r.IntN(2) == 0 {
			scale = string(encode(slices.DeleteFunc(theirScale, func(metav1.ManagedFieldsEntry) bool { return r.IntN(3) == 0 })))
		}
		theirParent, theirErr := theirs.ToParent(read[metav1.ManagedFieldsEntry](scale))
		ourParent, ourErr := ours.Into(t.Context(), read[meta.ManagedFieldsEntry](parent), read[meta.ManagedFieldsEntry](scale))
		sameEntries(t, "to "+version+" of "+parent+" from "+scale, theirParent, theirErr, ourParent, ourErr)
		if t.Failed() {
			return
		}
	}
}

// scaleOwners makes up managedFields as text.
func scaleOwners(r *rand.Rand, versions ...string) string {
	var entries []any
	for range r.IntN(5) {
		e := map[string]any{
			"manager": pick(r, "a", "b", "c"), "operation": pick(r, "Apply", "Update"), "apiVersion": pick(r, versions...),
			"fieldsType": "FieldsV1",
			"fieldsV1": json.RawMessage(pick(r, `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:replicas":{},"f:selector":{}}}`,
				`{"f:spec":{"f:size":{"f:count":{}}}}`,
				`{"f:spec":{"f:size":{".":{},"f:count":{}}}}`, `{"f:spec":{}}`, `{}`, `{"f:metadata":{"f:labels":{}}}`)),
		}
		if r.IntN(3) == 0 {
			e["subresource"] = pick(r, "scale", "status")
		}
		if r.IntN(4) > 0 {
			e["time"] = pick(r, "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z")
		}
		if r.IntN(60) == 0 {
			e["fieldsV1"] = json.RawMessage(`[]`)
		}
		entries = append(entries, e)
	}
	return string(encode(entries))
}

// read reads managedFields.
func read[E any](text string) []E {
	var out []E
	must(json.Unmarshal([]byte(text), &out))
	return out
}

// sameEntries compares managedFields. Kubernetes leaves the order of entries with the same names
// and the same time to chance.
func sameEntries(t *testing.T, what string, theirs []metav1.ManagedFieldsEntry, theirErr error, ours []meta.ManagedFieldsEntry, ourErr error) {
	t.Helper()
	if (theirErr == nil) != (ourErr == nil) {
		t.Errorf("%s: Kubernetes says %v, Coracle %v", what, theirErr, ourErr)
	}
	a, b := anysOf(theirs), anysOf(ours)
	for _, entries := range [][]any{a, b} {
		slices.SortStableFunc(entries, func(a, b any) int {
			if order(a) != order(b) {
				return 0
			}
			return strings.Compare(string(encode(a)), string(encode(b)))
		})
	}
	if a, b := string(encode(a)), string(encode(b)); a != b {
		t.Errorf("%s:\nKubernetes: %s\nCoracle:    %s", what, a, b)
	}
}

// order is the part of an entry that decides its place in the list.
func order(entry any) string {
	e := entry.(map[string]any)
	return string(encode([]any{e["operation"], e["time"], e["manager"], e["apiVersion"], e["subresource"]}))
}
