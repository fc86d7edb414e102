package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// managerWorkers times managerWorlds kinds are made up, each with managerSteps writes.
const (
	managerWorkers = 3
	managerWorlds  = 280
	managerSteps   = 130
)

// managerStep is something that happens to an object. It holds all that it needs, so that it can be
// repeated without the steps before it.
type managerStep struct {
	Do      string // put, apply, delete, sleep, set (the state), schema (Number is which), drop (the second version; Number is how)
	Version string
	Sub     string // a subresource
	Manager string
	Force   bool
	Number  int
	Object  map[string]any // in the version: the object of a put, or the apply configuration
	Managed []any          // the managedFields that the client sends with a put; if Asis is set, those of the live object
	Asis    bool
}

// TestManagers has kube-apiserver's field manager and Coracle keep managedFields of the same
// objects through the same writes.
func TestManagers(t *testing.T) {
	start := time.Now()
	var mu sync.Mutex
	meant := map[string]int{}
	var steps, conflicts, failures atomic.Int64
	defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
	utilruntime.ErrorHandlers = nil // the default handlers sleep to limit the rate of errors
	t.Run("workers", func(t *testing.T) {
		for worker := range managerWorkers {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					for i := range times(managerWorlds) {
						r := random("managers", worker, i)
						run := &managerRun{t: t, world: makeWorld(r, i)}
						run.make(r, managerSteps)
						steps.Add(int64(run.steps))
						conflicts.Add(int64(run.conflicts))
						failures.Add(int64(run.failures))
						mu.Lock()
						for why, n := range run.meant {
							meant[why] += n
						}
						mu.Unlock()
						if t.Failed() {
							return
						}
					}
				})
			})
		}
	})
	for why, n := range meant {
		t.Logf("%d times: %s", n, why)
	}
	t.Logf("%v: %d steps, of which %d ended in conflicts and %d in other errors", time.Since(start), steps.Load(), conflicts.Load(), failures.Load())
}

// managerState is the state of an object and of its kind on both sides.
type managerState struct {
	generation int
	dropped    int            // 1: nothing converts to the second version; 2: conversion works, but the version has no schema
	live       map[string]any // in v1; nil if there is none
	theirs     []metav1.ManagedFieldsEntry
	ours       []meta.ManagedFieldsEntry

	converter managedfields.TypeConverter
	schemas   map[string]*schema.Schema
}

// managerRun is a series of steps.
type managerRun struct {
	t     *testing.T
	world *managerWorld
	state managerState

	steps, conflicts, failures int
	meant                      map[string]int // how often each intended difference was found
}

// make makes up steps and does them, until one ends differently.
func (run *managerRun) make(r *rand.Rand, n int) {
	run.begin()
	maker := &stepMaker{run: run, treeMaker: treeMaker{Rand: r, wrong: 150, odd: 100, depth: 6}, configs: map[string]map[string]any{}}
	for range n {
		step := maker.step()
		before := run.state
		if diff := run.do(step); diff != "" {
			run.report(before, step, diff)
			return
		}
		run.steps++
	}
}

// report shows a step that ends differently, and the state that it starts from, as small as they
// can be.
func (run *managerRun) report(before managerState, last managerStep, diff string) {
	steps := []managerStep{
		{Do: "schema", Number: before.generation},
		{Do: "drop", Number: before.dropped},
		{Do: "set", Object: before.live, Managed: anysOf(before.theirs)},
		last,
	}
	again := func(steps []managerStep) (diff string) {
		again := &managerRun{t: run.t, world: run.world}
		again.begin()
		for _, step := range steps {
			diff = again.do(step)
		}
		return diff
	}
	if again(steps) != "" {
		tries := 0
		steps = shrinkObjects(steps, func(steps []managerStep) bool { tries++; return tries < 2000 && again(steps) != "" })
		diff = again(steps)
	}
	var b strings.Builder
	if run.world.renamed {
		for version, shape := range run.world.shapes {
			fmt.Fprintf(&b, "%s: %s\n", version, encode(shape.openAPI(before.generation)))
		}
	}
	for _, step := range steps {
		fmt.Fprintf(&b, "%s\n", encode(step))
	}
	run.t.Errorf("%s\n%s%s", run.world.name, b.String(), diff)
}

func (run *managerRun) begin() {
	run.meant = map[string]int{}
	run.schemas(0, 0)
}

// schemas changes the schemas of the kind.
func (run *managerRun) schemas(generation, dropped int) {
	s := &run.state
	s.generation, s.dropped = generation, dropped
	s.converter = run.world.theirs(run.world, generation, dropped != 2)
	s.schemas = map[string]*schema.Schema{"v1": run.world.ours(run.world, "v1", generation)}
	if run.world.renamed && dropped == 0 {
		s.schemas["v2"] = run.world.ours(run.world, "v2", generation)
	}
}

// do takes a step on both sides and returns how they differ.
func (run *managerRun) do(step managerStep) string {
	s := &run.state
	switch step.Do {
	case "sleep":
		time.Sleep(time.Second)
		return ""
	case "delete":
		s.live, s.theirs, s.ours = nil, nil, nil
		return ""
	case "set":
		s.live, s.theirs, s.ours = step.Object, nil, nil
		must(json.Unmarshal(encode(step.Managed), &s.theirs))
		must(json.Unmarshal(encode(step.Managed), &s.ours))
		return ""
	case "schema":
		run.schemas(step.Number, s.dropped)
		return ""
	case "drop":
		run.schemas(s.generation, step.Number)
		return ""
	}
	if s.dropped != 0 && step.Version == "v2" {
		return "" // nobody can write in a dropped version
	}
	if s.live == nil && step.Sub != "" && step.Do != "apply" {
		return ""
	}
	theirs, ours := run.doTheirs(step), run.doOurs(step)
	if diff := theirs.differs(ours); diff != "" {
		for why, meant := range managerDifferences {
			if meant(theirs, ours) {
				run.meant[why]++
				s.live, s.theirs, s.ours = nil, nil, nil
				return ""
			}
		}
		return diff
	}
	if theirs.err != nil {
		run.failures++
		if strings.HasPrefix(theirs.err.Error(), "Apply failed with") {
			run.failures--
			run.conflicts++
		}
		if step.Do == "apply" {
			return ""
		}
	}
	s.live = theirs.object
	s.live["metadata"].(map[string]any)["uid"] = "u"
	s.theirs, s.ours = theirs.theirs, ours.ours
	return ""
}

// managerDifferences are the intended differences.
var managerDifferences = map[string]func(theirs, ours outcome) bool{
	// Kubernetes looks for mistakes in the whole of both objects. Coracle looks only where it
	// compares them: not in equal and not in atomic parts. A server validates objects before it
	// stores them; the objects of this test have lists whose elements lack keys.
	"an update of an object with mistakes": func(theirs, ours outcome) bool {
		return theirs.update && ours.err == nil && theirs.err != nil && strings.HasPrefix(theirs.err.Error(), "failed to convert ") &&
			strings.Contains(theirs.err.Error(), "to smd typed: ")
	},
}

// outcome is the result of a step.
type outcome struct {
	object map[string]any // in v1
	theirs []metav1.ManagedFieldsEntry
	ours   []meta.ManagedFieldsEntry
	err    error
	update bool
}

func (theirs outcome) differs(ours outcome) string {
	if theirs.update && theirs.err != nil && ours.err != nil {
		return "" // no client sees the error of an update
	}
	if a, b := errorText(theirs.err), errorText(ours.err); a != b {
		return fmt.Sprintf("error:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	if theirs.err != nil {
		return ""
	}
	for _, o := range []map[string]any{theirs.object, ours.object} {
		if o["metadata"] == nil { // Kubernetes adds it to hold managedFields
			o["metadata"] = map[string]any{}
		}
	}
	if a, b := encode(theirs.object), encode(ours.object); string(a) != string(b) {
		return fmt.Sprintf("object:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	// The objects are unstructured, so fieldsV1 is sorted by text. TestApplySets compares the order
	// in typed objects.
	a, b := encode(theirs.theirs), encode(ours.ours)
	if string(a) != string(b) {
		a, b = encode(tree(theirs.theirs)), encode(tree(ours.ours))
	}
	if string(a) != string(b) {
		return fmt.Sprintf("managedFields:\nKubernetes: %s\nCoracle:    %s", a, b)
	}
	return ""
}

// errorText is an error as a client gets it. Kubernetes leaves the order of conflicting managers to
// chance.
func errorText(err error) string {
	var theirs *apierrors.StatusError
	var ours *meta.StatusError
	var status any
	switch {
	case err == nil:
		return ""
	case errors.As(err, &theirs):
		status = tree(theirs.ErrStatus)
	case errors.As(err, &ours):
		status = tree(ours.Status)
	default:
		status = tree(meta.NewBadRequest(err.Error()).Status) // kube-apiserver blames itself, Coracle the client
	}
	object := status.(map[string]any)
	if object["reason"] == string(meta.StatusReasonBadRequest) {
		// If there are several mistakes, chance decides which Kubernetes finds first. TestApplyWalk
		// compares the messages of single mistakes.
		text := fmt.Sprint(object["message"])
		for _, before := range []string{"): ", "to smd typed: ", "errors:", ": ."} {
			text, _, _ = strings.Cut(text, before)
		}
		return "400 " + text
	}
	delete(object, "kind")
	delete(object, "apiVersion")
	delete(object, "metadata")
	if details, ok := object["details"].(map[string]any); ok {
		if causes, ok := details["causes"].([]any); ok {
			slices.SortStableFunc(causes, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
		}
	}
	return string(encode(object))
}

// plain returns a value with the numbers that unstructured objects have.
func plain(v any) any {
	return must1(jsontext.Decode(encode(v), nil))
}

func anysOf[T any](list []T) []any {
	if list == nil {
		return nil
	}
	return plain(list).([]any)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}
