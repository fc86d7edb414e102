package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

const (
	applySchemas    = 300 // that are made up
	applyWalks      = 150 // of each
	applyModelWalks = 40  // of each model of a built-in kind
)

// bothTypes is a type as structured-merge-diff and Coracle have it.
type bothTypes struct {
	theirs typed.ParseableType
	ours   *schema.Schema
}

// TestApplyWalk makes up schemas of custom resources and objects, and has both sides check, compare
// and merge the objects, and so on. Kubernetes' schema is made from the same text, in the way of
// kube-apiserver.
func TestApplyWalk(t *testing.T) {
	for i := range times(applySchemas) {
		r := random("apply walk", i)
		text := textOf(kindSchema(r))
		b := bothTypes{theirCustomType(t, text), ourCustomType(t, text)}
		other := textOf(kindSchema(r))
		changed := bothTypes{theirCustomType(t, other), ourCustomType(t, other)}
		for range applyWalks {
			walkBoth(t, r, b, changed)
			if t.Failed() {
				t.Fatalf("schema %d: %s\nchanged: %s", i, text, other)
			}
		}
	}
}

// judgeTree has both sides validate one tree, compares the errors, and reports whether the tree is
// valid.
func judgeTree(t *testing.T, r *rand.Rand, b bothTypes, tree any) (*typed.TypedValue, bool) {
	t.Helper()
	ok := false
	var theirs *typed.TypedValue
	for _, repeats := range []bool{false, true} {
		var options []typed.ValidationOptions
		if repeats {
			options = append(options, typed.AllowDuplicates)
		}
		v, err := typed.AsTyped(value.NewValueInterface(clone(tree)), b.theirs.Schema, b.theirs.TypeRef, options...)
		ours := apply.Check(nil, lazy(r, tree), b.ours, repeats)
		sameError(t, fmt.Sprintf("Check, repeats %v", repeats), tree, err, ours)
		ok, theirs = err == nil, v
	}
	if !ok || t.Failed() {
		return nil, false
	}
	fields, err := theirs.ToFieldSet()
	if err != nil {
		t.Fatalf("Kubernetes finds no fields: %v of %s", err, textOf(tree))
	}
	ours, err := apply.FieldsOf(nil, lazy(r, tree), b.ours)
	if err != nil {
		t.Errorf("FieldsOf: %v", err)
	}
	sameSet(t, "FieldsOf "+textOf(tree), fields, ours)
	return theirs, !t.Failed()
}

// walkBoth makes up two objects and a set of fields, and compares everything that can be done with
// them.
func walkBoth(t *testing.T, r *rand.Rand, b, changed bothTypes) {
	t.Helper()
	live := made(r, b.theirs.Schema, b.theirs.TypeRef, 5)
	config := mixed(r, live, made(r, b.theirs.Schema, b.theirs.TypeRef, 5))
	theirLive, ok := judgeTree(t, r, b, live)
	theirConfig, ok2 := judgeTree(t, r, b, config)
	if !ok || !ok2 {
		return
	}
	before := textOf(live) + textOf(config)
	what := fmt.Sprintf("%s and %s", textOf(live), textOf(config))
	want, err := theirLive.Compare(theirConfig)
	got, ourErr := apply.Compare(nil, lazy(r, live), lazy(r, config), b.ours)
	if err != nil || ourErr != nil {
		t.Errorf("Compare: Kubernetes %v, Coracle %v: %s", err, ourErr, what)
		return
	}
	sameSet(t, "Added, "+what, want.Added, got.Added)
	sameSet(t, "Modified, "+what, want.Modified, got.Modified)
	sameSet(t, "Removed, "+what, want.Removed, got.Removed)

	if apply.Check(nil, config, b.ours, false) == nil {
		merged, err := theirLive.Merge(theirConfig)
		ourMerged, ourErr := apply.Merge(nil, lazy(r, live), lazy(r, config), b.ours)
		if sameError(t, "Merge", what, err, ourErr); err == nil {
			sameTree(t, "Merge, "+what, merged.AsValue().Unstructured(), ourMerged)
		}
	}

	a, _ := theirLive.ToFieldSet()
	c, _ := theirConfig.ToFieldSet()
	theirs, ours := someOf(t, r, a.Union(c))
	what = fmt.Sprintf("%s of %s", theirs, textOf(live))
	sameTree(t, "Remove "+what, theirLive.RemoveItems(theirs).AsValue().Unstructured(), apply.Remove(nil, lazy(r, live), ours, b.ours))
	sameTree(t, "Extract "+what, theirLive.ExtractItems(theirs).AsValue().Unstructured(), apply.Extract(nil, lazy(r, live), ours, b.ours))

	if r.IntN(3) == 0 {
		theirs, ours = bothSets(t, fieldsText(r, 4))
	}
	empty := typed.AsTypedUnvalidated(value.NewValueInterface(nil), changed.theirs.Schema, changed.theirs.TypeRef)
	reconciled, err := typed.ReconcileFieldSetWithSchema(theirs, empty)
	if reconciled == nil {
		reconciled = theirs
	}
	ourReconciled, ourErr := apply.Reconcile(nil, ours, changed.ours)
	if err != nil || ourErr != nil {
		t.Errorf("Reconcile: Kubernetes %v, Coracle %v", err, ourErr)
		return
	}
	sameSet(t, "Reconcile "+theirs.String(), reconciled, ourReconciled)
	if after := textOf(live) + textOf(config); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// sameError compares the errors of both sides. Kubernetes looks at fields in random order, so
// chance decides which unknown field it reports.
func sameError(t *testing.T, what string, of any, theirs, ours error) {
	t.Helper()
	if (theirs == nil) != (ours == nil) {
		t.Errorf("%s: Kubernetes says %v, Coracle %v, of %v", what, theirs, ours, of)
		return
	}
	const undeclared = "field not declared in schema"
	if theirs == nil || strings.Contains(theirs.Error(), undeclared) && strings.Contains(ours.Error(), undeclared) {
		return
	}
	if letters(theirs.Error()) != letters(ours.Error()) {
		t.Errorf("%s:\nKubernetes: %v\nCoracle:    %v\nof %v", what, theirs, ours, of)
	}
}

func sameTree(t *testing.T, what string, theirs, ours any) {
	t.Helper()
	text, err := jsontext.AppendTree(nil, ours, jsontext.Plain)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := textOf(tree), textOf(theirs); got != want {
		t.Errorf("%s:\nKubernetes: %s\nCoracle:    %s", what, want, got)
	}
}

// someOf returns some fields of a set, as both sides have them.
func someOf(t *testing.T, r *rand.Rand, of *fieldpath.Set) (*fieldpath.Set, *apply.Set) {
	t.Helper()
	some := &fieldpath.Set{}
	rate := pick(r, 2, 3, 8)
	of.Iterate(func(p fieldpath.Path) {
		if r.IntN(rate) == 0 {
			some.Insert(p.Copy())
		}
	})
	text, err := some.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	return bothSets(t, string(text))
}
