package differential

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// stepMaker makes up what happens to an object.
type stepMaker struct {
	treeMaker
	run     *managerRun
	configs map[string]map[string]any // the last configuration of each manager, in v1
}

// managerNames are the managers that write. They are so many that entries of updates are merged.
var managerNames = []string{"kubectl", "kubectl", "kubectl", "a", "b", "c", "d", "", "m<1>", "m 2", "m\"3",
	"ancient-changes", "before-first-apply", "e", "f", "g", "h", "i"}

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

func (m *stepMaker) step() managerStep {
	w := m.run.world
	step := managerStep{Version: "v1", Manager: pick(m.Rand, managerNames[:5+m.IntN(len(managerNames)-4)]...)}
	if w.renamed && m.IntN(3) == 0 {
		step.Version = "v2"
	}
	switch c := m.IntN(100); {
	case c < 10:
		return managerStep{Do: "sleep"}
	case c < 12:
		clear(m.configs)
		return managerStep{Do: "delete"}
	case c < 14 && w.renamed:
		return managerStep{Do: "schema", Number: m.IntN(generations)}
	case c < 17 && w.renamed:
		return managerStep{Do: "drop", Number: max(0, m.IntN(5)-2)}
	case c < 55:
		step.Do = "put"
		m.put(&step)
	default:
		step.Do = "apply"
		m.apply(&step)
	}
	if m.IntN(4) == 0 {
		step.Sub = pick(m.Rand, "status", "status", "part", "scale")
	}
	return step
}

// base returns the object that a step starts from, in v1.
func (m *stepMaker) base() map[string]any {
	if live := m.run.state.live; live != nil && m.IntN(12) > 0 {
		return runtime.DeepCopyJSON(live)
	}
	return m.object("", nil)
}

// object makes up an object in v1, or changes one.
func (m *stepMaker) object(how string, from map[string]any) map[string]any {
	w := m.run.world
	root := w.shapes["v1"]
	out := map[string]any{}
	for _, name := range sortedNames(root.fields) {
		if name == "metadata" || name == "apiVersion" || name == "kind" {
			continue
		}
		n := root.fields[name]
		old, ok := from[name]
		switch {
		case how == "some" && ok:
			out[name] = m.some(n, old)
		case how == "mutate" && ok && m.IntN(2) == 0:
			out[name] = m.mutate(n, old, m.depth)
		case how == "mutate" && ok:
			out[name] = old
		case how == "" || m.IntN(8) == 0:
			out[name] = m.value(n, m.depth)
		}
	}
	metadata, _ := from["metadata"].(map[string]any)
	out["apiVersion"], out["kind"] = w.apiVersion("v1"), w.kind
	out["metadata"] = m.metadata(how, metadata)
	return plain(out).(map[string]any)
}

// metadataShape is the part of metadata that is made up.
var metadataShape = &shapeNode{typ: "object", fields: map[string]*shapeNode{
	"labels":      {typ: "object", elem: &shapeNode{typ: "string"}},
	"annotations": {typ: "object", elem: &shapeNode{typ: "string"}},
	"finalizers":  {typ: "array", listType: "set", elem: &shapeNode{typ: "string"}},
	"ownerReferences": {typ: "array", listType: "map", keys: []string{"uid"}, elem: &shapeNode{typ: "object", fields: map[string]*shapeNode{
		"uid": {typ: "string"}, "name": {typ: "string"},
	}}},
}}

func (m *stepMaker) metadata(how string, from map[string]any) map[string]any {
	var out map[string]any
	switch how {
	case "mutate":
		out = runtime.DeepCopyJSON(from)
		if out == nil {
			out = map[string]any{}
		}
		if m.IntN(3) == 0 {
			changed, ok := m.mutate(metadataShape, out, 3).(map[string]any)
			if ok {
				out = changed
			}
		}
	case "some":
		out = m.some(metadataShape, from).(map[string]any)
	default:
		out = m.treeMaker.object(metadataShape, 2)
	}
	out["name"] = "n"
	delete(out, "uid")
	return out
}

// put makes up the object of a put. It has no values of wrong types, because no server stores such
// an object.
func (m *stepMaker) put(step *managerStep) {
	defer func(wrong int) { m.wrong = wrong }(m.wrong)
	m.wrong = 0
	obj := m.base()
	if m.IntN(6) > 0 {
		obj = m.object("mutate", obj)
	}
	metadata := obj["metadata"].(map[string]any)
	if m.run.state.live != nil {
		metadata["uid"] = "u"
	}
	if m.IntN(6) == 0 { // as kubectl apply --client-side leaves it
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		metadata["annotations"] = annotations
		delete(annotations, annotation)
		applied := m.run.world.moved(m.object("some", obj), step.Version)
		annotations[annotation] = string(encode(plain(applied)))
		if m.IntN(20) == 0 {
			annotations[annotation] = pick(m.Rand, "", "{}", "x", `{"apiVersion":"v1","kind":"Other"}`)
		}
	}
	step.Object = plain(m.run.world.moved(obj, step.Version)).(map[string]any)
	switch c := m.IntN(30); {
	case c < 20:
		step.Asis = true
	case c < 23: // none
	case c < 24:
		step.Managed = []any{}
	case c < 25:
		step.Managed = []any{map[string]any{}}
	default:
		step.Managed = m.entries()
	}
}

// apply makes up a configuration.
func (m *stepMaker) apply(step *managerStep) {
	step.Force = m.IntN(3) == 0
	last := m.configs[step.Manager]
	var config map[string]any
	switch {
	case last != nil && m.IntN(8) == 0:
		config = last
	case last != nil && m.IntN(5) > 0:
		config = m.object("mutate", last)
	case m.run.state.live != nil && m.IntN(4) > 0:
		config = m.object("some", m.run.state.live)
		if m.IntN(2) == 0 {
			config = m.object("mutate", config)
		}
	default:
		config = m.object("", nil)
	}
	metadata := config["metadata"].(map[string]any)
	delete(metadata, "uid")
	if annotations, ok := metadata["annotations"].(map[string]any); ok && m.IntN(3) > 0 {
		delete(annotations, annotation)
	}
	m.configs[step.Manager] = runtime.DeepCopyJSON(config)
	config = plain(m.run.world.moved(config, step.Version)).(map[string]any)
	if m.IntN(60) == 0 {
		switch m.IntN(6) {
		case 0:
			config["kind"] = pick[any](m.Rand, "Other", "", nil, int64(1))
		case 1:
			config["apiVersion"] = pick[any](m.Rand, "v1", "test.dev/v2", "a/b/c", "", "/", "/v1", nil)
		case 2:
			metadata := config["metadata"].(map[string]any)
			metadata["managedFields"] = pick[any](m.Rand, []any{}, []any{map[string]any{}}, "x", []any{"x"}, map[string]any{})
		case 3:
			config["unknown"] = "x"
		case 4:
			config["spec"] = pick[any](m.Rand, nil, "x", []any{})
		case 5:
			config["metadata"] = pick[any](m.Rand, map[string]any{"labels": nil}, map[string]any{"name": int64(1)})
		}
	}
	step.Object = config
}

// fieldsTexts are the fields of managedFields entries that clients send, besides the stored
// entries.
var fieldsTexts = []string{
	`{}`, `{"f:spec":{}}`, `{"f:spec":{"f:a":{},"f:b":{".":{}, "f:x": {}}}}`, ` {"f:metadata": {"f:labels":{".":{},"f:k":{}}}} `,
	`{"f:status":{"f:a":{}}}`,
	`{"f:spec":{"f:c":{"v:\"x\"":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{}}}}}`, `{"f:spec":{"f:a2":{},"i:1":{}}}`, `{"x:y":{}}`,
}

// entries makes up managedFields that a client sends.
func (m *stepMaker) entries() []any {
	out := anysOf(m.run.state.theirs)
	for range 1 + m.IntN(3) {
		if len(out) == 0 || m.IntN(3) == 0 {
			out = append(out, map[string]any{"manager": "x", "operation": "Update", "apiVersion": m.run.world.apiVersion("v1"),
				"fieldsType": "FieldsV1",
				"fieldsV1":   json.RawMessage(pick(m.Rand, fieldsTexts...))})
			continue
		}
		i := m.IntN(len(out))
		e, ok := out[i].(map[string]any)
		if !ok {
			break
		}
		e = runtime.DeepCopyJSON(plain(e).(map[string]any))
		switch m.IntN(10) {
		case 0:
			out = slices.Delete(out, i, i+1)
			continue
		case 1:
			e["manager"] = pick(m.Rand, managerNames...)
		case 2:
			e["operation"] = pick(m.Rand, "Apply", "Update", "Update", "Apply", "apply", "")
		case 3:
			e["apiVersion"] = m.run.world.apiVersion(pick(m.Rand, "v1", "v2", "v3"))
			if m.IntN(3) == 0 {
				e["apiVersion"] = pick(m.Rand, "v1", "", "/", "a/b/c", "/v1", "other/v1")
			}
		case 4:
			if e["time"] = pick[any](m.Rand, "1999-01-01T00:00:00Z", "2000-01-01T00:00:01Z", "2030-01-01T00:00:00Z", nil); e["time"] == nil {
				delete(e, "time")
			}
		case 5:
			e["subresource"] = pick(m.Rand, "status", "part", "")
		case 6:
			e["fieldsType"] = pick(m.Rand, "FieldsV1", "FieldsV1", "FieldsV2", "")
		case 7:
			delete(e, "fieldsV1")
		case 8:
			e["fieldsV1"] = json.RawMessage(pick(m.Rand, fieldsTexts...))
		case 9: // a second entry like it
			out = append(out, e)
			continue
		}
		out[i] = e
	}
	m.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return anysOf(out)
}
