package differential

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/cel/rules"
	thecel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// TestRules has both sides judge schemas with rules. By the right schemas they then judge objects,
// as new ones and as updates of the object before. Warnings are compared as well.
func TestRules(t *testing.T) {
	g := &ruleGame{rnd: random("rules")}
	differ := 0
	for i := range times(900) {
		if !t.Run(fmt.Sprint("schema ", i), func(t *testing.T) { g.t = t; g.play(t.Name()) }) {
			if differ++; differ == 6 {
				break
			}
		}
	}
	t.Logf("%+v", g.seen)
}

// ruleGame makes up schemas, rules and objects.
type ruleGame struct {
	t    *testing.T
	rnd  *rand.Rand
	seen struct{ schemas, refused, rules, objects, broken, updates, warned int }
}

func (g *ruleGame) play(what string) {
	tree := randomSchema(g.rnd, 0)
	made := g.spread(tree, 0)
	if made == 0 {
		return
	}
	s := propsOf(g.t, tree)
	g.seen.schemas++
	old := s
	if chance(g.rnd, 3) {
		old = nil
	}
	if errs := compareSchemas(g.t, what, s, old, false); len(errs) > 0 {
		g.seen.refused++
		repair(tree, schemaPath, errs)
		if s = propsOf(g.t, tree); len(compareSchemas(g.t, what+", repaired", s, nil, false)) > 0 {
			return
		}
	}
	g.seen.rules += made
	b := newBench(g.t, s)
	theirs, ours := thecel.NewValidator(b.structural, true, celconfig.PerCallLimit), rules.Of(b.ours, true)
	var last jsonObject
	for i := range 12 {
		obj := randomObjectOf(g.rnd, tree)
		if last != nil && !chance(g.rnd, 3) {
			if changed, ok := mutated(g.rnd, last).(jsonObject); ok {
				obj = changed
			}
		}
		obj["apiVersion"], obj["kind"], obj["metadata"] = "example.com/v1", "Widget", jsonObject{"name": "a", "uid": "u"}
		whole, err := b.theirsOf(obj)
		if err != nil || len(b.theirFound(whole, nil)) > 0 {
			continue
		}
		g.seen.objects++
		if len(g.compareObjects(fmt.Sprintf("%s, object %d", what, i), b, theirs, ours, whole, nil)) > 0 {
			g.seen.broken++
		}
		if last != nil {
			g.seen.updates++
			g.compareObjects(fmt.Sprintf("%s, update %d", what, i), b, theirs, ours, whole, last)
		}
		last = whole
	}
}

// compareObjects has the rules of both sides judge an object. Kubernetes visits the fields of a map
// in random order and reports the first error, so compareObjects asks it again while the two
// differ.
func (g *ruleGame) compareObjects(what string, b *bench, theirs *thecel.Validator, ours *rules.Rules, obj, old jsonObject) []string {
	var before any
	if old != nil {
		before = old
	}
	var got []string
	for _, err := range ours.Validate(context.Background(), nil, obj, before, func(text string) { got = append(got, "warning "+text) }) {
		got = append(got, fmt.Sprint(err.Type, " ", err.Field, " ", err.Body()))
	}
	slices.Sort(got)
	want, warned := theirVerdict(b, theirs, obj, old)
	g.seen.warned += warned
	for range 20 {
		if slices.Equal(got, want) || len(want) > 100 {
			return want
		}
		want, _ = theirVerdict(b, theirs, obj, old)
	}
	g.t.Errorf("%s: %s\n from %s\n   ours: %s\n theirs: %s\n schema: %s", what, encode(obj), encode(old),
		strings.Join(got, "\n         "), strings.Join(want, "\n         "), encode(treeOfProps(g.t, b.source)))
	return want
}

// theirVerdict returns Kubernetes' errors and warnings about an object, sorted, and the number of
// warnings.
func theirVerdict(b *bench, theirs *thecel.Validator, obj, old jsonObject) (found []string, warned int) {
	heard := &warnings{}
	ctx := warning.WithWarningRecorder(context.Background(), heard)
	var opts []thecel.Option
	var before any
	if old != nil {
		opts = append(opts, thecel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: b.structural})))
		before = old
	}
	errs, _ := theirs.Validate(ctx, nil, b.structural, obj, before, celconfig.RuntimeCELCostBudget, opts...)
	for _, err := range errs {
		found = append(found, fmt.Sprint(err.Type, " ", err.Field, " ", err.ErrorBody()))
	}
	found = append(found, heard.texts...)
	slices.Sort(found)
	return found, len(heard.texts)
}

// warnings collects the warnings for the client.
type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, "warning "+text) }

// repair removes from a schema the rules and defaults that have errors.
func repair(s jsonObject, path string, errs []string) {
	for _, keyword := range []string{"x-kubernetes-validations", "default"} {
		if slices.ContainsFunc(errs, func(err string) bool { return strings.Contains(err, " "+path+"."+keyword) }) {
			delete(s, keyword)
		}
	}
	fields, _ := s["properties"].(jsonObject)
	for name, f := range fields {
		repair(f.(jsonObject), path+".properties["+name+"]", errs)
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, ok := s[name].(jsonObject); ok {
			repair(inner, path+"."+name, errs)
		}
	}
}

// spread puts rules into a schema, and returns their number.
func (g *ruleGame) spread(s jsonObject, depth int) (made int) {
	if s["type"] == nil { // Kubernetes panics if a schema without type has rules inside
		for _, name := range []string{"properties", "items", "additionalProperties"} {
			delete(s, name)
		}
	}
	if chance(g.rnd, 3) || depth == 0 && chance(g.rnd, 2) {
		var list []any
		for range 1 + g.rnd.IntN(2) {
			list = append(list, g.rule(s))
			made++
		}
		s["x-kubernetes-validations"] = list
	}
	if fields, ok := s["properties"].(jsonObject); ok {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if depth > 0 || name != "metadata" {
				made += g.spread(fields[name].(jsonObject), depth+1)
			}
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, ok := s[name].(jsonObject); ok {
			made += g.spread(inner, depth+1)
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "not"} { // rules do not see these
		delete(s, name)
	}
	if format, _ := s["format"].(string); s["type"] != "string" || !slices.Contains([]string{"byte", "date", "date-time", "duration"}, format) {
		delete(s, "format")
	}
	// Sets of lists or objects cannot be compared. Kubernetes fails in another way at the second
	// comparison.
	if items, ok := s["items"].(jsonObject); ok && s["x-kubernetes-list-type"] == "set" && (items["type"] == "array" || items["type"] == "object") {
		s["x-kubernetes-list-type"] = "atomic"
	}
	// In Kubernetes a rule can change the set for the next rule: self + oldSelf adds the elements
	// of oldSelf to self. So a set has one rule.
	if list, ok := s["x-kubernetes-validations"].([]any); ok && s["x-kubernetes-list-type"] == "set" {
		s["x-kubernetes-validations"] = list[:1]
	}
	if typ := s["type"]; typ == nil || typ == "object" || typ == "array" { // other tests judge these defaults
		delete(s, "default")
	}
	g.bound(s)
	return made
}

// bound limits the size of most values, so that rules about them stay within the cost limit.
func (g *ruleGame) bound(s jsonObject) {
	if chance(g.rnd, 12) {
		return
	}
	switch limit := g.rnd.IntN(5) + 3; s["type"] {
	case "array":
		if s["maxItems"] == nil {
			s["maxItems"] = limit
		}
	case "string":
		if s["maxLength"] == nil && s["format"] == nil {
			s["maxLength"] = 4 * limit
		}
	case "object":
		if _, ok := s["additionalProperties"].(jsonObject); ok && s["maxProperties"] == nil {
			s["maxProperties"] = limit
		}
	}
}

// rule makes up a rule for values of a schema.
func (g *ruleGame) rule(s jsonObject) jsonObject {
	w := ruleWriter{g.rnd}
	r := jsonObject{"rule": w.condition("self", s, 3)}
	switch {
	case chance(g.rnd, 6):
		r["rule"] = w.changed(s)
	case chance(g.rnd, 8):
		r["rule"] = "oldSelf.hasValue() || " + r["rule"].(string)
		r["optionalOldSelf"] = true
	case chance(g.rnd, 12):
		r["rule"] = oneOf(g.rnd, "self.nope == 1", "self +", "self == oldSelf", "size(self) > 0", "dyn(self).all(x, x == self)", " ", "self",
			"type(self) == string", "self == self", "dyn(self) == dyn([1])", "!has(self.a)", "string(dyn(self)) == 'a'", "dyn(self) in [1, 'a']")
	}
	if chance(g.rnd, 4) {
		r["message"] = oneOf(g.rnd, "no good", " spaces ", "%s", "", "  ")
	}
	if chance(g.rnd, 5) {
		r["messageExpression"] = oneOf(g.rnd, "'is wrong'", "'was ' + string(dyn(self))", "dyn(self).a", "1", "''", "'a\\nb'", "self", "string(size(self))")
	}
	if chance(g.rnd, 5) {
		r["reason"] = oneOf(g.rnd, "FieldValueForbidden", "FieldValueRequired", "FieldValueInvalid", "FieldValueDuplicate", "Odd")
	}
	if fields, ok := s["properties"].(jsonObject); ok && chance(g.rnd, 4) {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			r["fieldPath"] = oneOf(g.rnd, "."+name, "['"+name+"']", ".nope")
		}
	}
	return r
}
