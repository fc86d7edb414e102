package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The forms of patches, by media type.
const (
	jsonForm      = "application/json-patch+json"
	mergeForm     = "application/merge-patch+json"
	strategicForm = "application/strategic-merge-patch+json"
	applyForm     = "application/apply-patch+yaml"
)

// TestPatches compares the answers of Kubernetes and Coracle to patches of stored objects through
// each door: patches that turn an object into a mutation of it, spoiled patches, and bodies that
// are no patch.
func TestPatches(t *testing.T) {
	c := newCourt(t)
	t.Cleanup(func() { logUnseen(t) })
	for _, row := range rows {
		t.Run(row.String(), func(t *testing.T) {
			t.Parallel()
			c.judgePatches(t, row)
		})
	}
}

// patchShare is the number of patches for each update that TestWrites tries through a door.
const patchShare = 0.5

func (c *court) judgePatches(t *testing.T, row Row) {
	r := newReport(row)
	began := time.Now()
	doors, err := row.REST(c.objects)
	if err != nil {
		t.Fatal(err)
	}
	more := row.stored(t)
	var stored []map[string]any
	for i, example := range row.examples(t) {
		stored = append(stored, c.store(t, row, example, more[i]))
	}
	for _, door := range doorNames(doors) {
		p := &patchMaker{mutator: &mutator{rand: random("patch", row.Resource, row.Kind, door), donors: c.donors}}
		for i := range max(1, int(float64(row.count())*patchShare)) {
			obj := stored[i%len(stored)]
			path := row.url(nameOf(obj), door)
			if p.chance(1) {
				path = row.url("absent", door)
			}
			if door != "" {
				if a := ask(c.theirs, http.MethodGet, path, nil); a.accepted() {
					obj = a.Body
				}
			}
			r.compare(c.patch(row, path, p.make(goType(t, kindOf(obj)), obj)))
		}
	}
	r.print(t, r.trials, time.Since(began))
}

// patch sends one request to both sides.
func (c *court) patch(row Row, path string, p patchRequest) trial {
	var shown any = json.RawMessage(p.body)
	if !json.Valid(p.body) || !bytes.Equal(bytes.ToValidUTF8(p.body, nil), p.body) {
		shown = string(p.body)
	}
	path += "?" + p.options.Encode()
	tr := trial{method: http.MethodPatch, url: path, body: map[string]any{"patch": shown}, notes: append(slices.Clone(p.notes), p.form)}
	tr = c.hear(row, tr, func(h http.Handler) answer {
		return send(h, http.MethodPatch, path, p.body, p.form, "application/json")
	})
	for range 100 { // Kubernetes' strategic merge ranges over maps and reports the first error, so chance decides which
		if tr.form() != strategicForm || !slices.ContainsFunc(tr.differences(), func(d string) bool { return !decided(row.Kind.Kind, d, tr) }) {
			break
		}
		tr.theirs = tr.again()
	}
	return tr
}

// form is the media type of a patch.
func (tr trial) form() string {
	if tr.method != http.MethodPatch {
		return ""
	}
	form, _, _ := strings.Cut(tr.notes[len(tr.notes)-1], ";")
	return form
}

// patchRequest is a patch and how it is sent.
type patchRequest struct {
	form    string
	body    []byte
	options url.Values
	notes   []string
}

// patchMaker makes patches of objects.
type patchMaker struct{ *mutator }

func (m *patchMaker) chance(percent int) bool { return m.rand.IntN(100) < percent }

func (m *patchMaker) make(t reflect.Type, obj map[string]any) patchRequest {
	p := patchRequest{form: one(m.mutator, jsonForm, mergeForm, strategicForm, strategicForm, applyForm), options: url.Values{"dryRun": {"All"}}}
	mutated := m.mutate(t, obj)
	if m.chance(6) {
		m.identity(mutated)
	}
	switch p.form {
	case jsonForm:
		p.body = m.operations(obj, mutated)
	case mergeForm:
		p.body = m.difference(obj, mutated)
	case applyForm:
		p.body = encode(m.config(mutated))
		p.options.Set("fieldManager", "me")
		if m.chance(50) {
			p.options.Set("force", "true")
		}
	default:
		var err error
		p.body, err = strategicpatch.CreateTwoWayMergePatch(encode(obj), encode(mutated), reflect.New(t).Interface())
		if err != nil || m.chance(10) {
			p.body = m.difference(obj, mutated)
		}
	}
	if m.chance(30) {
		p.body = m.spoilTree(p.body)
	}
	if m.chance(8) {
		p.body = m.spoilBytes(p.body)
	}
	m.choose(&p)
	p.notes = m.notes
	return p
}

// choose sometimes sets unusual options.
func (m *patchMaker) choose(p *patchRequest) {
	switch n := m.rand.IntN(100); {
	case n < 20:
		p.options.Set("fieldValidation", "Strict")
	case n < 35:
		p.options.Set("fieldValidation", "Ignore")
	case n < 45:
		p.options.Set("fieldValidation", "Warn")
	case n < 46:
		p.options.Set("fieldValidation", one(m.mutator, "Sometimes", "", "strict"))
	case n < 48:
		p.options.Set("fieldManager", one(m.mutator, "me", "", strings.Repeat("a", 128), strings.Repeat("a", 129), "a\x00b", "é", strings.Repeat("é\n", 70)))
	case n < 50:
		p.options.Set("force", one(m.mutator, "true", "false", "", "x", "1"))
	case n < 51:
		p.options["dryRun"] = []string{"All", one(m.mutator, "All", "", "all", "None")}
	case n < 53:
		p.form += one(m.mutator, "; charset=utf-8", ";charset=x;q=1", " ; charset=utf-8", "; ;", ";")
	case n < 54:
		p.form = one(m.mutator, "", "application/json", "application/yaml", "text/plain", ";", "*/*", "application/*", "application/JSON-patch+json",
			"application/merge-patch+json, application/json", "json", " application/merge-patch+json", "application/strategic-merge-patch+yaml")
	}
}

// identity changes a field that a patch must not change, or must match.
func (m *patchMaker) identity(obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		return
	}
	switch m.rand.IntN(8) {
	case 0:
		obj["kind"] = one[any](m.mutator, "", "ConfigMap", "Deployment", nil, "x", json.Number("5"))
	case 1:
		obj["apiVersion"] = one[any](m.mutator, "", "v1", "v2", "apps/v1", nil, "a/b/c", json.Number("5"))
	case 2:
		meta["resourceVersion"] = one[any](m.mutator, "", "1", "0", "999999999", "x", "-1", nil, json.Number("5"))
	case 3:
		meta["uid"] = one[any](m.mutator, "", "1", nil, "00000000-0000-0000-0000-000000000000")
	case 4:
		meta["name"] = one[any](m.mutator, "", "other", nil, json.Number("5"))
	case 5:
		meta["namespace"] = one[any](m.mutator, "", "other", nil)
	case 6:
		meta[one(m.mutator, "creationTimestamp", "deletionTimestamp", "generateName", "selfLink")] = one[any](m.mutator, nil, "", "x", "2020-01-01T00:00:00Z")
	default:
		obj["metadata"] = one[any](m.mutator, nil, map[string]any{}, "x")
	}
	m.note("other identity")
}

// config is an apply configuration with some fields of an object; some are null.
func (m *patchMaker) config(obj map[string]any) map[string]any {
	out, _ := m.some(obj).(map[string]any)
	for _, name := range []string{"apiVersion", "kind"} {
		out[name] = obj[name]
	}
	if head, ok := obj["metadata"].(map[string]any); ok && !m.chance(2) {
		some, _ := out["metadata"].(map[string]any)
		if some == nil {
			some = map[string]any{}
		}
		some["name"] = head["name"]
		delete(some, "managedFields")
		out["metadata"] = some
	}
	return out
}

// some returns a part of a value, in which some fields are null.
func (m *patchMaker) some(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range keys(v) {
			switch {
			case m.chance(2):
				out[name] = nil
			case !m.chance(15):
				out[name] = m.some(v[name])
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			switch {
			case m.chance(1):
				out = append(out, nil)
			case !m.chance(15):
				out = append(out, m.some(e))
			}
		}
		return out
	}
	return v
}

// difference is a merge patch that turns obj into mutated.
func (m *patchMaker) difference(obj, mutated map[string]any) []byte {
	p, err := jsonpatch.CreateMergePatch(encode(obj), encode(mutated))
	if err != nil {
		return encode(mutated)
	}
	return p
}

// operations is a JSON patch with many of the operations that turn obj into mutated, and other
// operations.
func (m *patchMaker) operations(obj, mutated map[string]any) []byte {
	var ops []any
	op := func(name, path string, more ...any) {
		o := map[string]any{"op": name, "path": path}
		for i := 0; i+1 < len(more); i += 2 {
			o[more[i].(string)] = more[i+1]
		}
		ops = append(ops, o)
	}
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		am, aok := a.(map[string]any)
		bm, bok := b.(map[string]any)
		al, alok := a.([]any)
		bl, blok := b.([]any)
		switch {
		case aok && bok:
			for _, key := range keys(am, bm) {
				at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
				before, was := am[key]
				after, is := bm[key]
				switch {
				case was && is:
					walk(at, before, after)
				case was:
					op("remove", at)
				default:
					op("add", at, "value", after)
				}
			}
		case alok && blok && len(al) == len(bl) && m.chance(80):
			for i := range al {
				walk(fmt.Sprint(path, "/", i), al[i], bl[i])
			}
		case string(encode(a)) != string(encode(b)):
			op(one(m.mutator, "replace", "replace", "add"), path, "value", b)
		}
	}
	walk("", obj, mutated)
	for m.chance(40) {
		from, value := m.place(obj)
		to, other := m.place(obj)
		switch m.rand.IntN(6) {
		case 0:
			op("test", from, "value", value)
		case 1:
			op("test", from, "value", other)
		case 2:
			op("copy", to, "from", from)
		case 3:
			op("move", to, "from", from)
		case 4:
			op("remove", from)
		default:
			op(one(m.mutator, "add", "replace"), to, "value", value)
		}
	}
	m.rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	if ops == nil {
		ops = []any{}
	}
	return encode(ops)
}

// place is a pointer into an object and the value there. Sometimes the pointer leads beyond the
// object.
func (m *patchMaker) place(v any) (string, any) {
	path := ""
	for {
		switch here := v.(type) {
		case map[string]any:
			all := keys(here)
			if len(all) == 0 || path != "" && m.chance(15) {
				return path, v
			}
			key := all[m.rand.IntN(len(all))]
			v = here[key]
			path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		case []any:
			if len(here) == 0 || m.chance(20) {
				return path + one(m.mutator, "", "/-", "/-1", "/0", "/99", "/x", fmt.Sprint("/", len(here))), v
			}
			i := m.rand.IntN(len(here))
			v = here[i]
			path += fmt.Sprint("/", i)
		default:
			return path + one(m.mutator, "", "", "", "", "/x", "/"), v
		}
	}
}

// spoilTree changes a patch at random places: unknown fields, nulls, other values, directives.
func (m *patchMaker) spoilTree(body []byte) []byte {
	var root any
	if decode(body, &root) != nil {
		return body
	}
	for range 1 + m.rand.IntN(2) {
		m.spoilAt(&root)
	}
	m.note("spoiled")
	return encode(root)
}

func (m *patchMaker) spoilAt(v *any) {
	switch here := (*v).(type) {
	case map[string]any:
		all := keys(here)
		if len(all) > 0 && m.chance(70) {
			key := all[m.rand.IntN(len(all))]
			child := here[key]
			m.spoilAt(&child)
			here[key] = child
			return
		}
		var key string
		if len(all) > 0 {
			key = all[m.rand.IntN(len(all))]
		}
		switch m.rand.IntN(9) {
		case 0:
			here["unknown"] = one[any](m.mutator, "x", map[string]any{"a": "b"}, []any{"x"}, nil)
		case 1:
			here["$patch"] = one[any](m.mutator, "replace", "delete", "merge", "x", nil, true)
		case 2:
			here["$retainKeys"] = one[any](m.mutator, []any{}, []any{key}, []any{"type"}, "x", nil, []any{"name", "spec", "metadata"})
		case 3:
			here["$setElementOrder/"+one(m.mutator, key, "containers", "env", "ports", "finalizers", "tolerations", "x", "")] =
				one[any](m.mutator, []any{}, []any{map[string]any{"name": "a"}}, []any{"a"}, nil, "x")
		case 4:
			here["$deleteFromPrimitiveList/"+one(m.mutator, key, "finalizers", "args", "x")] = one[any](m.mutator, []any{}, []any{"example.com/keep"}, []any{"a"}, nil)
		case 5:
			if key != "" {
				here[strings.ToUpper(key[:1])+key[1:]] = here[key]
				delete(here, key)
			}
		case 6:
			if key != "" {
				delete(here, key)
			}
		case 7:
			if key != "" {
				here[key] = nil
			}
		default:
			if key != "" {
				here[key] = one[any](m.mutator, "x", json.Number("5"), true, []any{}, map[string]any{}, json.Number("1.5"), []any{nil}, []any{"x"}, map[string]any{"name": nil})
			}
		}
	case []any:
		switch {
		case len(here) > 0 && m.chance(70):
			m.spoilAt(&here[m.rand.IntN(len(here))])
		case len(here) > 0 && m.chance(30):
			*v = append(here, here[m.rand.IntN(len(here))])
		case len(here) > 0 && m.chance(50):
			*v = here[1:]
		default:
			*v = append(here, one[any](m.mutator, nil, "x", json.Number("5"), map[string]any{}, []any{}, map[string]any{"$patch": "replace"},
				map[string]any{"$patch": "delete", "name": "a"}, map[string]any{"name": "new"}))
		}
	default:
		*v = one[any](m.mutator, nil, "x", "", json.Number("5"), json.Number("-1"), json.Number("1.5"), json.Number("5000000000"), true, []any{}, map[string]any{},
			[]any{map[string]any{}}, json.Number("99999999999999999999"), json.Number("1e400"), map[string]any{"x": nil})
	}
}

// spoilBytes changes the bytes of a patch: repeated keys, bad syntax, no patch at all.
func (m *patchMaker) spoilBytes(body []byte) []byte {
	m.note("other bytes")
	text := string(body)
	switch m.rand.IntN(10) {
	case 0:
		return []byte(one(m.mutator, "", "null", "{}", "[]", "5", `"x"`, "true", "not json", "{", "[", `[{}]`, `[null]`, "{broken", "a: b\n", "\xef\xbb\xbf{}", " ", "[5]", "[[]]",
			`[{"op":5}]`, `[{"op":"add"}]`, `[{"op":"copy","path":"/a"}]`, `[{"op":"x","path":"/a"}]`, `[{"op":"replace","path":"","value":{}}]`, `[{"path":"/a"}]`,
			`[{"op":"replace","path":"","value":null}]`, `[{"op":"replace","path":"","value":[]}]`, `[{"op":"test","path":"","value":{}}]`, `[{"op":"remove","path":""}]`, `[{"op":"add","path":"","value":1}]`,
			`[{"op":"add","path":"/x","value":1e999}]`, `{"a":1e999}`, `{"\ud800":"\ud800"}`, "{\"a\":\"\xff\"}"))
	case 1:
		return []byte(text + one(m.mutator, " ", "x", "{}", ",", "\n\n", "\x00"))
	case 2:
		return []byte(" \n\t" + text)
	case 3: // a key twice
		if i := strings.IndexByte(text, '{'); i >= 0 {
			if j := strings.IndexAny(text[i:], ",}"); j > 1 && !strings.ContainsAny(text[i+1:i+j], "{[") {
				return []byte(text[:i+1] + text[i+1:i+j] + "," + text[i+1:])
			}
		}
		return body
	case 4:
		if len(text) > 2 {
			i := m.rand.IntN(len(text))
			return []byte(text[:i] + text[i+1:])
		}
		return body
	case 5:
		if len(text) > 2 {
			return []byte(text[:m.rand.IntN(len(text))])
		}
		return body
	case 6:
		return []byte(strings.Replace(text, `":`, `": `, -1))
	case 7:
		if i := strings.IndexByte(text, '{'); i >= 0 {
			return []byte(text[:i+1] + one(m.mutator, `"metadata":{},`, `"a":1,"a":2,`, `"kind":"x","kind":"y",`, `"spec":null,"spec":{},`) + text[i+1:])
		}
		return body
	case 8: // one more letter in a key
		if parts := strings.Split(text, `":`); len(parts) > 1 {
			i := 1 + m.rand.IntN(len(parts)-1)
			return []byte(strings.Join(parts[:i], `":`) + `x":` + strings.Join(parts[i:], `":`))
		}
		return body
	}
	return []byte("[" + text + "]")
}

// TestPatchLimits compares patches of the largest allowed size, and larger ones.
func TestPatchLimits(t *testing.T) {
	c := newCourt(t)
	row := rows[slices.IndexFunc(rows, func(r Row) bool { return r.Resource == "configmaps" })]
	r := newReport(row)
	stored := c.store(t, row, row.examples(t)[0], row.stored(t)[0])
	list := func(n int, op string) string { return "[" + strings.TrimSuffix(strings.Repeat(op+",", n), ",") + "]" }
	text := func(n int) string { return strings.Repeat("x", n) }
	const test, copyBig = `{"op":"test","path":"/kind","value":"ConfigMap"}`, `{"op":"copy","from":"/data/big","path":"/data/copy"}`
	big := func(n int) string { return `{"op":"add","path":"/data/big","value":"` + text(n-2) + `"},` }
	nest := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for _, p := range []struct{ form, body string }{
		{jsonForm, list(10000, test)},
		{jsonForm, list(10001, test)},
		{jsonForm, list(10001, `{}`)},
		{jsonForm, list(10001, `5`)},
		{jsonForm, list(10001, test) + "x"},
		{jsonForm, "[" + big(300<<10) + list(10, copyBig)[1:]},
		{jsonForm, "[" + big(1<<20) + list(3, copyBig)[1:]},
		{jsonForm, "[" + big(1<<20) + list(4, copyBig)[1:]},
		{jsonForm, "[" + big(1<<20+1) + list(3, copyBig)[1:]},
		{mergeForm, `{"data":{"big":"` + text(1<<20) + `"}}`},
		{mergeForm, `{"data":{"big":"` + text(3<<20-20) + `"}}`},
		{mergeForm, `{"data":{"big":"` + text(3<<20-18) + `"}}`},
		{mergeForm, `{"data":null}` + strings.Repeat(" ", 3<<20)},
		{mergeForm, nest(5000)},
		{mergeForm, nest(20000)},
		{strategicForm, nest(5000)},
		{strategicForm, nest(20000)},
	} {
		for _, validation := range []string{"Strict", "Ignore"} {
			options := url.Values{"dryRun": {"All"}, "fieldValidation": {validation}}
			note := fmt.Sprintf("%.60s, %d bytes", p.body, len(p.body))
			r.compare(c.patch(row, row.url(nameOf(stored), ""), patchRequest{p.form, []byte(p.body), options, []string{note}}))
		}
	}
	r.print(t, r.trials, time.Second)
}
