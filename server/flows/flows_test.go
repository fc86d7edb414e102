package flows_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/flows"
	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server in the fake time of synctest. The server is constructed but not run, so its own
// loops change nothing.
type world struct {
	*testing.T
	client  *client.Client
	levels  client.Resource[*flowcontrolv1.PriorityLevelConfiguration]
	schemas client.Resource[*flowcontrolv1.FlowSchema]
}

// inWorld runs f in a world.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := servertest.New(t, server.Config{
			DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		gv := flowcontrolv1.GroupVersion
		f(&world{
			T: t, client: s.Client(),
			levels:  client.For[*flowcontrolv1.PriorityLevelConfiguration](s.Client(), gv.WithResource("prioritylevelconfigurations")),
			schemas: client.For[*flowcontrolv1.FlowSchema](s.Client(), gv.WithResource("flowschemas")),
		})
	})
}

// ensure runs one pass of a Keeper.
func (w *world) ensure() {
	w.Helper()
	if err := (&flows.Keeper{Client: w.client, Log: zap.NewNop()}).Ensure(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// beside runs f while work runs, then ends the context of work and waits until work has returned.
func (w *world) beside(work func(ctx context.Context), f func()) {
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	f()
	cancel()
	<-ended
}

// keeping runs f beside a Keeper.
func (w *world) keeping(f func()) {
	w.beside((&flows.Keeper{Client: w.client, Log: zap.NewNop()}).Run, f)
}

// telling runs f beside a loop that writes the condition Dangling.
func (w *world) telling(f func()) {
	w.beside(func(ctx context.Context) {
		in := controller.NewInformers(ctx, w.client, zap.NewNop())
		(&flows.Dangling{Informers: in, Log: zap.NewNop()}).Run(ctx)
		in.Wait()
	}, f)
}

// must returns a function that returns the result of a call, or fails the test if the call failed.
func must[T any](w *world) func(v T, err error) T {
	return func(v T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return v
	}
}

func (w *world) schema(name string) *flowcontrolv1.FlowSchema {
	w.Helper()
	return must[*flowcontrolv1.FlowSchema](w)(w.schemas.Get(w.Context(), name, meta.GetOptions{}))
}

func (w *world) level(name string) *flowcontrolv1.PriorityLevelConfiguration {
	w.Helper()
	return must[*flowcontrolv1.PriorityLevelConfiguration](w)(w.levels.Get(w.Context(), name, meta.GetOptions{}))
}

// update reads an object, changes it and writes it.
func update[T meta.Object](w *world, r client.Resource[T], obj T) T {
	w.Helper()
	return must[T](w)(r.Update(w.Context(), obj, meta.UpdateOptions{FieldManager: "somebody"}))
}

// revisions returns the resourceVersions of all schemas and levels, by kind and name.
func (w *world) revisions() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, l := range must[*client.List[*flowcontrolv1.PriorityLevelConfiguration]](w)(w.levels.List(w.Context(), meta.ListOptions{})).Items {
		all["level "+l.Name] = l.ResourceVersion
	}
	for _, fs := range must[*client.List[*flowcontrolv1.FlowSchema]](w)(w.schemas.List(w.Context(), meta.ListOptions{})).Items {
		all["schema "+fs.Name] = fs.ResourceVersion
	}
	return all
}

// TestKeeperMakes checks that missing objects are created with kube-apiserver's field manager, and
// that a second look writes nothing.
func TestKeeperMakes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.ensure()
		made := w.revisions()
		if len(made) != 19 {
			t.Errorf("got %d objects, want 8 levels and 11 schemas: %v", len(made), slices.Sorted(maps.Keys(made)))
		}
		for _, m := range []*meta.ObjectMeta{&w.level("catch-all").ObjectMeta, &w.schema("probes").ObjectMeta} {
			f := m.ManagedFields
			if len(f) != 1 || f[0].Manager != "api-priority-and-fairness-config-producer-v1" || f[0].Operation != "Update" {
				t.Errorf("%s: got the managed fields %v", m.Name, f)
			}
			if m.Generation != 1 || m.Annotations[flowcontrol.AutoUpdate] != "true" {
				t.Errorf("%s: got generation %d and the annotations %v", m.Name, m.Generation, m.Annotations)
			}
		}
		w.ensure()
		if got := w.revisions(); !maps.Equal(got, made) {
			t.Errorf("a second look wrote something:\n got %v\nwant %v", got, made)
		}
	})
}

// TestKeeperMends repairs suggested objects in all combinations of the annotation and of changes to
// the spec.
func TestKeeperMends(t *testing.T) {
	const none = "none"
	for _, tt := range []struct {
		annotation       string
		generations      int // metadata.generation; 1 means an unchanged spec
		kept             bool
		annotationBefore string
		annotationAfter  string
	}{
		{"true", 1, true, "true", "true"},
		{"true", 3, true, "true", "true"},
		{"false", 2, false, "false", "false"},
		{"none, as it was made", 1, true, none, "true"},
		{"none, changed", 2, false, none, "false"},
		{"malformed, changed", 2, false, "perhaps", "false"},
		{"another form of true", 2, true, "T", "T"},
	} {
		t.Run(tt.annotation, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.ensure()
				for change := range tt.generations {
					fs, l := w.schema("probes"), w.level("system")
					if change > 0 {
						fs.Spec.MatchingPrecedence = int32(70 + change)
						*l.Spec.Limited.NominalConcurrencyShares = int32(70 + change)
					}
					fs.Annotations, l.Annotations = nil, nil
					if tt.annotationBefore != none {
						fs.Annotations = map[string]string{flowcontrol.AutoUpdate: tt.annotationBefore}
						l.Annotations = maps.Clone(fs.Annotations)
					}
					update(w, w.schemas, fs)
					update(w, w.levels, l)
				}
				w.ensure()
				fs, l := w.schema("probes"), w.level("system")
				if got := fs.Spec.MatchingPrecedence == 2; got != tt.kept {
					t.Errorf("schema: got the precedence %d, kept: %v", fs.Spec.MatchingPrecedence, tt.kept)
				}
				if got := *l.Spec.Limited.NominalConcurrencyShares == 30; got != tt.kept {
					t.Errorf("level: got %d shares, kept: %v", *l.Spec.Limited.NominalConcurrencyShares, tt.kept)
				}
				for _, m := range []*meta.ObjectMeta{&fs.ObjectMeta, &l.ObjectMeta} {
					if got := m.Annotations[flowcontrol.AutoUpdate]; got != tt.annotationAfter {
						t.Errorf("%s: got the annotation %q, want %q", m.Name, got, tt.annotationAfter)
					}
				}
			})
		})
	}
}

// TestKeeperRestores checks that within a minute mandatory objects get their specs back, whatever
// the annotation says, except spec.exempt of the level exempt; and that deleted suggested objects
// are created again.
func TestKeeperRestores(t *testing.T) {
	inWorld(t, func(w *world) {
		w.ensure()
		w.keeping(func() {
			fs := w.schema("exempt")
			fs.Annotations[flowcontrol.AutoUpdate] = "false"
			update(w, w.schemas, fs)
			l := w.level("exempt")
			*l.Spec.Exempt.NominalConcurrencyShares, *l.Spec.Exempt.LendablePercent = 7, 50
			l.Annotations = nil
			update(w, w.levels, l)
			for _, name := range []string{"catch-all", "probes"} {
				if err := w.schemas.Delete(w.Context(), name, meta.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.levels.Delete(w.Context(), "catch-all", meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(61 * time.Second)
			if len(w.revisions()) != 19 {
				t.Errorf("not all objects came again: %v", slices.Sorted(maps.Keys(w.revisions())))
			}
			l = w.level("exempt")
			if *l.Spec.Exempt.NominalConcurrencyShares != 7 || *l.Spec.Exempt.LendablePercent != 50 {
				t.Errorf("the level exempt lost what an administrator has set: %v", l.Spec.Exempt)
			}
			if a, b := w.schema("exempt").Annotations, l.Annotations; a[flowcontrol.AutoUpdate] != "true" || b[flowcontrol.AutoUpdate] != "true" {
				t.Errorf("got the annotations %v and %v of mandatory objects", a, b)
			}
		})
	})
}

// TestKeeperDrops checks that unwanted objects are deleted if their annotation is true, and only
// then.
func TestKeeperDrops(t *testing.T) {
	inWorld(t, func(w *world) {
		for name, annotation := range map[string]string{"old": "true", "old-2": "1", "mine": "false", "odd": "perhaps", "plain": ""} {
			fs := flowcontrol.Suggested().Schemas[0]
			l := flowcontrol.Suggested().Levels[0]
			fs.Name, l.Name, fs.Spec.PriorityLevelConfiguration.Name = name, name, name
			fs.Annotations[flowcontrol.AutoUpdate], l.Annotations[flowcontrol.AutoUpdate] = annotation, annotation
			if annotation == "" {
				fs.Annotations, l.Annotations = nil, nil
			}
			must[*flowcontrolv1.FlowSchema](w)(w.schemas.Create(w.Context(), fs, meta.CreateOptions{}))
			must[*flowcontrolv1.PriorityLevelConfiguration](w)(w.levels.Create(w.Context(), l, meta.CreateOptions{}))
		}
		w.ensure()
		all := w.revisions()
		for name, want := range map[string]bool{"old": false, "old-2": false, "mine": true, "odd": true, "plain": true} {
			for _, kind := range []string{"schema ", "level "} {
				if _, got := all[kind+name]; got != want {
					t.Errorf("%s%s: there: %v, want %v", kind, name, got, want)
				}
			}
		}
	})
}

// condition returns the condition Dangling of a schema, as "STATUS REASON".
func (w *world) condition(name string) string {
	w.Helper()
	var all []string
	for _, c := range w.schema(name).Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			all = append(all, string(c.Status)+" "+c.Reason)
		}
	}
	return strings.Join(all, ", ")
}

// TestDangling creates and deletes levels, and checks the condition of every schema.
func TestDangling(t *testing.T) {
	inWorld(t, func(w *world) {
		mine := flowcontrol.Suggested().Schemas[0]
		mine.Name, mine.Annotations, mine.Spec.PriorityLevelConfiguration.Name = "mine", nil, "fast"
		must[*flowcontrolv1.FlowSchema](w)(w.schemas.Create(w.Context(), mine, meta.CreateOptions{}))
		w.ensure()
		w.telling(func() {
			want := func(what, mine, probes string) {
				t.Helper()
				time.Sleep(time.Second)
				if got := w.condition("mine"); got != mine {
					t.Errorf("%s: got the condition %q of mine, want %q", what, got, mine)
				}
				if got := w.condition("probes"); got != probes {
					t.Errorf("%s: got the condition %q of probes, want %q", what, got, probes)
				}
			}
			want("at first", "True NotFound", "False Found")
			for _, fs := range []*flowcontrolv1.FlowSchema{w.schema("mine"), w.schema("probes")} {
				f := fs.ManagedFields[len(fs.ManagedFields)-1]
				if !slices.ContainsFunc(fs.ManagedFields, func(f meta.ManagedFieldsEntry) bool {
					return f.Manager == "api-priority-and-fairness-config-consumer-v1" && f.Operation == "Apply" && f.Subresource == "status"
				}) {
					t.Errorf("%s: got the managed fields %v", fs.Name, f)
				}
			}
			fast := flowcontrol.Suggested().Levels[0]
			fast.Name, fast.Annotations = "fast", nil
			must[*flowcontrolv1.PriorityLevelConfiguration](w)(w.levels.Create(w.Context(), fast, meta.CreateOptions{}))
			want("with the level", "False Found", "False Found")
			if err := w.levels.Delete(w.Context(), "exempt", meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			want("without the other level", "False Found", "True NotFound")
			changed := w.schema("mine")
			changed.Spec.PriorityLevelConfiguration.Name = "slow"
			update(w, w.schemas, changed)
			want("with another reference", "True NotFound", "True NotFound")
		})
		made := w.revisions()
		w.telling(func() { time.Sleep(time.Minute) })
		if got := w.revisions(); !maps.Equal(got, made) {
			t.Errorf("a second run wrote something:\n got %v\nwant %v", got, made)
		}
	})
}

// TestDanglingOverwritten has a client overwrite the condition again and again: the loop writes it
// at most six times a minute.
func TestDanglingOverwritten(t *testing.T) {
	inWorld(t, func(w *world) {
		w.ensure()
		w.telling(func() {
			time.Sleep(time.Second)
			undone := 0
			for range 120 { // one every half second
				fs := w.schema("probes")
				if fs.Status.Conditions[0].Reason != "Mine" {
					undone++
					fs.Status.Conditions[0].Reason = "Mine"
					must[*flowcontrolv1.FlowSchema](w)(w.schemas.UpdateStatus(w.Context(), fs, meta.UpdateOptions{FieldManager: "somebody"}))
				}
				time.Sleep(500 * time.Millisecond)
			}
			if undone < 5 || undone > 7 {
				t.Errorf("the condition was written again %d times in a minute, want about 6", undone)
			}
			time.Sleep(time.Minute)
			if got := w.condition("probes"); got != "False Found" {
				t.Errorf("after the other client has stopped: got the condition %q", got)
			}
		})
	})
}
