package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/extensions"
	oursrules "github.com/coracle-project/coracle/scheme/cel/rules"
	oursfield "github.com/coracle-project/coracle/scheme/field"
	oursschema "github.com/coracle-project/coracle/scheme/schema"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	thecel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// bench has one schema, as both sides keep it.
type bench struct {
	ours       *oursschema.Schema
	ourRules   *oursrules.Rules
	theirRules *thecel.Validator
	structural *structuralschema.Structural
	validator  apiservervalidation.SchemaValidator
	source     *crdv1.JSONSchemaProps
	keepsAll   bool // unknown fields stay: spec.preserveUnknownFields
}

func newBench(t *testing.T, s *crdv1.JSONSchemaProps) *bench {
	t.Helper()
	var in apiextensions.JSONSchemaProps
	if err := crdv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &in, nil); err != nil {
		t.Fatal(err)
	}
	b := &bench{ours: extensions.CompileSchema(ourProps(s)), source: s}
	var err error
	if b.structural, err = structuralschema.NewStructural(&in); err != nil {
		t.Fatal(err)
	}
	if err := defaulting.PruneDefaults(b.structural); err != nil {
		t.Fatal(err)
	}
	if b.validator, _, err = apiservervalidation.NewSchemaValidator(&in); err != nil {
		t.Fatal(err)
	}
	b.ourRules, b.theirRules = oursrules.Of(b.ours, true), thecel.NewValidator(b.structural, true, celconfig.PerCallLimit)
	return b
}

// theirsOf decodes an object as Kubernetes does, and sets its defaults.
func (b *bench) theirsOf(obj jsonObject) (jsonObject, error) {
	obj = runtime.DeepCopyJSON(obj)
	if !b.keepsAll {
		pruning.Prune(obj, b.structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, b.structural)
	}
	if err := objectmeta.Coerce(nil, obj, b.structural, false, false); err != nil {
		return nil, err
	}
	defaulting.Default(obj, b.structural)
	return obj, nil
}

func (b *bench) oursOf(obj jsonObject) (jsonObject, error) {
	obj = runtime.DeepCopyJSON(obj)
	b.ours.Prune(nil, obj)
	if err := b.ours.Coerce(nil, nil, obj); err != nil {
		return nil, err
	}
	return obj, b.ours.SetDefaults(nil, obj)
}

// sameApplied has both sides judge an applied object, as an update if old is not nil. The object
// keeps its nulls, but has no unknown fields, because applying refuses them before. The object that
// is read back from the store is compared as well.
func (b *bench) sameApplied(t *testing.T, what string, schema, obj, old jsonObject, seen *tally) {
	t.Helper()
	obj = runtime.DeepCopyJSON(obj)
	pruning.Prune(obj, b.structural, true)
	theirs, ours := runtime.DeepCopyJSON(obj), runtime.DeepCopyJSON(obj)
	defaulting.Default(theirs, b.structural)
	if err := b.ours.SetDefaults(nil, ours); err != nil {
		t.Fatal(err)
	}
	if string(encode(ours)) != string(encode(theirs)) {
		t.Fatalf("%s: applied, %s becomes\n   ours: %s\n theirs: %s\n schema: %.2000s", what, encode(obj), encode(ours), encode(theirs), encode(schema))
	}
	seen.applied++
	if len(b.sameErrors(t, what+", applied", schema, theirs, old)) > 0 {
		return
	}
	seen.stored++
	b.sameRead(t, what+", stored", schema, theirs)
}

// theirFound are the errors that Kubernetes finds before it runs rules.
func (b *bench) theirFound(obj, old jsonObject) field.ErrorList {
	var errs field.ErrorList
	if old == nil {
		errs = apiservervalidation.ValidateCustomResource(nil, obj, b.validator)
	} else {
		errs = apiservervalidation.ValidateCustomResourceUpdate(nil, obj, old, b.validator, apiservervalidation.WithRatcheting(b.correlated(obj, old)))
	}
	errs = append(errs, objectmeta.Validate(nil, obj, b.structural, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, b.structural, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, b.structural, obj)...)
	}
	return errs
}

func (b *bench) correlated(obj, old jsonObject) *common.CorrelatedObject {
	return common.NewCorrelatedObject(obj, old, &model.Structural{Structural: b.structural})
}

// theirErrors are Kubernetes' errors and warnings about an object. Rules run last, and only if no
// other error would mislead them.
func (b *bench) theirErrors(obj, old jsonObject) []string {
	heard := &warnings{}
	errs := b.theirFound(obj, old)
	if b.theirRules != nil && !slices.ContainsFunc(errs, func(err *field.Error) bool { return slices.Contains(misleading, string(err.Type)) }) {
		var opts []thecel.Option
		var before any
		if old != nil {
			opts, before = append(opts, thecel.WithRatcheting(b.correlated(obj, old))), old
		}
		ctx := warning.WithWarningRecorder(context.Background(), heard)
		broken, _ := b.theirRules.Validate(ctx, nil, b.structural, obj, before, celconfig.RuntimeCELCostBudget, opts...)
		errs = append(errs, broken...)
	}
	out := heard.texts
	for _, err := range errs {
		out = append(out, fmt.Sprint(err.Type, " ", err.Field, " ", err.ErrorBody()))
	}
	slices.Sort(out)
	return out
}

// misleading are the types of errors after which rules do not run.
var misleading = []string{string(field.ErrorTypeNotSupported), string(field.ErrorTypeRequired), string(field.ErrorTypeTooLong),
	string(field.ErrorTypeTooMany), string(field.ErrorTypeTypeInvalid)}

func (b *bench) ourErrors(obj, old jsonObject) []string {
	var before any
	if old != nil {
		before = old
	}
	var out []string
	errs := slices.Concat(b.ours.Validate(nil, nil, obj, before), b.ours.ValidateResources(nil, nil, obj), b.ours.ValidateLists(nil, nil, obj, before))
	if !slices.ContainsFunc(errs, func(err *oursfield.Error) bool { return slices.Contains(misleading, string(err.Type)) }) {
		errs = append(errs, b.ourRules.Validate(context.Background(), nil, obj, before,
			func(text string) { out = append(out, "warning "+text) })...)
	}
	for _, err := range errs {
		out = append(out, fmt.Sprint(err.Type, " ", err.Field, " ", err.Body()))
	}
	slices.Sort(out)
	return out
}

// tally counts the comparisons.
type tally struct{ objects, refused, unread, updates, ratcheted, applied, stored int }

// compare has both sides judge objects, each as a new object and as an update of the one before.
func (b *bench) compare(t *testing.T, rnd *rand.Rand, what string, n int, seen *tally) {
	t.Helper()
	schema := treeOfProps(t, b.source)
	var last jsonObject
	for i := range n {
		obj := randomObjectOf(rnd, schema)
		if last != nil && chance(rnd, 2) {
			if changed, ok := mutated(rnd, last).(jsonObject); ok {
				obj = changed
				obj["apiVersion"], obj["kind"], obj["metadata"] = "example.com/v1", "Widget", jsonObject{"name": "a"}
			}
		}
		what := fmt.Sprintf("%s, object %d", what, i)
		seen.objects++
		theirs := b.sameRead(t, what, schema, obj)
		if theirs == nil {
			seen.unread++
			continue
		}
		b.sameApplied(t, what, schema, obj, last, seen)
		created := b.sameErrors(t, what, schema, theirs, nil)
		if len(created) > 0 {
			seen.refused++
		}
		if last != nil {
			seen.updates++
			if len(b.sameErrors(t, what, schema, theirs, last)) < len(created) {
				seen.ratcheted++
			}
		}
		last = theirs
	}
}

// sameRead has both sides read an object, and returns the object that they read, nil if they cannot
// read it.
func (b *bench) sameRead(t *testing.T, what string, schema, obj jsonObject) jsonObject {
	t.Helper()
	theirs, theirErr := b.theirsOf(obj)
	ours, ourErr := b.oursOf(obj)
	if (theirErr == nil) != (ourErr == nil) {
		t.Fatalf("%s: reading %s:\n   ours: %v\n theirs: %v\n schema: %.2000s", what, encode(obj), ourErr, theirErr, encode(schema))
	}
	if theirErr != nil {
		return nil
	}
	if string(encode(ours)) != string(encode(theirs)) {
		t.Fatalf("%s: %s becomes\n   ours: %s\n theirs: %s\n schema: %.2000s", what, encode(obj), encode(ours), encode(theirs), encode(schema))
	}
	return theirs
}

func (b *bench) sameErrors(t *testing.T, what string, schema, obj, old jsonObject) []string {
	t.Helper()
	theirs, ours := b.theirErrors(obj, old), b.ourErrors(obj, old)
	if !slices.EqualFunc(ours, theirs, sameText) && len(theirs) <= oursfield.MaxErrors {
		t.Fatalf("%s: %s", what, errorsDiffer(theirs, ours)+fmt.Sprintf("\n object: %.3000s\n old: %.3000s\n schema: %.3000s",
			encode(obj), encode(old), encode(schema)))
	}
	return theirs
}

// sameText reports whether an error of ours is equal to one of theirs. Coracle cuts long texts, so
// ours may be a beginning.
func sameText(ours, theirs string) bool {
	begin, cut := strings.CutSuffix(ours, "...")
	return ours == theirs || cut && len(begin) > 1000 && strings.HasPrefix(theirs, begin)
}

// errorsDiffer lists the errors that only one side has. Both lists are sorted.
func errorsDiffer(theirs, ours []string) string {
	var b strings.Builder
	for _, side := range []struct {
		name        string
		has, others []string
	}{{"missing", theirs, ours}, {"extra", ours, theirs}} {
		left := slices.Clone(side.others)
		for _, err := range side.has {
			if i := slices.IndexFunc(left, func(other string) bool { return sameText(err, other) || sameText(other, err) }); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			if len(err) > 800 {
				err = err[:300] + " ... " + err[len(err)-500:]
			}
			fmt.Fprintf(&b, "\n %s: %s", side.name, err)
		}
	}
	return b.String()
}

// TestRandomObjects judges objects by random schemas.
func TestRandomObjects(t *testing.T) {
	rnd := random("random objects")
	var seen tally
	for i := range times(1500) {
		s := propsOf(t, randomSchema(rnd, 0))
		if errs, ok := theirSchemaErrors(t, s, nil, false); ok && len(errs) == 0 {
			b := newBench(t, s)
			if b.keepsAll = chance(rnd, 8); b.keepsAll {
				b.ours.PreserveAll()
			}
			b.compare(t, rnd, fmt.Sprint("schema ", i), 10, &seen)
		}
	}
	t.Logf("%+v", seen)
}

// TestPublishedObjects judges objects by schemas that people install.
func TestPublishedObjects(t *testing.T) {
	rnd := random("published objects")
	var seen tally
	for _, crd := range publishedDefinitions(t) {
		for _, v := range crd.Spec.Versions {
			if v.Schema != nil {
				newBench(t, v.Schema.OpenAPIV3Schema).compare(t, rnd, crd.Name+" "+v.Name, times(60), &seen)
			}
		}
	}
	t.Logf("%+v", seen)
	if n := seen.objects + seen.updates; count >= 1 && n < 20000 {
		t.Errorf("%d comparisons, which are too few", n)
	}
}
