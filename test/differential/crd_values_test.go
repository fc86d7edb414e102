package differential

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// texts are valid and nearly valid strings of each format.
var texts = []string{"", "a", "b", "cc", "abc", "A", "a b", "507f1f77bcf86cd799439011", "http://example.com/a", "/a", "example.com", "a@example.com",
	"10.0.0.1", "10.0.0.256", "::1", "::ffff:10.0.0.1", "10.0.0.0/8", "2001:db8::/32", "01:23:45:67:89:ab", "a987fbc9-4bed-3078-cf07-9141ba07c9f3",
	"a987fbc9-4bed-4078-8f07-9141ba07c9f3", "A987FBC94BED50788F079141BA07C9F3", "0321751043", "978-0321751041", "3-598-21508-8", "3598215088", "359821507X",
	"4242424242424242", "4111 1111 1111 1111", "1234567890123456", "5555555555554444", "378282246310005", "111-22-3333", "#fff", "#FFFFFF", "#ffff",
	"rgb(1,2,3)", "rgb(1, 2, 300)", "rgb( 1 , 2 , 3 )", "aGVsbG8=", "aGVsbG8", "2020-02-30", "2020-02-28", "1h", "1 day", "3 weeks", "1.5h", "-1s", "22 ns", "10 nope",
	"2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20z", "2014-12-15T19:30:20+01:00", "2014-12-15 19:30", "2014-12-15T19:30:20", "2014-12-15T24:00:00Z",
	"my-name", "my.long.name", "-bad", "xn--bcher-kva.example", "bücher.example", "1Gi", "1e3", "a_b", "mailto:x", "Name <a@example.com>", "a@b"}

// maker makes values for schemas.
type maker struct {
	rnd  *rand.Rand
	left int // the number of values that it may still make without being required to
}

// randomValue makes a small value that mostly fits a schema.
func randomValue(rnd *rand.Rand, s jsonObject) any {
	m := maker{rnd, rnd.IntN(40)}
	return m.value(s, 0)
}

// randomObjectOf makes an object that mostly fits the schema of a resource.
func randomObjectOf(rnd *rand.Rand, s jsonObject) jsonObject {
	m := maker{rnd, 1 + rnd.IntN(80)}
	obj := m.fields(s, 0)
	obj["apiVersion"], obj["kind"], obj["metadata"] = "example.com/v1", "Widget", jsonObject{"name": "a"}
	return obj
}

func (m *maker) value(s jsonObject, depth int) any {
	rnd := m.rnd
	if m.left--; depth > 20 {
		return nil
	}
	if chance(rnd, 40) {
		return oneOf[any](rnd, nil, "a", int64(1), 1.5, true, jsonObject{}, []any{}, jsonObject{"zz": int64(1)})
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 && !chance(rnd, 10) {
		return whole(oneOf(rnd, enum...))
	}
	if s["x-kubernetes-int-or-string"] == true {
		return oneOf[any](rnd, int64(1), "50%", "1Gi", "a", 1.5, true)
	}
	switch s["type"] {
	case "object":
		return m.fields(s, depth)
	case "array":
		return m.list(s, depth)
	case "string":
		if s["format"] != nil || chance(rnd, 6) {
			return oneOf(rnd, texts...)
		}
		return oneOf(rnd, "a", "b", "cc", "abc", "")
	case "integer":
		return oneOf[any](rnd, int64(0), int64(1), int64(2), int64(3), int64(70000), int64(1)<<40, 2.0)
	case "number":
		return oneOf[any](rnd, int64(0), int64(1), 0.5, 2.5, 3.0, 1e40, int64(70000))
	case "boolean":
		return chance(rnd, 2)
	}
	return oneOf[any](rnd, "a", int64(1), jsonObject{"a": "b"}, nil)
}

func (m *maker) list(s jsonObject, depth int) []any {
	items, _ := s["items"].(jsonObject)
	list := []any{}
	for range m.rnd.IntN(4) {
		if m.left > 0 {
			list = append(list, m.value(items, depth+1))
		}
	}
	return list
}

// whole turns a number that is an integer into an int64, as decoding does.
func whole(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// fields makes an object.
func (m *maker) fields(s jsonObject, depth int) jsonObject {
	rnd, out := m.rnd, jsonObject{}
	fields, _ := s["properties"].(jsonObject)
	required, _ := s["required"].([]any)
	names := slices.Sorted(maps.Keys(fields))
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		switch {
		case slices.Contains(required, any(name)):
			if chance(rnd, 20) {
				continue
			}
		case m.left <= 0 || chance(rnd, 2):
			continue
		}
		out[name] = m.value(fields[name].(jsonObject), depth+1)
	}
	if more, ok := s["additionalProperties"].(jsonObject); ok && m.left > 0 {
		for range rnd.IntN(3) {
			out[oneOf(rnd, fieldNames...)] = m.value(more, depth+1)
		}
	}
	if s["x-kubernetes-embedded-resource"] == true && !chance(rnd, 6) {
		out["apiVersion"], out["kind"] = oneOf(rnd, "v1", "apps/v1", "a/b/c", ""), oneOf(rnd, "Pod", "pod", "_", "")
		if chance(rnd, 2) {
			out["metadata"] = randomHead(rnd)
		}
	}
	if chance(rnd, 12) {
		out["unknown"] = oneOf[any](rnd, "a", jsonObject{"a": []any{jsonObject{"b": nil}}}, nil)
	}
	if len(out) > 0 && chance(rnd, 12) {
		out[oneOf(rnd, slices.Sorted(maps.Keys(out))...)] = nil
	}
	return out
}

// randomHead makes metadata.
func randomHead(rnd *rand.Rand) any {
	head := jsonObject{}
	for range rnd.IntN(4) {
		head[oneOf(rnd, "name", "namespace", "generateName", "odd", "uid")] = oneOf[any](rnd, "a", "A_b", "a/b", "", nil)
		head[oneOf(rnd, "labels", "annotations")] = oneOf[any](rnd, jsonObject{"a": "b"}, jsonObject{"-": "b"}, jsonObject{}, nil, jsonObject{"a": "_-"})
		head[oneOf(rnd, "creationTimestamp", "deletionTimestamp")] = oneOf[any](rnd, nil, "2020-01-01T00:00:00Z")
	}
	if chance(rnd, 10) {
		head[oneOf(rnd, "name", "labels", "generation", "finalizers")] = oneOf[any](rnd, int64(1), "a", []any{"a"}, jsonObject{"a": int64(1)})
	}
	return head
}

// mutated returns a copy of a value in which a few inner values differ.
func mutated(rnd *rand.Rand, v any) any {
	if chance(rnd, 25) {
		return oneOf[any](rnd, nil, "a", "zz", int64(1), int64(-5), 2.5, true, jsonObject{}, []any{}, []any{"a", "a"})
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(jsonObject, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !chance(rnd, 25) {
				out[name] = v[name]
				if below, ok := mutatedBelow(rnd, v[name]); ok {
					out[name] = below
				}
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = mutated(rnd, out[i])
		}
		if len(out) > 0 && chance(rnd, 3) {
			out = append(out, oneOf(rnd, out...))
		}
		if len(out) > 1 && chance(rnd, 5) {
			out[0], out[1] = out[1], out[0]
		}
		return out
	case int64:
		if chance(rnd, 8) {
			return float64(v)
		}
	case float64:
		return whole(v)
	}
	return v
}

// mutatedBelow leaves most values unchanged, so that ratcheting has something to keep.
func mutatedBelow(rnd *rand.Rand, v any) (any, bool) {
	if chance(rnd, 2) {
		return nil, false
	}
	return mutated(rnd, v), true
}
