package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// toldSteps returns the steps of all tries, one a line.
func toldSteps(story *request.Story) string {
	var lines []string
	tries, _ := story.Tries()
	for _, try := range tries {
		lines = append(lines, fmt.Sprintf("%s %s %s", try.Operation, try.Name, try.Object))
		for _, s := range try.Steps {
			line := fmt.Sprintf("%s %s again=%t %s %s", s.Phase, s.Plugin, s.Again, s.Outcome, s.Patch)
			if s.Refusal != nil {
				line += " " + s.Refusal.Message
			}
			for _, h := range s.Hooks {
				line += fmt.Sprintf(" [%s %s %v %v %v %s]", h.Name, h.Outcome, h.Reasons, h.Warnings, h.Annotations, h.Patch)
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// newThing returns the creation of a thing of size 7, of which the story is told.
func newThing(t *testing.T) (*admission.Attributes, *request.Story) {
	k, _ := newThings(t)
	story := &request.Story{}
	a := &admission.Attributes{
		Operation: admission.Create, Name: "a", Type: k, Object: thing("v1", 7),
		Kind: meta.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Thing"},
	}
	a.Tell(story)
	return a, story
}

// TestStory: the story has what each plugin did in each run and phase, also in a chain that is
// observed, and what changed the object between the phases.
func TestStory(t *testing.T) {
	boom := errors.New("boom")
	resize := actor{mutate: func(ctx context.Context, a *admission.Attributes) error {
		h := a.TellHook(request.Hook{Name: "hook"})
		a.Warn("small")
		a.Annotate("key", "value")
		h.Because("it is too small")
		if h.Changed([]byte(`{"size":7}`), []byte(`{"size":8}`)); h.Age() < 0 || h.Age() > time.Minute {
			t.Errorf("the hook took %v", h.Age())
		}
		h.End(request.OutcomeAdmitted, h.Age())
		return a.Replace(ctx, thing("v1", sizeOf(a.Object)+1))
	}}
	taking := &notingReserver{name: "taker", notes: new([]string)}
	refusing := validating{step{name: "refusing", log: new([]string), err: boom}}
	const mutated = `CREATE a {"apiVersion":"test.example.com/v1","kind":"Thing","size":7}
mutate actor again=false admitted [{"op":"replace","path":"/size","value":8}] [hook admitted [it is too small] [small] [{key value}] [{"op":"replace","path":"/size","value":8}]]
mutate actor again=true admitted [{"op":"replace","path":"/size","value":9}] [hook admitted [it is too small] [small] [{key value}] [{"op":"replace","path":"/size","value":8}]]
validate  again=false admitted [{"op":"add","path":"/via","value":"the server"}]
validate actor again=false admitted
`
	for _, tt := range []struct {
		chain admission.Chain
		want  string
	}{
		{admission.Chain{resize, taking}, mutated + "reserve taker again=false admitted"},
		{admission.Chain{taking, resize, refusing}, mutated + "validate refusing again=false refused  boom"},
	} {
		for _, chain := range []admission.Chain{tt.chain, tt.chain.WithObserver(unobserved)} {
			a, story := newThing(t)
			if err := chain.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			_ = a.Object.(*scheme.Unstructured).Set("the server", "via")
			_ = chain.Validate(t.Context(), a)
			if got := toldSteps(story); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			a.Settle(t.Context(), admission.NotStored)
		}
	}
}

// unobserved is an Observer of no plugin.
func unobserved(string) admission.Observer {
	return func(bool, admission.Operation, time.Duration, bool) {}
}

// TestStoryOfEachOperation: a deletion shows the old object, a connect its options. Each run of the
// mutators begins a try. An empty chain tells nothing.
func TestStoryOfEachOperation(t *testing.T) {
	chain := admission.Chain{actor{}}
	a, story := newThing(t)
	a.Operation, a.Object, a.Old, a.Name = admission.Delete, nil, thing("v1", 3), ""
	a.Old.GetObjectMeta().Name = "old"
	for range 2 {
		if err := errors.Join(chain.Mutate(t.Context(), a), chain.Validate(t.Context(), a)); err != nil {
			t.Fatal(err)
		}
	}
	const try = `DELETE old {"apiVersion":"test.example.com/v1","kind":"Thing","metadata":{"name":"old"},"size":3}
mutate actor again=false admitted
validate actor again=false admitted`
	if got := toldSteps(story); got != try+"\n"+try {
		t.Errorf("a deletion: got\n%s", got)
	}
	options := thing("", 7)
	options.APIVersion, options.Kind = "", ""
	for want, options := range map[string]meta.Typed{
		"CONNECT a \nmutate actor again=false admitted": nil,
		`CONNECT a {"apiVersion":"test.example.com/v1","kind":"Options","size":7}` +
			"\nmutate actor again=false admitted " + `[{"op":"replace","path":"/size","value":8}]`: options,
	} {
		a, story = newThing(t)
		a.Operation, a.Object, a.Kind.Kind = admission.Connect, options, "Options"
		change := actor{mutate: func(_ context.Context, a *admission.Attributes) error {
			if a.Object == nil {
				return nil
			}
			return a.Object.(*scheme.Unstructured).Set(int64(8), "size")
		}}
		if err := (admission.Chain{change}).Mutate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := toldSteps(story); got != want {
			t.Errorf("a connect: got\n%s\nwant\n%s", got, want)
		}
	}
	a, story = newThing(t)
	if err := errors.Join(admission.Chain(nil).Mutate(t.Context(), a), admission.Chain(nil).Validate(t.Context(), a)); err != nil || toldSteps(story) != "" {
		t.Errorf("an empty chain: got %s, %v", toldSteps(story), err)
	}
}

// TestStoryOfPanic: the step of a plugin that panics has no outcome.
func TestStoryOfPanic(t *testing.T) {
	a, story := newThing(t)
	func() {
		defer func() { _ = recover() }()
		_ = admission.Chain{actor{mutate: func(_ context.Context, a *admission.Attributes) error {
			a.Warn("about to panic")
			panic("boom")
		}}}.Mutate(t.Context(), a)
	}()
	tries, _ := story.Tries()
	if step := tries[0].Steps[0]; step.Outcome != "" || len(step.Warnings) != 1 {
		t.Errorf("got %+v", step)
	}
}

// TestStoryIsBounded: a story has at most as many steps and hooks as the bounds say, and counts
// the others. All plugins run nevertheless.
func TestStoryIsBounded(t *testing.T) {
	ran := 0
	p := actor{validate: func(_ context.Context, a *admission.Attributes) error {
		ran++
		for range 300 {
			h := a.TellHook(request.Hook{})
			h.Because(strings.Repeat("x", 10000))
			h.End(request.OutcomeAdmitted, 0)
		}
		return nil
	}}
	a, story := newThing(t)
	chain := admission.Chain{}
	for range 20 {
		chain = append(chain, p)
	}
	for range 2 {
		if err := errors.Join(chain.Mutate(t.Context(), a), chain.Validate(t.Context(), a)); err != nil {
			t.Fatal(err)
		}
	}
	tries, left := story.Tries()
	size, steps, steps0 := 0, 0, tries[0].Left
	for _, try := range tries {
		for _, step := range try.Steps {
			steps += 1 + len(step.Hooks) + step.Left
			for _, h := range step.Hooks {
				size += len(strings.Join(h.Reasons, ""))
			}
		}
	}
	if ran != 40 || len(tries) != 1 || left != 1 || steps0 == 0 || size > request.MaxStoryBytes+request.MaxStorySteps*3 {
		t.Errorf("%d plugins ran; got %d tries, %d left, %d steps and hooks, %d steps left, %d bytes", ran, len(tries), left, steps, steps0, size)
	}
}

// TestNoStory: without a story, a chain allocates nothing.
func TestNoStory(t *testing.T) {
	quiet := actor{
		mutate: func(_ context.Context, a *admission.Attributes) error { a.Warn("a"); a.Annotate("b", "c"); return nil },
		validate: func(_ context.Context, a *admission.Attributes) error {
			if a.Told() {
				t.Error("somebody wants the story")
			}
			return nil
		},
	}
	nothing := &notingReserver{name: "nothing", notes: new([]string), none: true}
	for name, chain := range map[string]admission.Chain{
		"plain": {quiet, quiet, nothing}, "observed": admission.Chain{quiet, quiet, nothing}.WithObserver(unobserved),
	} {
		a, ctx := &admission.Attributes{Operation: admission.Create}, t.Context()
		a.Tell(nil)
		allocs := testing.AllocsPerRun(100, func() {
			*nothing.notes = (*nothing.notes)[:0]
			if chain.Mutate(ctx, a) != nil || chain.Validate(ctx, a) != nil {
				t.Error("an error")
			}
		})
		if want := 1.0; allocs > want { // the note of nothing
			t.Errorf("%s: got %v allocations, want %v", name, allocs, want)
		}
	}
}
