package policies_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
)

// five are expressions of a policy about pods, as people write them.
var five = []string{
	"object.spec.containers.all(c, c.image.startsWith('example.com/'))",
	"!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
	"object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
	"object.metadata.?labels['app'].orValue('') == object.metadata.name",
	"request.userInfo.username == 'ann' || request.operation != 'CREATE'",
}

// compiled returns a policy of five expressions.
func compiled(t testing.TB) *policies.Set {
	s := policies.WithVariables(t.Context())
	var expressions []*policies.Expression
	for _, text := range five {
		x := s.Compile(text, policies.Uses{Authorizer: true}, types.BoolType)
		if x.Err() != nil {
			t.Fatal(x.Err())
		}
		expressions = append(expressions, x)
	}
	return s.Set(expressions...)
}

// heap returns the bytes that live after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory: a compiled policy of five expressions takes at most 30 KiB.
func TestMemory(t *testing.T) {
	const n, most = 100, 30 << 10
	kept := make([]*policies.Set, n)
	compiled(t) // makes what all policies share
	before := heap()
	for i := range kept {
		kept[i] = compiled(t)
	}
	each := (heap() - before) / n
	t.Logf("a policy of five expressions takes %d bytes", each)
	if each > most {
		t.Errorf("a policy of five expressions takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(kept)
}

// TestMuchText: the memory of a policy is bounded by the length of its text, which is at most 3
// MiB, the length of a request.
func TestMuchText(t *testing.T) {
	const size, most = 1 << 16, 60 // bytes; bytes per byte
	s := policies.WithVariables(t.Context())
	var expressions []*policies.Expression
	before := heap()
	text := five[2]
	for n := 0; n < size; n += len(text) {
		expressions = append(expressions, s.Compile(text, policies.Uses{}))
	}
	long := "[" + strings.Repeat("1,", 1<<19) + "1]"
	x := s.Compile(long, policies.Uses{})
	set := s.Set(append(expressions, x)...)
	took := heap() - before
	t.Logf("%d expressions take %d bytes; one of %d bytes: %v", len(expressions), took, len(long), x.Err() != nil)
	if took > most*size {
		t.Errorf("a policy of %d bytes takes %d bytes", size, took)
	}
	budget := cel.ObjectBudget
	if _, err := set.Evaluate(t.Context(), inputs(), &budget); err != nil {
		t.Error(err)
	}
}

// TestManyPatterns: short expressions with regular expressions of many states are compiled until
// they have a million states together.
func TestManyPatterns(t *testing.T) {
	const size, most = 1 << 18, 70_000_000 // bytes
	text := "'a'.matches('((a{10}){10}){10}')"
	s := policies.WithVariables(t.Context())
	var expressions []*policies.Expression
	var refused int
	before := heap()
	for n := 0; n < size; n += len(text) {
		x := s.Compile(text, policies.Uses{}, types.BoolType)
		if expressions = append(expressions, x); x.Err() != nil {
			refused++
		}
	}
	set := s.Set(expressions...)
	took := heap() - before
	t.Logf("%d expressions take %d bytes; %d are refused", len(expressions), took, refused)
	if took > most {
		t.Errorf("a policy of %d bytes takes %d bytes, want at most %d", size, took, most)
	}
	if compiled := len(expressions) - refused; compiled < 200 || compiled > 1000 {
		t.Errorf("%d expressions are compiled, each of which has a thousand states or more", compiled)
	}
	const want = "compilation failed: regular expressions of all expressions have more than 1000000 states"
	if err := expressions[len(expressions)-1].Err(); err == nil || err.Error() != want {
		t.Errorf("the last expression: got %v, want %s", err, want)
	}
	runtime.KeepAlive(set)
}

// bigPod is a pod with three containers.
func bigPod() *corev1.Pod {
	p := pod()
	p.Spec.Containers = nil
	for _, name := range []string{"a", "b", "c"} {
		c := corev1.Container{Name: name, Image: "example.com/" + name + ":1"}
		c.Resources.Limits = corev1.ResourceList{"memory": {}, "cpu": {}}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

// BenchmarkFive judges a pod by five expressions.
func BenchmarkFive(b *testing.B) {
	set, in := compiled(b), inputs()
	in.Object = bigPod()
	b.ReportAllocs()
	for b.Loop() {
		budget := cel.ObjectBudget
		results, err := set.Evaluate(b.Context(), in, &budget)
		if err != nil {
			b.Fatal(err)
		}
		for i := range results {
			if results[i].Value != types.True {
				b.Fatal(five[i], results[i])
			}
		}
	}
}

// BenchmarkCompile compiles five expressions.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compiled(b)
	}
}
