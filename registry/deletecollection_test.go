package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestDeleteCollection(t *testing.T) {
	k := newKit(t, options{})
	for i := range 5 {
		k.create(named(fmt.Sprintf("a%d", i), func(w *widget) { w.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)} }))
	}
	k.create(named("held", finalized(hold), func(w *widget) { w.Labels = map[string]string{"odd": "true"} }))
	labels, err := meta.ParseLabels("odd=true")
	if err != nil {
		t.Fatal(err)
	}
	before := k.revision()
	list, err := k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns", Labels: labels}, &meta.DeleteOptions{DryRun: []string{"All"}})
	if err != nil || list.Len != 3 || k.revision() != before {
		t.Fatalf("dry: got %v, %v, revision %d to %d", list, err, before, k.revision())
	}
	if list, err = k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns", Labels: labels}, &meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantNames(t, "answer", k.namesOf(list), "a1", "a3", "held")
	wantNames(t, "what is left", k.names(request.ListRequest{Namespace: "ns"}), "a0", "a2", "a4", "held")
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := k.deleteCollection(ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{}); err == nil {
		t.Error("DeleteCollection goes on after the end of its context")
	}
}

// TestDeleteWorkers: a collection is deleted by as many workers as are configured. Admission blocks
// until all workers wait there, and gives a warning for each object.
func TestDeleteWorkers(t *testing.T) {
	const workers = 4
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.cfg.DeleteWorkers = workers
	for i := range 3 * workers {
		k.create(named(fmt.Sprintf("a%02d", i)))
	}
	var inside, most atomic.Int32
	full := make(chan struct{})
	p.validate = func(a *admission.Attributes) error {
		n := inside.Add(1)
		defer inside.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); {
			old = most.Load()
		}
		if n == workers {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full
		if a.Operation == admission.Delete {
			a.Warn("about " + a.Old.GetObjectMeta().Name)
		}
		return nil
	}
	warned := map[string]bool{}
	opts := &meta.DeleteOptions{}
	req := k.deletion("", opts)
	req.Warn = func(text string) { warned[text] = true }
	if _, err := k.DeleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, req, opts); err != nil {
		t.Fatal(err)
	}
	if most.Load() != workers || len(warned) != 3*workers || len(k.names(request.ListRequest{Namespace: "ns"})) != 0 {
		t.Errorf("%d at a time, %d warnings, left: %v", most.Load(), len(warned), k.names(request.ListRequest{Namespace: "ns"}))
	}
	for i := range 3 {
		k.create(named(fmt.Sprintf("b%02d", i)))
	}
	k.cfg.DeleteWorkers = 0
	refused := errors.New("no")
	var tried int
	p.validate = func(a *admission.Attributes) error {
		tried++
		return refused
	}
	if _, err := k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{}); err == nil || tried != 1 {
		t.Errorf("got %v after %d", err, tried)
	}
}

// waitingPlugin is a plugin whose validation waits for the end of the request.
type waitingPlugin struct {
	*plugin
	validate func(ctx context.Context, a *admission.Attributes) error
}

func (p *waitingPlugin) Validate(ctx context.Context, a *admission.Attributes) error {
	return p.validate(ctx, a)
}

// TestDeleteWorkersEnd: admission refuses one deletion of a collection while another one runs. The
// running deletion is completed.
func TestDeleteWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &waitingPlugin{plugin: &plugin{}, validate: func(context.Context, *admission.Attributes) error { return nil }}
		k := newKit(t, options{chain: admission.Chain{p}})
		k.cfg.DeleteWorkers = 2
		k.create(named("a"))
		k.create(named("b"))
		refused, begun := errors.New("no"), make(chan struct{})
		p.validate = func(ctx context.Context, a *admission.Attributes) error {
			if a.Old.GetObjectMeta().Name == "a" {
				<-begun
				return refused
			}
			close(begun)
			time.Sleep(time.Second) // until all other goroutines are blocked
			return ctx.Err()
		}
		if _, err := k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{}); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the refusal", err)
		}
		wantNames(t, "what is left", k.names(request.ListRequest{Namespace: "ns"}), "a")
	})
}
