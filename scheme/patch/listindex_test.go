package patch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The plain twins of listindex.go compare every element with every other, as Kubernetes does.

func plainFind(l list, key string, value any) int {
	return slices.IndexFunc(l, func(e any) bool {
		found, ok := lookup(e.(object), key, nil)
		return ok && same(found, value)
	})
}

func plainWithout(l list, key string, values list) list {
	for _, value := range values {
		for i := plainFind(l, key, value); i >= 0; i = plainFind(l, key, value) {
			l = append(l[:i], l[i+1:]...)
		}
	}
	return l
}

func plainDistinct(l list) list {
	for i := 0; i < len(l)-1; i++ {
		for j := i + 1; j < len(l); j++ {
			if same(l[i], l[j]) {
				l[j] = l[len(l)-1]
				l = l[:len(l)-1]
				j--
			}
		}
	}
	return l
}

func TestListIndex(t *testing.T) {
	scalars := list{nil, true, "a", "b", "1", raw("1"), raw("1.0"), raw("1e0"), raw("01"), raw("-0.0"), raw("0"), raw("0.0"),
		raw("9007199254740993"), raw("9007199254740993.0"), raw("9223372036854775808")}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := make(list, r.IntN(30))
		objects := make(list, len(values))
		for i := range values {
			values[i] = scalars[r.IntN(len(scalars))]
			objects[i] = object{"name": values[i], "at": i}
			if r.IntN(10) == 0 {
				objects[i] = object{"at": i}
			}
		}
		x, index := keyedBy(objects, "name", nil), indexOf(values, itself)
		for _, v := range scalars {
			if got, _ := x.find(v); got != plainFind(objects, "name", v) {
				t.Fatalf("seed %d: find(%v) in %v: got %d, want %d", seed, v, objects, got, plainFind(objects, "name", v))
			}
			want := slices.IndexFunc(values, func(e any) bool { return same(e, v) })
			if got := index.of(v); got != want {
				t.Fatalf("seed %d: of(%v) in %v: got %d, want %d", seed, v, values, got, want)
			}
		}
		gone := values[:len(values)/3]
		got, want := slices.Clone(objects), slices.Clone(objects)
		gotRest, wantRest := without(got, "name", gone, nil), plainWithout(want, "name", gone)
		if !reflect.DeepEqual(gotRest, wantRest) || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: without(%v): got %v of %v, want %v of %v", seed, gone, gotRest, got, wantRest, want)
		}
		if got, want := distinct(slices.Clone(values)), plainDistinct(slices.Clone(values)); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: distinct(%v): got %v, want %v", seed, values, got, want)
		}
	}
}

// TestKeyedGrows: an element that was appended to a short list is found after the list has become
// long. An element that has lost its key is not found.
func TestKeyedGrows(t *testing.T) {
	x := keyedBy(list{object{"name": "a"}, object{"name": "b"}, object{"name": "a"}}, "name", nil)
	drop := func(i int, value any) {
		delete(x.l[i].(object), "name")
		x.drop(value)
	}
	drop(0, "a")
	for i := range 3 * few {
		x.append(object{"name": raw(fmt.Sprint(i))}, raw(fmt.Sprint(i)))
		if (x.first != nil) != (len(x.l) > few) {
			t.Fatalf("%d elements: hashed is %v", len(x.l), x.first != nil)
		}
	}
	found := func(wanted map[any]int) {
		t.Helper()
		for value, want := range wanted {
			if got, err := x.find(value); got != want || err != nil {
				t.Errorf("find(%v): got %d and error %v, want %d", value, got, err, want)
			}
		}
	}
	drop(1, "b")
	found(map[any]int{"a": 2, "b": -1, raw("0"): 3, raw("20"): 23, raw("47"): 50, "c": -1})
	drop(50, raw("47"))
	found(map[any]int{raw("47"): -1, raw("46"): 49})

	again := slices.Repeat(list{nil, nil}, few)
	for i := range again {
		again[i] = object{"name": raw(fmt.Sprint(i % few))}
	}
	x = keyedBy(again, "name", nil)
	drop(5, raw("5"))
	found(map[any]int{raw("4"): 4, raw("5"): few + 5})
	drop(few+5, raw("5"))
	found(map[any]int{raw("5"): -1, raw("6"): 6})
}

// items joins the texts that f returns for the numbers below n.
func items(n int, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

// expensive returns the most expensive patches. With plain loops, their work would grow with the
// square of the length of their lists, or they are as large as the limits allow.
func expensive() map[string]func(m *meter.Meter) error {
	const n = 8_000
	service, pod := typeinfo.For[corev1.Service](), typeinfo.For[corev1.Pod]()
	ports := func(spelling string) string {
		return items(n, func(i int) string { return fmt.Sprintf(`{"port":%d%s}`, i, spelling) })
	}
	doc, whole := `{"spec":{"ports":[`+ports("")+`]}}`, ports("")
	names := items(n, func(i int) string { return fmt.Sprintf(`"a/%d"`, i) })
	finalizers := `{"metadata":{"finalizers":[` + names + `]}}`
	strategic := func(doc, patch string, t *typeinfo.Type) func(*meter.Meter) error {
		return func(m *meter.Meter) error {
			_, err := Strategic([]byte(doc), []byte(patch), t, m)
			return err
		}
	}
	object := `{"a":{` + items(n, func(i int) string { return fmt.Sprintf(`"k%d":{"b":1}`, i) }) + `}}`
	return map[string]func(m *meter.Meter) error{
		"keys":          strategic(doc, doc, service),
		"other numbers": strategic(doc, `{"spec":{"ports":[`+ports(".0")+`]}}`, service),
		"order":         strategic(doc, `{"spec":{"$setElementOrder/ports":[`+whole+`]}}`, service),
		"deletions": strategic(doc, `{"spec":{"ports":[`+
			items(n, func(i int) string { return fmt.Sprintf(`{"$patch":"delete","port":%d}`, i) })+`]}}`, service),
		"scalars":             strategic(finalizers, finalizers, pod),
		"repeated scalars":    strategic(`{"metadata":{"finalizers":["x","x"]}}`, `{"metadata":{"finalizers":[`+items(2*n, func(int) string { return `"x"` })+`]}}`, pod),
		"deletion of scalars": strategic(finalizers, `{"metadata":{"$deleteFromPrimitiveList/finalizers":[`+names+`]}}`, pod),
		"retained keys":       strategic(finalizers, `{"$retainKeys":["metadata",`+names+`]}`, pod),
		"merge": func(m *meter.Meter) error {
			_, err := Merge([]byte(object), []byte(object), m)
			return err
		},
		"JSON": func(m *meter.Meter) error {
			_, err := JSON([]byte(doc), []byte(`[`+items(1000, func(int) string { return `{"op":"move","from":"/spec/ports/0","path":"/spec/ports/-"}` })+`]`), m)
			return err
		},
		"test": func(m *meter.Meter) error {
			_, err := JSON([]byte(object), []byte(`[{"op":"test","path":"/a","value":`+object[5:len(object)-1]+`}]`), m)
			return err
		},
		"findings": func(m *meter.Meter) error {
			CheckMerge([]byte(object), m)
			return m.Err()
		},
	}
}

// TestExpensive: the most expensive patches take steps in proportion to their size, and end with
// the context.
func TestExpensive(t *testing.T) {
	for name, apply := range expensive() {
		t.Run(name, func(t *testing.T) {
			if err := apply(meter.WithBudget(t.Context(), 3<<20)); err != nil {
				t.Errorf("within the budget: %v", err)
			}
			if err := apply(meter.WithBudget(t.Context(), 1<<16)); !errors.Is(err, meter.ErrSpent) {
				t.Errorf("beyond the budget: got %v, want %v", err, meter.ErrSpent)
			}
			metertest.Ends(t, 2, func(ctx context.Context) error { return apply(meter.New(ctx)) })
		})
	}
}

// TestCounted checks the least number of steps: for a refused patch, its length and that of the
// document; for moves within a list, the elements that they shift.
func TestCounted(t *testing.T) {
	const n, moves = 8_000, 1000
	begun := `{"a":[` + items(n, func(int) string { return "0" })
	doc, bad := []byte(begun+`]}`), []byte(begun)
	refused := len(doc) + len(bad)
	for _, tt := range []struct {
		name  string
		least int
		apply func(m *meter.Meter) ([]byte, error)
	}{
		{"refused merge", refused, func(m *meter.Meter) ([]byte, error) { return Merge(doc, bad, m) }},
		{"refused strategic merge", refused, func(m *meter.Meter) ([]byte, error) { return Strategic(doc, bad, root, m) }},
		{"refused JSON patch", refused, func(m *meter.Meter) ([]byte, error) { return JSON(doc, bad, m) }},
		{"moves", moves * n / shiftsPerStep, func(m *meter.Meter) ([]byte, error) {
			return JSON(doc, []byte(`[`+items(moves, func(int) string { return `{"op":"move","from":"/a/0","path":"/a/-"}` })+`]`), m)
		}},
	} {
		if _, err := tt.apply(meter.WithBudget(t.Context(), tt.least-1)); !errors.Is(err, meter.ErrSpent) {
			t.Errorf("%s within less than %d steps: got %v, want %v", tt.name, tt.least, err, meter.ErrSpent)
		}
	}
}

// TestBudget: a patch whose copy operations repeat a value, and whose paths decode it again, is
// within all limits of size, but would take minutes without a Meter.
func TestBudget(t *testing.T) {
	const levels, times = 5000, 100
	value := strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
	var ops []string
	for i := range times {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/v","path":"/v%d"},{"op":"add","path":"/v%d%s","value":2}`, i, i, strings.Repeat("/a", levels)))
	}
	_, err := JSON([]byte(`{"v":`+value+`}`), []byte("["+strings.Join(ops, ",")+"]"), meter.WithBudget(t.Context(), MaxWork>>6))
	if !errors.Is(err, meter.ErrSpent) {
		t.Errorf("got %v, want %v", err, meter.ErrSpent)
	}
}
