package differential

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/patch"
	"github.com/coracle-project/coracle/scheme/typeinfo"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// node and trunk are types with merge strategies that both sides read.
type node struct {
	Name  string            `json:"name"`
	A     string            `json:"a,omitempty"`
	N     int64             `json:"n,omitempty"`
	Prims []string          `json:"prims,omitempty" patchStrategy:"merge" patch:"merge"`
	M     map[string]string `json:"m,omitempty"`
	Subs  []node            `json:"subs,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" patch:"merge,retainKeys,key=name"`
	Obj   *node             `json:"obj,omitempty" patchStrategy:"retainKeys" patch:"retainKeys"`
	Rep   *node             `json:"rep,omitempty" patchStrategy:"replace" patch:"replace"`
}

type trunk struct {
	Name  string              `json:"name"`
	N     int64               `json:"n,omitempty"`
	Prims []string            `json:"prims,omitempty" patchStrategy:"merge" patch:"merge"`
	Ints  []int64             `json:"ints,omitempty" patchStrategy:"merge" patch:"merge"`
	Plain []string            `json:"plain,omitempty"`
	Atom  []node              `json:"atom,omitempty"`
	M     map[string]string   `json:"m,omitempty"`
	Mi    map[string]node     `json:"mi,omitempty"`
	Subs  []node              `json:"subs,omitempty" patchStrategy:"merge" patchMergeKey:"name" patch:"merge,key=name"`
	Nums  []node              `json:"nums,omitempty" patchStrategy:"merge" patchMergeKey:"n" patch:"merge,key=n"`
	Ptrs  []*node             `json:"ptrs,omitempty" patchStrategy:"merge" patchMergeKey:"name" patch:"merge,key=name"`
	Obj   *node               `json:"obj,omitempty"`
	Rep   node                `json:"rep,omitempty" patchStrategy:"replace" patch:"replace"`
	Bytes []byte              `json:"bytes,omitempty" patchStrategy:"merge" patch:"merge"`
	LL    [][]string          `json:"ll,omitempty"`
	LM    []map[string]string `json:"lm,omitempty" patchStrategy:"merge" patch:"merge"`
}

// The fields of both types: those that hold lists of scalars, lists of nodes, nodes, and others.
var (
	scalarLists = []string{"prims", "ints", "plain", "bytes", "ll"}
	nodeLists   = []string{"subs", "nums", "ptrs", "atom", "lm"}
	nodes       = []string{"obj", "rep", "m", "mi"}
	scalars     = []string{"name", "n", "a", "zzz", "Name"}
)

// grower makes documents and patches. Its names and values are few, so that patches often touch
// fields of documents.
type grower struct{ *rand.Rand }

func (g grower) one(from ...string) string { return from[g.IntN(len(from))] }

func (g grower) chance(percent int) bool { return g.IntN(100) < percent }

func (g grower) scalar() string {
	if g.chance(12) {
		return g.one("null", "true", "1.5", "1.0", "1", `"<"`, "[]", "{}", `"é"`, "9223372036854775808", "-0", "1e2", `["x"]`, `{"a":"b"}`)
	}
	return `"` + g.one("a", "b", "c", "d") + `"`
}

func (g grower) number() string { return g.one("0", "1", "2", "3", "1.0") }

// keyed makes the member that is the merge key of the list field.
func (g grower) keyed(field string) string {
	if field == "nums" {
		return `"n":` + g.number()
	}
	return `"name":"` + g.one("a", "b", "c", "d") + `"`
}

func (g grower) list(n int, element func() string) string {
	var all []string
	for range g.IntN(n + 1) {
		all = append(all, element())
	}
	return "[" + strings.Join(all, ",") + "]"
}

// object joins members in random order, without the empty ones.
func (g grower) object(members ...string) string {
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(slices.DeleteFunc(members, func(m string) bool { return m == "" }), ",") + "}"
}

// document makes an object of either type.
func (g grower) document(depth int) string {
	var ms []string
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] {
			seen[name] = true
			ms = append(ms, `"`+name+`":`+value)
		}
	}
	add("name", `"`+g.one("a", "b", "c", "d")+`"`)
	for range g.IntN(5) {
		name := g.one(slices.Concat(scalarLists, nodeLists, nodes, scalars)...)
		switch {
		case name == "ints":
			add(name, g.list(5, g.number))
		case slices.Contains(scalarLists, name):
			add(name, g.list(5, func() string { return `"` + g.one("a", "b", "c", "d") + `"` }))
		case slices.Contains(nodeLists, name) && depth > 0:
			add(name, g.list(4, func() string { return g.element(name, depth-1) }))
		case name == "m":
			add(name, g.object(`"a":"b"`, `"b":"c"`))
		case name == "mi":
			add(name, g.object(`"a":`+g.document(0)))
		case slices.Contains(nodes, name) && depth > 0:
			add(name, g.document(depth-1))
		case slices.Contains(scalars, name):
			add(name, g.scalar())
		}
	}
	return g.object(ms...)
}

// element makes an element of a list of nodes.
func (g grower) element(name string, depth int) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(g.document(depth), "{"), "}")
	if name == "nums" {
		return g.object(`"n":`+g.number(), strings.ReplaceAll(inner, `"n":`, `"N":`))
	}
	return "{" + inner + "}"
}

// strategic makes a strategic merge patch with directives.
func (g grower) strategic(depth int) string {
	var ms []string
	if g.chance(8) {
		ms = append(ms, `"$patch":`+g.one(`"replace"`, `"delete"`, `"merge"`, `"x"`, "null", "5", "{}"))
	}
	if g.chance(8) {
		ms = append(ms, `"$retainKeys":`+g.one(`["name","obj","subs","prims"]`, `["name"]`, `[]`, `"name"`, `[1,"name",null]`, `null`,
			`["name","a","n","prims","ints","plain","m","mi","subs","nums","ptrs","obj","rep","zzz"]`))
	}
	for range g.IntN(4) {
		name := g.one(slices.Concat(scalarLists, nodeLists, nodes, scalars)...)
		if g.chance(6) {
			ms = append(ms, `"`+name+`":null`)
			continue
		}
		if g.chance(4) {
			ms = append(ms, `"`+name+`":`+g.scalar())
			continue
		}
		switch {
		case slices.Contains(scalarLists, name):
			element := func() string { return `"` + g.one("a", "b", "c", "d", "e") + `"` }
			switch {
			case name == "ints":
				element = g.number
			case g.chance(5):
				element = g.scalar
			}
			if g.chance(70) {
				ms = append(ms, `"`+name+`":`+g.list(4, element))
			}
			if g.chance(25) {
				ms = append(ms, `"$deleteFromPrimitiveList/`+name+`":`+g.list(3, element))
			}
			if g.chance(30) {
				ms = append(ms, `"$setElementOrder/`+name+`":`+g.list(5, element))
			}
		case slices.Contains(nodeLists, name) && depth > 0:
			element := func() string {
				if g.chance(2) {
					return g.scalar()
				}
				inner := strings.TrimSuffix(strings.TrimPrefix(g.strategic(depth-1), "{"), "}")
				if g.chance(15) {
					inner = `"$patch":` + g.one(`"delete"`, `"delete"`, `"replace"`, `"merge"`, `"x"`, "1")
				}
				if g.chance(4) {
					return "{" + inner + "}"
				}
				return g.object(g.keyed(name), inner)
			}
			if g.chance(80) {
				ms = append(ms, `"`+name+`":`+g.list(4, element))
			}
			if g.chance(35) {
				ms = append(ms, `"$setElementOrder/`+name+`":`+g.list(5, func() string {
					if g.chance(3) {
						return g.scalar()
					}
					return "{" + g.keyed(name) + "}"
				}))
			}
			if g.chance(3) {
				ms = append(ms, `"$deleteFromPrimitiveList/`+name+`":`+g.list(3, element))
			}
		case name == "m":
			ms = append(ms, `"m":`+g.object(`"a":`+g.scalar(), g.one("", `"$patch":"replace"`, `"b":null`)))
		case slices.Contains(nodes, name) && depth > 0:
			ms = append(ms, `"`+name+`":`+g.strategic(depth-1))
		case slices.Contains(scalars, name):
			ms = append(ms, `"`+name+`":`+g.scalar())
		}
		if g.chance(1) {
			ms = append(ms, g.one(`"$setElementOrder":[]`, `"$deleteFromPrimitiveList":["a"]`, `"$setElementOrder/zzz":["a"]`, `"$setElementOrder/prims":{}`,
				`"$deleteFromPrimitiveListX/prims":["a"]`, `"$setElementOrderX/prims":["a"]`, `"$deleteFromPrimitiveList/":["a"]`, `"$deleteFromPrimitiveList/prims":null`,
				`"$deleteFromPrimitiveList/prims":"a"`, `"$setElementOrder/name":["a"]`, `"$setElementOrder/obj":["a"]`, `"$setElementOrder/prims":null`))
		}
	}
	return g.object(ms...)
}

// value makes any JSON value.
func (g grower) value(depth int) string {
	switch {
	case depth == 0 || g.chance(40):
		return g.scalar()
	case g.chance(30):
		return g.list(4, func() string { return g.value(depth - 1) })
	case g.chance(30):
		return g.document(depth - 1)
	}
	return g.object(`"`+g.one("a", "b", "a/b", "m~n", "")+`":`+g.value(depth-1), g.one("", `"`+g.one("c", "-", "0", "name")+`":`+g.value(depth-1)))
}

// pointer makes a JSON pointer, which mostly leads into documents.
func (g grower) pointer() string {
	if g.chance(4) {
		return g.one("", "/", "name", "a/name", "//", "/-", "/~0", "/~1", "/~", "/~2", "/a~1b", "/m~0n", "/a~01b", "#/name", "/name/", "/subs/ 0", "/subs/+1", "/subs/01", "/subs/1_0")
	}
	s := ""
	for range 1 + g.IntN(3) {
		s += "/" + g.one(slices.Concat(scalarLists, nodeLists, nodes, scalars, []string{"0", "1", "2", "-1", "-", "5", "0", "1", "a", "b", "-9", "00"})...)
	}
	return s
}

// operations makes a JSON patch.
func (g grower) operations() string {
	if g.chance(2) {
		return g.one("null", "{}", "5", `"x"`, `[null]`, `[5]`, `[{}]`, `[{"op":5}]`, `[{"op":"add","path":5}]`, `[{"op":"add","path":null,"value":1}]`,
			`[{"op":"copy","path":"/a"}]`, `[{"op":"copy","path":"/a","from":null}]`, `[{"op":null,"path":"/a"}]`, `[]`, `[[]]`, `[{"op":"test","path":"/a"}]`,
			`[{"op":"move","from":"","path":"/a"}]`, `[{"op":"add","path":"","value":{}}]`, `[{"op":"remove","path":""}]`, `[{"op":"replace","path":"","value":null}]`,
			`[{"op":"replace","path":""}]`, `[{"op":"test","path":""}]`, `[{"op":"replace","path":"","value":[1]},{"op":"add","path":"/-","value":2}]`,
			`[{"Op":"add","Path":"/a","Value":2}]`, `[{"op":"add","op":"remove","path":"/name"}]`, `[{"op":"add","path":"/x","value":1e400}]`, `[{"op":"Add","path":"/x","value":1}]`)
	}
	var ops []string
	for range 1 + g.IntN(4) {
		op := g.one("add", "add", "remove", "replace", "move", "copy", "test", "test")
		members := []string{`"op":"` + op + `"`, `"path":"` + g.pointer() + `"`}
		if (op == "move" || op == "copy") != g.chance(3) {
			members = append(members, `"from":"`+g.pointer()+`"`)
		} else if !g.chance(4) {
			members = append(members, `"value":`+g.value(2))
		}
		ops = append(ops, g.object(members...))
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// mergePatch makes a merge patch, or something else.
func (g grower) mergePatch() string { return g.one(g.value(3), g.strategic(2), g.document(2)) }

// mergeOutcome is the result of a patch: an object, or a refusal.
type mergeOutcome struct {
	kind    patch.Kind // 0: the patch was accepted
	message string
	result  string // with sorted keys
	left    string // the rest of a strategic merge patch after the merge
}

// TestMergers compares the three merges themselves, without requests around them, over made-up
// documents and patches.
func TestMergers(t *testing.T) {
	root := typeinfo.For[trunk]()
	for _, form := range []struct {
		name         string
		patch        func(g grower) string
		theirs, ours func(doc, patch []byte) mergeOutcome
	}{
		{"json", grower.operations, checked(decodesJSONPatch, theirJSONPatch), ourChecked(patch.CheckJSON, patch.JSON)},
		{"json unchecked", grower.operations, theirJSONPatch, func(doc, p []byte) mergeOutcome { return ourOutcome(patch.JSON(doc, p, nil)) }},
		{"merge", grower.mergePatch, checked(decodesMergePatch, theirMergePatch), ourChecked(patch.CheckMerge, patch.Merge)},
		{"merge unchecked", grower.mergePatch, theirMergePatch, func(doc, p []byte) mergeOutcome { return ourOutcome(patch.Merge(doc, p, nil)) }},
		{"strategic", func(g grower) string { return g.strategic(3) }, theirStrategicPatch, func(doc, p []byte) mergeOutcome {
			m := ourOutcome(patch.Strategic(doc, p, root, nil))
			if m.kind == 0 {
				m.left = patch.StrategicText(doc, p, root, nil)
			}
			return m
		}},
	} {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			g := grower{random("mergers", form.name)}
			accepted, failed := 0, 0
			n := times(40000)
			for range n {
				doc, p := g.document(3), form.patch(g)
				ours := form.ours([]byte(doc), []byte(p))
				if ours.kind == 0 {
					accepted++
				}
				theirs, same := settleChance(func() mergeOutcome { return form.theirs([]byte(doc), []byte(p)) }, ours)
				if same {
					continue
				}
				if failed++; failed < 12 {
					t.Errorf("document %s\n  patch %s\n  Kubernetes: %+v\n  Coracle:    %+v", doc, p, theirs, ours)
				}
			}
			t.Logf("%d patches, %d accepted by Coracle, %d differences", n, accepted, failed)
		})
	}
}

// TestScalarListMerges compares strategic merge patches that delete from a list of scalars and add
// to it at once. The lists repeat values. Kubernetes merges into the memory of the list that the
// deletion has left, and sorts the result by that list.
func TestScalarListMerges(t *testing.T) {
	root := typeinfo.For[trunk]()
	g := grower{random("scalar lists")}
	value := func() string { return `"` + g.one("a", "b", "c", "d", "e") + `"` }
	both := 0
	for range times(20000) {
		doc := `{"name":"x","prims":` + g.list(8, value) + `}`
		p := g.object(`"prims":`+g.list(4, value), `"$deleteFromPrimitiveList/prims":`+g.list(2, value),
			g.one("", `"$setElementOrder/prims":`+g.list(6, value)))
		ours := ourOutcome(patch.Strategic([]byte(doc), []byte(p), root, nil))
		if ours.kind == 0 {
			ours.left = patch.StrategicText([]byte(doc), []byte(p), root, nil)
			both++
		}
		if theirs, same := settleChance(func() mergeOutcome { return theirStrategicPatch([]byte(doc), []byte(p)) }, ours); !same {
			t.Fatalf("document %s\n  patch %s\n  Kubernetes: %+v\n  Coracle:    %+v", doc, p, theirs, ours)
		}
	}
	if both == 0 {
		t.Error("no patch was accepted")
	}
}

// settleChance repeats Kubernetes' merge, at most 200 times, until the outcome is Coracle's.
// Kubernetes' strategic merge ranges over maps, so chance decides between outcomes.
func settleChance(theirs func() mergeOutcome, ours mergeOutcome) (first mergeOutcome, same bool) {
	for i := range 200 {
		m := theirs()
		if i == 0 {
			first = m
		}
		if m == ours || m.message == panicText {
			return first, true
		}
	}
	return first, false
}

// panicText is the message of an outcome if Kubernetes' code panics.
const panicText = "it panicked"

func ourOutcome(out []byte, err error) mergeOutcome {
	if err == nil {
		return mergeOutcome{result: plainJSON(out)}
	}
	e, _ := errors.AsType[*patch.Error](err)
	return refusal(e.Kind, e.Message)
}

// refusal leaves out what no client sees: the message of an inapplicable patch, and whether a test
// operation has failed.
func refusal(kind patch.Kind, message string) mergeOutcome {
	if kind == patch.Untrue {
		kind = patch.Inapplicable
	}
	if kind == patch.Inapplicable {
		message = ""
	}
	return mergeOutcome{kind: kind, message: message}
}

// plainJSON writes JSON in one form, so that equal documents have equal texts: with sorted keys,
// and with numbers as Kubernetes reads them.
func plainJSON(data []byte) string {
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &v); err != nil {
		return "unreadable: " + string(data)
	}
	return string(encode(v))
}

// checked adds field validation to a merge: decodes reads the patch once more before.
func checked(decodes func(p []byte) error, merge func(doc, p []byte) mergeOutcome) func(doc, p []byte) mergeOutcome {
	return func(doc, p []byte) mergeOutcome {
		if err := decodes(p); err != nil {
			return refusal(patch.Malformed, "error decoding patch: "+strings.ReplaceAll(err.Error(), "differential.", "handlers."))
		}
		return merge(doc, p)
	}
}

func decodesJSONPatch(p []byte) error {
	var ops []jsonPatchOp
	_, err := kjson.UnmarshalStrict(p, &ops)
	return err
}

func decodesMergePatch(p []byte) error {
	var v map[string]any
	_, err := kjson.UnmarshalStrict(p, &v)
	return err
}

// ourChecked is checked for Coracle.
func ourChecked(check func(p []byte, m *meter.Meter) ([]string, error), merge func(doc, p []byte, m *meter.Meter) ([]byte, error)) func(doc, p []byte) mergeOutcome {
	return func(doc, p []byte) mergeOutcome {
		if _, err := check(p, nil); err != nil {
			return ourOutcome(nil, err)
		}
		return ourOutcome(merge(doc, p, nil))
	}
}

func theirJSONPatch(doc, p []byte) (m mergeOutcome) {
	defer recoverInto(&m)
	decoded, err := jsonpatch.DecodePatch(p)
	if err != nil {
		return refusal(patch.Malformed, err.Error())
	}
	out, err := decoded.Apply(doc)
	if err != nil {
		return refusal(patch.Inapplicable, "")
	}
	return mergeOutcome{result: plainJSON(out)}
}

// jsonPatchOp has the name of the type into which kube-apiserver first decodes the operations of a
// patch, because messages name it.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func theirMergePatch(doc, p []byte) (m mergeOutcome) {
	defer recoverInto(&m)
	out, err := jsonpatch.MergePatch(doc, p)
	if err != nil {
		return refusal(patch.Malformed, err.Error())
	}
	return mergeOutcome{result: plainJSON(out)}
}

func theirStrategicPatch(doc, p []byte) (m mergeOutcome) {
	defer recoverInto(&m)
	var original, changes map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &original); err != nil {
		panic(err)
	}
	var sorted any
	if decode(p, &sorted) == nil { // Go ranges over a small map in the order of its making, from a random start; sorted keys leave few orders
		p = encode(sorted)
	}
	if _, err := kjson.UnmarshalStrict(p, &changes); err != nil {
		return refusal(patch.Malformed, err.Error())
	}
	clip(original)
	out, err := strategicpatch.StrategicMergeMapPatch(original, changes, trunk{})
	switch err {
	case nil:
		return mergeOutcome{result: plainJSON(encode(out)), left: fmt.Sprintf("%+v", changes)}
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList:
		return refusal(patch.Malformed, err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return refusal(patch.Inapplicable, "")
	}
	return refusal(patch.Unmergeable, err.Error())
}

// clip removes spare capacity from lists, so that an append of a merge does not write into them.
// The lists that kube-apiserver converts from objects have no spare capacity either.
func clip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if l, ok := e.([]any); ok {
				v[key] = slices.Clip(slices.Clone(l))
			}
			clip(v[key])
		}
	case []any:
		for _, e := range v {
			clip(e)
		}
	}
}

func recoverInto(m *mergeOutcome) {
	if p := recover(); p != nil {
		*m = mergeOutcome{message: panicText}
	}
}
