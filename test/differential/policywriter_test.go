package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// This file writes the random policies of TestPoliciesRun.

// A policyWriter writes expressions about objects.
type policyWriter struct {
	rnd   *rand.Rand
	roots map[string]any // a tree like the value of each variable
}

// policy writes a policy.
func (w *policyWriter) policy() *policyText {
	p := &policyText{}
	several := func(most int, write func() string) (list []string) {
		for range w.rnd.IntN(most + 1) {
			list = append(list, write())
		}
		return list
	}
	depth := 1 + w.rnd.IntN(3)
	p.variables = several(3, func() string { return w.any(depth) })
	p.conditions = several(3, func() string { return w.bool(depth) })
	p.validations = several(4, func() string { return w.bool(depth) })
	p.messages = several(2, func() string { return w.text(depth) })
	p.audits = several(2, func() string { return w.text(depth) })
	p.apply, p.patch = w.object("Object", depth), w.operations(depth)
	return p
}

func (w *policyWriter) pick(of ...func() string) string { return of[w.rnd.IntN(len(of))]() }

// path writes the path to a value in one of the variables, often one that exists.
func (w *policyWriter) path() string {
	if w.rnd.IntN(6) == 0 {
		return "variables.v" + strconv.Itoa(w.rnd.IntN(4))
	}
	root := pickString(w.rnd, []string{"object", "object", "object", "object", "oldObject", "oldObject", "request", "namespaceObject", "params"})
	text, tree := root, w.roots[root]
	if root == "namespaceObject" && w.rnd.IntN(3) == 0 || root == "request" && w.rnd.IntN(3) == 0 {
		text = "dyn(" + root + ")"
	}
	for w.rnd.IntN(8) > 0 {
		switch at := tree.(type) {
		case map[string]any:
			key := pickString(w.rnd, []string{"none", "name", "metadata", "spec", "a"})
			if keys := slices.Sorted(mapKeys(at)); len(keys) > 0 && w.rnd.IntN(12) > 0 {
				key = pickString(w.rnd, keys)
			}
			text, tree = text+w.selects(key), at[key]
		case []any:
			i := w.rnd.IntN(len(at) + 1)
			if w.rnd.IntN(10) > 0 && len(at) > 0 {
				i = w.rnd.IntN(len(at))
			}
			text += fmt.Sprintf("[%d]", i)
			if i == len(at) {
				return text
			}
			tree = at[i]
		default:
			if w.rnd.IntN(10) > 0 {
				return text
			}
			text += ".more"
		}
	}
	return text
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// selects writes the selection of a key.
func (w *policyWriter) selects(key string) string {
	plain := key != "" && key != "in" && !strings.ContainsFunc(key, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	switch {
	case plain && w.rnd.IntN(15) == 0:
		return ".?" + key
	case plain && w.rnd.IntN(8) > 0:
		return "." + key
	case w.rnd.IntN(8) == 0:
		return "[?" + strconv.Quote(key) + "]"
	}
	return "[" + strconv.Quote(key) + "]"
}

// any writes a value of any type.
func (w *policyWriter) any(depth int) string {
	if depth <= 0 {
		return w.pick(w.path, w.path, w.path, func() string {
			return pickString(w.rnd, append([]string{"1", "2.5", "true", "null", "dyn([])", "dyn({})", "x"}, celOdd...))
		})
	}
	a := func() string { return w.any(depth - 1) }
	forms := []string{"%d", "%d", "%d + %d", "%d.map(x, x)", "%d.filter(x, x == %d)", "%d.size()", "size(%d)", "string(%d)", "int(%d)", "double(%d)", "quantity(%d)",
		"[%d, %d]", "{'a': %d, 'b': %d}", "{%d: %d}", "%b ? %d : %d", "%d[%d]", "%d.a", "%d.sum()", "%d.min()", "%d.isSorted()", "%d.join(',')", "%d.indexOf(%d)",
		"%d.orValue(%d)", "optional.of(%d)", "optional.ofNonZeroValue(%d)", "'%%s'.format([%d])", "%d.flatten()", "%d.distinct()", "%d.reverse()", "%d.slice(0, 1)",
		"timestamp(%d)", "duration(%d)", "type(%d)", "bytes(%d)", "%d.transformList(i, v, [i, v])", "%d.split('a')", "%d.first()", "%d.sort()", "%d - %d", "%d * 2", "-%d",
		"authorizer.requestResource.check('get').reason()", "authorizer.group(%d).resource('pods').name(%d).check('get').reason()", "size(dyn(variables))", "type(dyn(variables))", "dyn(request) == %d",
		"%d.optMap(x, x)", "lists.range(3)", "url(%d)", "ip(%d)", "%d.trim()", "%d.lowerAscii()", "%d.replace('a', 'b')", "%d.find('[a-z]+')", "%d.matches('a')"}
	return w.fill(pickString(w.rnd, forms), a)
}

// bool writes a condition.
func (w *policyWriter) bool(depth int) string {
	if w.rnd.IntN(15) == 0 {
		return w.any(depth)
	}
	forms := []string{"%d == %d", "%d != %d", "%p == %p", "has(%p.name)", "has(%p.spec)", "%d in %d", "%d in %d", "%d.all(x, %b)", "%d.exists(x, x == %d)", "%d.all(x, has(x.name))",
		"%d.exists(x, x.name.startsWith('a'))", "size(%d) > 1", "%d < %d", "%d >= %d", "!%b", "%b && %b", "%b || %b", "%d.startsWith('a')", "%d.contains(%d)", "%d.matches('^[a-z]*$')",
		"request.operation == 'UPDATE'", "type(%d) == %t", "authorizer.requestResource.check('get').allowed()", "authorizer.path('/x').check(%d).allowed()",
		"sets.contains(%d, %d)", "sets.intersects(%d, [%d])", "%d.exists_one(x, x == %d)", "%d.all(i, x, i != x)", "%d.hasValue()", "isQuantity(%d)", "%p.orValue(%d) == %d", "object == oldObject",
		"variables.v0", "variables.v1 == variables.v0", "object.metadata.name == object.metadata.name", "object.metadata.labels.all(k, k != '')", "true"}
	if depth <= 0 {
		return pickString(w.rnd, []string{"true", "false", "x == 1", "has(" + w.path() + ".name)", w.path() + " == " + w.path()})
	}
	return w.fill(pickString(w.rnd, forms), func() string { return w.any(depth - 1) })
}

// fill writes the parts of a form: %d is a dynamic value, %p a path, %b a condition, %t a type.
func (w *policyWriter) fill(form string, value func() string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(form, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch after[0] {
		case 'd':
			fmt.Fprintf(&b, "dyn(%s)", value())
		case 'p':
			b.WriteString(w.path())
		case 'b':
			fmt.Fprintf(&b, "(%s)", w.bool(0))
		case 't':
			b.WriteString(pickString(w.rnd, []string{"map", "list", "string", "int", "double", "bool", "null_type"}))
		default:
			b.WriteString("%")
		}
		form = after[1:]
	}
}

// text writes a string.
func (w *policyWriter) text(depth int) string {
	return w.pick(func() string { return "string(" + w.any(depth) + ")" }, func() string { return "'a' + string(" + w.path() + ")" },
		func() string { return "null" }, func() string { return w.path() }, func() string { return "request.name" })
}

// object writes an object of a type.
func (w *policyWriter) object(typ string, depth int) string {
	if typ == "Object" && w.rnd.IntN(10) == 0 {
		return w.pick(func() string { return w.any(1) }, func() string { return w.bool(1) + " ? Object{} : " + w.object(typ, 1) }, func() string { return "Object.spec{}" })
	}
	var fields []string
	for _, name := range []string{"metadata", "spec", "a", "b"} {
		if w.rnd.IntN(3) > 0 {
			continue
		}
		inner := func() string { return w.object(typ+"."+name, depth-1) }
		fields = append(fields, w.pick(
			func() string { return name + ": " + w.path() }, func() string { return name + ": " + w.any(1) }, func() string { return "?" + name + ": optional.of(" + w.any(0) + ")" },
			func() string {
				if depth <= 0 {
					return name + ": 1"
				}
				return name + ": " + w.pick(inner, inner, func() string { return "[" + inner() + "]" }, func() string { return "{'k': " + inner() + "}" },
					func() string { return w.object(typ+".wrong", 0) }, func() string { return "has(" + inner() + ".a)" }, func() string { return inner() + ".b" },
					func() string { return inner() + " == " + inner() })
			}))
	}
	return typ + "{" + strings.Join(fields, ", ") + "}"
}

// operations writes a JSON patch.
func (w *policyWriter) operations(depth int) string {
	operation := func() string {
		fields := []string{"op: " + pickString(w.rnd, []string{"'add'", "'test'", "'remove'", "request.name", "dyn(1)"}), "path: " + w.pick(
			func() string { return "'/a/' + jsonpatch.escapeKey('a/~b')" }, func() string { return "'/metadata'" }, func() string { return "dyn(" + w.path() + ")" })}
		if w.rnd.IntN(4) == 0 {
			fields = append(fields, "from: '/b'")
		}
		if w.rnd.IntN(3) > 0 {
			fields = append(fields, "value: "+w.pick(w.path, func() string { return w.any(depth) }, func() string { return w.object("Object.a", depth) }))
		}
		return "JSONPatch{" + strings.Join(fields, ", ") + "}"
	}
	return w.pick(func() string { return "[" + operation() + "]" }, func() string { return "[" + operation() + ", " + operation() + "]" },
		func() string {
			return "[" + operation() + "].filter(o, o.op != 'test' && has(o.value) || o.path == '/metadata')"
		},
		func() string {
			return "[" + operation() + "] == [" + operation() + "] ? [" + operation() + "] : [" + operation() + "]"
		},
		func() string { return w.any(depth) })
}
