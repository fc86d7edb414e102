package differential

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/coracle-project/coracle/scheme/apply"
)

// applySetSteps is how many sets are made up.
const applySetSteps = 20_000

// TestApplySets has structured-merge-diff and Coracle read made-up FieldsV1, combine the sets with
// others, and write them.
func TestApplySets(t *testing.T) {
	r := random("apply sets")
	var theirs fieldpath.Set
	var ours *apply.Set
	for i := range times(applySetSteps) {
		text := fieldsText(r, 3)
		theirs2, ours2 := bothSets(t, text)
		for _, each := range []struct {
			what   string
			theirs *fieldpath.Set
			ours   *apply.Set
		}{
			{"itself", theirs2, ours2},
			{"Union", theirs.Union(theirs2), ours.Union(nil, ours2)},
			{"Intersect", theirs.Intersection(theirs2), ours.Intersect(nil, ours2)},
			{"Subtract", theirs.Difference(theirs2), ours.Subtract(nil, ours2)},
			{"SubtractAll", theirs.RecursiveDifference(theirs2), ours.SubtractAll(nil, ours2)},
		} {
			sameSet(t, each.what+" "+text, each.theirs, each.ours)
		}
		if a, b := theirs.Equals(theirs2), ours.Equal(nil, ours2); a != b {
			t.Errorf("Equal: Kubernetes %v, Coracle %v: %s", a, b, text)
		}
		if t.Failed() {
			t.Fatalf("step %d", i)
		}
		theirs, ours = *theirs2, ours2
	}
}

// bothSets reads FieldsV1 on both sides. It fails the test if only one side accepts the text.
func bothSets(t *testing.T, text string) (*fieldpath.Set, *apply.Set) {
	t.Helper()
	theirs := &fieldpath.Set{}
	err := theirs.FromJSON(strings.NewReader(text))
	ours, ourErr := apply.ParseFields(nil, []byte(text))
	if (err == nil) != (ourErr == nil) {
		t.Fatalf("%s: Kubernetes says %v, Coracle %v", text, err, ourErr)
	}
	if err != nil {
		return &fieldpath.Set{}, nil
	}
	return theirs, ours
}

// sameSet compares the text that both write for a set, and the paths in it.
func sameSet(t *testing.T, what string, theirs *fieldpath.Set, ours *apply.Set) {
	t.Helper()
	text, err := theirs.ToJSON()
	if err != nil {
		t.Fatalf("%s: Kubernetes cannot write %v: %v", what, theirs, err)
	}
	if got := ours.AppendFields(nil, nil); !bytes.Equal(got, text) {
		t.Errorf("%s:\nKubernetes: %s\nCoracle:    %s", what, text, got)
	}
	if theirs.Empty() != ours.Empty() {
		t.Errorf("%s: Kubernetes says empty: %v, Coracle %v", what, theirs.Empty(), ours.Empty())
	}
	var paths []string
	for p := range ours.All() {
		paths = append(paths, p.String())
		if !ours.Has(p) {
			t.Errorf("%s: has not %s", what, p)
		}
	}
	if got, want := strings.Join(paths, "\n"), theirs.String(); got != want && letters(got) != letters(want) {
		t.Errorf("%s:\nKubernetes: %s\nCoracle:    %s", what, want, got)
	}
}

// letters sorts the bytes of a text, because Kubernetes prints the members of an object in random
// order.
func letters(text string) string { return string(slices.Sorted(slices.Values([]byte(text)))) }

// fieldsText makes up FieldsV1 that is right mostly. Few names make many overlaps.
func fieldsText(r *rand.Rand, depth int) string {
	switch {
	case depth == 0 || r.IntN(6) == 0:
		return pick(r, "{}", "{}", "{}", "{}", "{}", " { } ", `{".":{}}`, "null", `{".":[1]}`)
	case r.IntN(200) == 0:
		return pick(r, "1", `"a"`, "[]", "true", `{"f:a":1}`, `{"f":{}}`, `{"":{}}`, `{"fa":{}}`, `{"f:a"}`)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i := range r.IntN(5) {
		if i > 0 {
			b.WriteByte(',')
		}
		if r.IntN(4) == 0 {
			b.WriteString(`".":{}`)
			continue
		}
		fmt.Fprintf(&b, "%s:%s", pick(r, elementTexts...), fieldsText(r, depth-1))
	}
	b.WriteByte('}')
	return b.String()
}

// elementTexts are path elements as FieldsV1 has them, quoted, right and wrong.
var elementTexts = []string{
	`"f:a"`, `"f:b"`, `"f:a"`, `"f:b"`, `"f:c"`, `"f:"`, `"f:."`, `"f:a:b"`, `"f:\u0061"`, `"f:\n\t\r\b\f\u0001\u007f"`, `"f:<a>&"`, `"f:\"\\"`, "\"f:\u2028é\"",
	`"f:\ud83d\ude00\ud800"`, "\"f:\xff\"", `"x:a"`, `"::"`, `"x:"`,
	`"k:{\"a\":\"x\"}"`, `"k:{\"a\":\"y\"}"`, `"k:{\"a\":1}"`, `"k:{\"a\":1.0}"`, `"k:{\"b\":\"x\",\"a\":1}"`, `"k:{\"a\":1,\"b\":\"x\"}"`, `"k:{\"a\":null}"`, `"k:{}"`, `"k:null"`,
	`"k:{\"a\":true,\"b\":[1,{\"c\":\"<\"}]}"`, `"k:{\"<\":\"<\\n\\b\\u2028é\"}"`, `"k: { \"a\" : \"x\" } "`, `"k:{\"a\":\"x\"}}"`, `"k:{\"a\":\"x\",\"a\":\"x\"}"`, `"k:{\"a\":80,\"b\":\"TCP\"}"`,
	`"v:1"`, `"v:1.0"`, `"v:2"`, `"v:-1"`, `"v:1.5"`, `"v:1e3"`, `"v:1e21"`, `"v:1e-7"`, `"v:123456789012345678"`, `"v:\"a\""`, `"v:\"b\""`, `"v:\"<\\u0000\\f\""`, `"v:true"`, `"v:false"`,
	`"v:null"`, `"v:[]"`, `"v:[1,2]"`, `"v:{\"a\":1}"`, `"v:{\"b\":1}"`, `"v:{\"a\":2}"`, `"v:{}"`, `"v: 1 "`, `"v:0"`,
	`"i:0"`, `"i:1"`, `"i:10"`, `"i:-1"`, `"i:+1"`,
}

// pick returns one of several.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
