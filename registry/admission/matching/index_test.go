package matching_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// hook is an item of an Index.
type hook struct {
	number int
	m      *matching.Matcher
}

func (h hook) matcher() *matching.Matcher { return h.m }

// hooksOf returns hooks for equivalent resources, one for each rule.
func hooksOf(t testing.TB, rules ...string) (hooks []hook) {
	t.Helper()
	for i, text := range rules {
		hooks = append(hooks, hook{i, matching.Compile(matching.OfWebhook(
			[]v1.RuleWithOperations{ruleOf(t, text).RuleWithOperations}, new(v1.Equivalent), everything, everything))})
	}
	return hooks
}

// TestCandidates checks which hooks are candidates for a request.
func TestCandidates(t *testing.T) {
	x := matching.NewIndex(hooksOf(t,
		"* * * *",               // 0
		"CREATE core v1 pods",   // 1
		"UPDATE core v1 pods",   // 2
		"* core * */status",     // 3
		"* * * pods",            // 4
		"* apps v1 *",           // 5
		"* core,* v1 pods,pods", // the rule names pods twice; the hook is yielded once
		"* events.k8s.io v1 events",
	), hook.matcher)
	events := targetsOf(t, "core/v1/events", "events.k8s.io/v1/events")
	w := &matching.World{Equivalents: func(r meta.GroupVersionResource, sub string) []matching.Target {
		if r.Resource == "events" {
			return events
		}
		return nil
	}}
	for text, want := range map[string]string{
		"CREATE core/v1/pods ns/a":        "[0 1 3 4 6]",
		"UPDATE core/v1/pods/status ns/a": "[0 2 3 4 6]",
		"DELETE core/v2/pods ns/a":        "[0 3 4 6]",
		"DELETE apps/v1/pods ns/a":        "[0 4 5 6]",
		"DELETE core/v1/events ns/a":      "[0 3 7]",
		"WONDER core/v1/pods ns/a":        "[]",
	} {
		got := []int{}
		for h := range x.Candidates(requestOf(t, text), w) {
			got = append(got, h.number)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
	for h := range x.Candidates(requestOf(t, "CREATE core/v1/pods ns/a"), w) {
		if h.number > 0 {
			t.Error("the loop goes on after break")
		}
		break
	}
}

// TestNobodyIsMissed compares the candidates of an Index of random hooks with a match of each hook.
func TestNobodyIsMissed(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 7))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	groups, resources := []string{"core", "apps", "events.k8s.io"}, []string{"pods", "events", "deployments"}
	same := targetsOf(t, "core/v1/events", "core/v2/events", "events.k8s.io/v1/events")
	w := &matching.World{Equivalents: func(r meta.GroupVersionResource, sub string) []matching.Target {
		if r.Resource == "events" && sub == "" {
			return same
		}
		return nil
	}}
	matched := 0
	for range 300 {
		var rules []string
		for range 12 {
			rules = append(rules, fmt.Sprintf("%s %s %s %s", pick("*", "CREATE", "UPDATE,DELETE"), pick(append(groups, "*", "core,*")...),
				pick("*", "v1", "v2"), pick(append(resources, "*", "pods/*", "*/*", "*/status")...)))
		}
		hooks := hooksOf(t, rules...)
		x := matching.NewIndex(hooks, hook.matcher)
		for range 20 {
			a := requestOf(t, fmt.Sprintf("%s %s/%s/%s%s ns/a", pick("CREATE", "UPDATE", "DELETE", "CONNECT"), pick(groups...),
				pick("v1", "v2"), pick(resources...), pick("", "", "/status")))
			var want, got []int
			for _, h := range hooks {
				if _, ok, _ := h.m.Match(t.Context(), a, w); ok {
					want = append(want, h.number)
				}
			}
			for h := range x.Candidates(a, w) {
				if _, ok, _ := h.m.Match(t.Context(), a, w); ok {
					got = append(got, h.number)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("rules %q, request %+v: got %v, want %v", rules, a, got, want)
			}
			matched += len(want)
		}
	}
	if matched < 1000 {
		t.Errorf("only %d hooks matched", matched)
	}
}

// unwanted returns 200 hooks, a request that matches none of them, and a World.
func unwanted(t testing.TB) (*matching.Index[hook], *admission.Attributes, *matching.World) {
	t.Helper()
	var rules []string
	for i := range 200 {
		rules = append(rules, fmt.Sprintf("CREATE,UPDATE group%d.example.com v1,v2 widgets,gadgets/status", i))
	}
	targets := targetsOf(t, "core/v1/configmaps")
	known := map[meta.GroupVersionResource][]matching.Target{targets[0].Resource: targets}
	w := &matching.World{Equivalents: func(r meta.GroupVersionResource, _ string) []matching.Target { return known[r] }}
	return matching.NewIndex(hooksOf(t, rules...), hook.matcher), requestOf(t, "CREATE core/v1/configmaps ns/a"), w
}

// TestAllocations: a request does not allocate, whether a rule names it or not.
func TestAllocations(t *testing.T) {
	x, a, w := unwanted(t)
	hooks := hooksOf(t, "CREATE core v2 *", "* * * pods", "CREATE core v1 configmaps")
	few := matching.NewIndex(hooks, hook.matcher)
	matched := 0
	for name, index := range map[string]*matching.Index[hook]{"unwanted": x, "wanted": few} {
		if n := testing.AllocsPerRun(100, func() {
			for h := range index.Candidates(a, w) {
				if _, ok, _ := h.m.Match(t.Context(), a, w); ok {
					matched++
				}
			}
		}); n > 0 {
			t.Errorf("%s: got %v allocations, want 0", name, n)
		}
	}
	if matched != 101 {
		t.Errorf("got %d matches in 101 runs", matched)
	}
}

// BenchmarkCandidates measures a request among 200 hooks: one that no rule names, one for a
// resource of which all rules name only a subresource, and one that all rules name in another
// version.
func BenchmarkCandidates(b *testing.B) {
	x, a, w := unwanted(b)
	all := func(rule string) *matching.Index[hook] {
		return matching.NewIndex(hooksOf(b, slices.Repeat([]string{rule}, 200)...), hook.matcher)
	}
	for _, bm := range []struct {
		name  string
		index *matching.Index[hook]
	}{
		{"named=0", x},
		{"subresources=200", all("CREATE,UPDATE core v1 configmaps/status")},
		{"versions=200", all("CREATE,UPDATE core v2 configmaps")},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for h := range bm.index.Candidates(a, w) {
					if _, ok, _ := h.m.Match(b.Context(), a, w); ok {
						b.Fatal("a hook for another version matches")
					}
				}
			}
		})
	}
}
