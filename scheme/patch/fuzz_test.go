package patch

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// plainMerge is RFC 7386 on decoded values, with Kubernetes' one deviation: a list that replaces an
// object keeps the nulls of its elements. The fuzz test compares Merge with it.
func plainMerge(doc, patch any, known bool) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		if _, over := doc.(map[string]any); over && known {
			return patch
		}
		return prune(patch)
	}
	old, ok := doc.(map[string]any)
	if !ok {
		return prune(patch)
	}
	for k, v := range changes {
		before, has := old[k]
		if v == nil {
			delete(old, k)
		} else {
			old[k] = plainMerge(before, v, has)
		}
	}
	return old
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = prune(e)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = prune(e)
		}
	}
	return v
}

func FuzzMerge(f *testing.F) {
	for _, c := range readRecorded(f) {
		f.Add([]byte(c.Doc), []byte(c.Patch))
	}
	f.Add([]byte(`{"a":"\ud800","b":"<"}`), []byte(`{"a\n":1E5,"a":{"b":[null]}} `))
	f.Fuzz(func(t *testing.T, doc, p []byte) {
		got, err := checked(Merge, CheckMerge)(doc, p, nil)
		old, docErr := decode(doc)
		var changes map[string]any
		patchErr := json.Unmarshal(p, &changes)
		_, isObject := old.(map[string]any)
		if docErr != nil || !json.Valid(doc) || !isObject {
			if err == nil {
				t.Fatalf("Merge(%q, %q): got %q for a bad document", doc, p, got)
			}
			return
		}
		if (patchErr == nil && changes != nil) != (err == nil) {
			t.Fatalf("Merge(%q, %q): got %q, %v; encoding/json says %v", doc, p, got, err, patchErr)
		}
		if err != nil {
			return
		}
		patchValue, _ := decode(p)
		want := plainMerge(old, patchValue, true)
		result, err := decode(got)
		if err != nil || !reflect.DeepEqual(result, want) {
			t.Fatalf("Merge(%q, %q): got %q, want %v", doc, p, got, want)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, c := range readRecorded(f) {
		f.Add([]byte(c.Doc), []byte(c.Patch))
	}
	f.Fuzz(func(t *testing.T, doc, p []byte) {
		CheckJSON(p, nil)
		got, err := JSON(doc, p, nil)
		if err == nil && !json.Valid(got) && !deep(doc, p) {
			t.Fatalf("JSON(%q, %q): got invalid %q", doc, p, got)
		}
	})
}

// deep reports whether the inputs nest so deeply that encoding/json may refuse a valid result.
func deep(inputs ...[]byte) bool {
	n := 0
	for _, b := range inputs {
		n += strings.Count(string(b), "[") + strings.Count(string(b), "{")
	}
	return n > jsontext.MaxDepth/4
}

func FuzzStrategic(f *testing.F) {
	for _, c := range readRecorded(f) {
		f.Add([]byte(c.Doc), []byte(c.Patch))
	}
	f.Fuzz(func(t *testing.T, doc, p []byte) {
		before := string(doc) + string(p)
		got, err := Strategic(doc, p, root, nil)
		if err == nil && !json.Valid(got) && !deep(doc, p) {
			t.Fatalf("Strategic(%q, %q): got invalid %q", doc, p, got)
		}
		again, againErr := Strategic(doc, p, root, nil)
		if string(got) != string(again) || (err == nil) != (againErr == nil) || err != nil && err.Error() != againErr.Error() {
			t.Fatalf("Strategic(%q, %q): got %q %v, then %q %v", doc, p, got, err, again, againErr)
		}
		if string(doc)+string(p) != before {
			t.Fatal("input was written to")
		}
	})
}
