package typeinfo_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// encodedSame is Equal without descriptors: two values are equal if reflect.DeepEqual says so, or
// if their JSON is equal.
func encodedSame(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func everyKind(tb testing.TB) []meta.Typed {
	tb.Helper()
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	var list []meta.Typed
	for _, gvk := range s.AllKinds() {
		if gvk.Kind == "WatchEvent" { // it has no kind of its own
			continue
		}
		obj, err := s.NewObject(gvk)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, obj)
	}
	return list
}

// graft copies one value within from, chosen by r, to the same path in v. It returns false if there
// is none.
func graft(r *rand.Rand, v, from reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() > 0 && r.IntN(8) > 0 {
			i := r.IntN(v.NumField())
			if v.Type().Field(i).IsExported() {
				return graft(r, v.Field(i), from.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && !from.IsNil() && r.IntN(4) > 0 {
			return graft(r, v.Elem(), from.Elem())
		}
	case reflect.Slice:
		if v.Len() > 0 && from.Len() > 0 && r.IntN(4) > 0 {
			i := r.IntN(min(v.Len(), from.Len()))
			return graft(r, v.Index(i), from.Index(i))
		}
	}
	if !v.CanSet() {
		return false
	}
	v.Set(typeinfo.CopyValue(from))
	return true
}

func checkEqual(t *testing.T, what string, a, b meta.Typed) {
	t.Helper()
	got := equalObjects(a, b)
	if want := encodedSame(a, b); got != want || equalObjects(b, a) != want {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		t.Fatalf("%T, %s: got %v, want %v of\n%s\n%s", a, what, got, want, x, y)
	}
}

// equalObjects compares two objects of one type.
func equalObjects(a, b meta.Typed) bool { return typeinfo.EqualJSON(any(a), any(b)) }

// compareSamples compares random objects of all kinds, and objects that differ in one value, by
// Equal and by encodedSame.
func compareSamples(t *testing.T, seed uint64, kinds []meta.Typed) {
	r := rand.New(rand.NewPCG(seed, 1))
	for _, kind := range kinds {
		a, b := typeinfo.Copy(kind), typeinfo.Copy(kind)
		sample.New(seed).Fill(a)
		sample.New(seed + 1).Fill(b)
		checkEqual(t, "a copy", a, typeinfo.Copy(a))
		checkEqual(t, "another", a, b)
		for range 20 {
			c := typeinfo.Copy(a)
			if graft(r, reflect.ValueOf(c).Elem(), reflect.ValueOf(b).Elem()) {
				checkEqual(t, "one with another's part", a, c)
			}
		}
	}
}

func TestEqualSamples(t *testing.T) {
	kinds := everyKind(t)
	for seed := range uint64(4) {
		compareSamples(t, seed, kinds)
	}
}

func FuzzEqual(f *testing.F) {
	kinds := everyKind(f)
	f.Add(uint64(7))
	f.Fuzz(func(t *testing.T, seed uint64) { compareSamples(t, seed, kinds) })
}

// guarded has unexported fields. Its JSON shows one of them.
type guarded struct {
	shown, hidden int
	Addr          netip.Addr
}

func (g guarded) MarshalJSON() ([]byte, error) { return json.Marshal(g.shown) }

// noted has an unexported field that its JSON does not show.
type noted struct {
	Text string `json:"text"`
	note string
}

// TestEqualUnexported: unexported fields count if the JSON of their type shows them.
func TestEqualUnexported(t *testing.T) {
	type holder struct {
		Guarded guarded
		Any     any
		Addr    netip.Addr
		Noted   noted
	}
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for _, tt := range []struct {
		name string
		a, b holder
		want bool
	}{
		{"what is written", holder{Guarded: guarded{shown: 1}}, holder{Guarded: guarded{shown: 2}}, false},
		{"what is not", holder{Guarded: guarded{hidden: 1}}, holder{Guarded: guarded{hidden: 2}}, true},
		{"somewhere", holder{Any: guarded{shown: 1, hidden: 1}}, holder{Any: guarded{shown: 1}}, true},
		{"another somewhere", holder{Any: guarded{shown: 1}}, holder{Any: guarded{shown: 2}}, false},
		{"as text", holder{Addr: one}, holder{Addr: two}, false},
		{"the same text", holder{Addr: one}, holder{Addr: one}, true},
		{"a note", holder{Noted: noted{note: "a"}}, holder{Noted: noted{note: "b"}}, true},
		{"beside a note", holder{Noted: noted{Text: "a"}}, holder{Noted: noted{Text: "b"}}, false},
	} {
		if got := typeinfo.Equal(&tt.a, &tt.b); got != tt.want || typeinfo.Equal(&tt.b, &tt.a) != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

type compared struct {
	Text  string
	List  []string
	Bytes []byte
	Map   map[string]string
	Many  map[string]int32
	Time  *meta.Time
	Amt   meta.Quantity
	Any   any
	Next  *compared
	_     struct{} `struct:"atomic"`
}

// TestEqual: each pair is compared both ways, and with itself.
func TestEqual(t *testing.T) {
	amount := func(text string) meta.Quantity {
		q, err := meta.ParseQuantity(text)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	many := func(last string) map[string]int32 {
		m := map[string]int32{last: 9}
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			m[key] = 1
		}
		return m
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name string
		a, b compared
		want bool
	}{
		{"zero", compared{}, compared{}, true},
		{"text", compared{Text: "a"}, compared{Text: "b"}, false},
		{"no list and an empty one", compared{}, compared{List: []string{}}, true},
		{"lists", compared{List: []string{"a", "b"}}, compared{List: []string{"a", "c"}}, false},
		{"a longer list", compared{List: []string{"a"}}, compared{List: []string{"a", ""}}, false},
		{"no bytes and empty ones", compared{}, compared{Bytes: []byte{}}, true},
		{"bytes", compared{Bytes: []byte("a")}, compared{Bytes: []byte("b")}, false},
		{"no map and an empty one", compared{}, compared{Map: map[string]string{}}, true},
		{"maps", compared{Map: map[string]string{"a": "b"}}, compared{Map: map[string]string{"a": "c"}}, false},
		{"another key", compared{Map: map[string]string{"a": ""}}, compared{Map: map[string]string{"b": ""}}, false},
		{"few entries", compared{Many: map[string]int32{"a": 1, "b": 2}}, compared{Many: map[string]int32{"b": 2, "a": 1}}, true},
		{"another of few", compared{Many: map[string]int32{"a": 1, "b": 2}}, compared{Many: map[string]int32{"a": 1, "c": 2}}, false},
		{"another value of few", compared{Many: map[string]int32{"a": 1}}, compared{Many: map[string]int32{"a": 2}}, false},
		{"many entries", compared{Many: many("z")}, compared{Many: many("z")}, true},
		{"another of many", compared{Many: many("y")}, compared{Many: many("z")}, false},
		{"the instant", compared{Time: &meta.Time{Time: at}}, compared{Time: &meta.Time{Time: at.In(time.FixedZone("x", 3600))}}, true},
		{"another time", compared{Time: &meta.Time{Time: at}}, compared{Time: &meta.Time{Time: at.Add(time.Second)}}, false},
		{"no time", compared{Time: &meta.Time{}}, compared{}, false},
		{"amounts", compared{Amt: amount("1Gi")}, compared{Amt: amount("1073741824")}, true},
		{"other amounts", compared{Amt: amount("1")}, compared{Amt: amount("1m")}, false},
		{"trees", compared{Any: map[string]any{"a": []any{int64(1), true, nil}}}, compared{Any: map[string]any{"a": []any{int64(1), true, nil}}}, true},
		{"another leaf", compared{Any: []any{"a"}}, compared{Any: []any{"b"}}, false},
		{"a longer tree", compared{Any: []any{"a"}}, compared{Any: []any{"a", "b"}}, false},
		{"null and nothing", compared{Any: map[string]any{"a": nil}}, compared{Any: map[string]any{}}, false},
		{"another type", compared{Any: int64(1)}, compared{Any: 1.0}, false},
		{"a time somewhere", compared{Any: at}, compared{Any: at.In(time.FixedZone("x", 3600))}, true},
		{"a pointer and none", compared{Next: &compared{}}, compared{}, false},
		{"below a pointer", compared{Next: &compared{List: []string{}}}, compared{Next: &compared{}}, true},
		{"below two", compared{Next: &compared{Next: &compared{Text: "a"}}}, compared{Next: &compared{Next: &compared{}}}, false},
	} {
		if got := typeinfo.Equal(&tt.a, &tt.b); got != tt.want || typeinfo.Equal(&tt.b, &tt.a) != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if a := tt.a; !typeinfo.Equal(&a, &tt.a) || !typeinfo.Equal(&tt.b, typeinfo.Copy(&tt.b)) {
			t.Errorf("%s: a value does not equal its copy", tt.name)
		}
	}
	if none := (*compared)(nil); !typeinfo.Equal(none, nil) || typeinfo.Equal(none, &compared{}) {
		t.Error("a nil pointer equals another nil pointer alone")
	}
}

func testPod(tb testing.TB) *corev1.Pod {
	tb.Helper()
	pod := new(corev1.Pod)
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"p"},"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"app:1",
		"ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1","memory":"64Mi"},"requests":{"cpu":"1"}},
		"livenessProbe":{"httpGet":{"port":80}}}],"tolerations":[{"operator":"Exists","tolerationSeconds":3}],"terminationGracePeriodSeconds":30,
		"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"m"}}]}}]}}`), pod); err != nil {
		tb.Fatal(err)
	}
	return pod
}

func TestEqualAllocates(t *testing.T) {
	a := testPod(t)
	b := typeinfo.Copy(a)
	if n := fewestAllocs(func() {
		if !typeinfo.Equal(a, b) {
			t.Fatal("a pod does not equal its copy")
		}
	}); n > 0 {
		t.Errorf("got %v allocations to compare equal pods, want none", n)
	}
}

// BenchmarkEqual compares two equal pod specs, and two that differ only in nil and empty lists.
func BenchmarkEqual(b *testing.B) {
	x := &testPod(b).Spec
	same, empty := typeinfo.Copy(x), typeinfo.Copy(x)
	empty.HostAliases, empty.Containers[0].Args = []corev1.HostAlias{}, []string{}
	for _, bm := range []struct {
		name string
		y    *corev1.PodSpec
	}{{"copy", same}, {"empty lists", empty}} {
		b.Run("by=descriptors/"+bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !typeinfo.Equal(x, bm.y) {
					b.Fatal("not equal")
				}
			}
		})
		b.Run("by=encoding/"+bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !encodedSame(*x, *bm.y) {
					b.Fatal("not equal")
				}
			}
		})
	}
}
