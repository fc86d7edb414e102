package quotas_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/holdings"
	"github.com/coracle-project/coracle/server/quotas"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// status returns the status of the quota "q".
func status(w *looptest.World) corev1.ResourceQuotaStatus {
	w.T.Helper()
	q, err := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas").Get(w.T.Context(), "q", meta.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return q.Status
}

// create creates the quota "q" with limits that are never reached.
func create(w *looptest.World, scopes []corev1.ResourceQuotaScope, names ...corev1.ResourceName) {
	hard := corev1.ResourceList{}
	for _, name := range names {
		hard[name] = meta.NewQuantity(1<<40, meta.DecimalSI)
	}
	looptest.Create(w, "resourcequotas", &corev1.ResourceQuota{
		ObjectMeta: meta.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes},
	})
}

// recountLog is the log of a Controller. It shows what the Controller remembers.
type recountLog struct{ lines *observer.ObservedLogs }

func newRecountLog() (*zap.Logger, recountLog) {
	core, lines := observer.New(zap.DebugLevel)
	return zap.New(core), recountLog{lines}
}

// kept returns how many objects and usages the Controller remembers after its last recount.
func (l recountLog) kept(t *testing.T) (objects, usages int64) {
	t.Helper()
	recounts := l.lines.FilterMessage("quotas were recounted").All()
	if len(recounts) == 0 {
		t.Fatal("nothing was recounted")
	}
	last := recounts[len(recounts)-1].ContextMap()
	return last["remembered objects"].(int64), last["remembered usages"].(int64)
}

// TestRecountRemembers: a Controller that remembers the usages of earlier recounts gets the same
// result as a new one, whatever has changed between two recounts.
func TestRecountRemembers(t *testing.T) {
	for _, scopes := range [][]corev1.ResourceQuotaScope{nil, {corev1.ResourceQuotaScopeNotTerminating}} {
		w := looptest.Start(t, server.Config{Controllers: []string{}})
		w.CreateNamespace()
		names := []corev1.ResourceName{"pods", "count/pods", "requests.cpu", "requests.memory"}
		if scopes == nil {
			names = append(names, "count/configmaps", "services.nodeports")
		}
		create(w, scopes, names...)
		log, recounts := newRecountLog()
		remembers := &quotas.Controller{Stores: w.S, Log: log}
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			for range random.IntN(6) {
				step(w, random)
			}
			if err := remembers.Recount(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(status(w).Used)
			if err := (&quotas.Controller{Stores: w.S, Log: zap.NewNop()}).Recount(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint(status(w).Used); got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
		if used := status(w).Used["pods"]; used.Sign() <= 0 {
			t.Errorf("%s pods: nothing has happened", used.String())
		}
		pods := looptest.Of[*corev1.Pod](w, "pods")
		list, err := pods.List(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if objects, usages := recounts.kept(t); objects > int64(len(list.Items)) || usages > objects+1 {
			t.Errorf("%d objects and %d usages of %d pods are remembered", objects, usages, len(list.Items))
		}
		for _, pod := range list.Items {
			looptest.Delete(w, pods, pod.Name)
		}
		if err := remembers.Recount(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		if objects, usages := recounts.kept(t); objects > 0 || usages > 1 { // the usage of config maps is remembered
			t.Errorf("%d objects and %d usages of no pod are remembered", objects, usages)
		}
	}
}

// step creates, changes or deletes an object. Errors do not matter.
func step(w *looptest.World, random *rand.Rand) {
	ctx, pods := w.T.Context(), looptest.Of[*corev1.Pod](w, "pods")
	name := fmt.Sprintf("o-%d", random.IntN(20))
	switch random.IntN(6) {
	case 0, 1:
		cpu := meta.NewQuantity(int64(1+random.IntN(3)), meta.DecimalSI)
		pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": cpu, "memory": cpu}},
		}}}}
		if random.IntN(3) == 0 {
			deadline := int64(1000)
			pod.Spec.ActiveDeadlineSeconds = &deadline
		}
		_, _ = pods.Create(ctx, pod, meta.CreateOptions{})
	case 2:
		if pod, err := pods.Get(ctx, name, meta.GetOptions{}); err == nil {
			pod.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}[random.IntN(2)]
			_, _ = pods.UpdateStatus(ctx, pod, meta.UpdateOptions{})
		}
	case 3:
		_ = pods.Delete(ctx, name, meta.DeleteOptions{})
	case 4:
		_, _ = looptest.Of[*corev1.ConfigMap](w, "configmaps").Create(ctx, configMap(name), meta.CreateOptions{})
	case 5:
		_ = looptest.Of[*corev1.ConfigMap](w, "configmaps").Delete(ctx, name, meta.DeleteOptions{})
	}
}

// hookedStores calls a function before it returns a store.
type hookedStores struct {
	registry.Stores
	asked func(gr meta.GroupResource)
}

func (s hookedStores) Store(gr meta.GroupResource) *registry.Store {
	s.asked(gr)
	return s.Stores.Store(gr)
}

// TestRecountAtTheFence: an object that is charged and stored after the recount has raised the
// fence, and before it has counted, is counted once.
func TestRecountAtTheFence(t *testing.T) {
	w := looptest.Start(t, server.Config{Controllers: []string{}})
	w.CreateNamespace()
	create(w, nil, "count/configmaps", "requests.storage", "persistentvolumeclaims")
	late := false // whether the next recount is overtaken
	c := &quotas.Controller{Log: zap.NewNop(), Stores: hookedStores{w.S, func(gr meta.GroupResource) {
		if !late || gr.Resource != "configmaps" {
			return
		}
		late = false
		looptest.Create(w, "configmaps", configMap("late"))
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: "late"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{"storage": meta.NewQuantity(5, meta.DecimalSI)}
		looptest.Create(w, "persistentvolumeclaims", claim)
	}}}
	if err := c.Recount(t.Context(), "n"); err != nil { // writes the status for the first time
		t.Fatal(err)
	}
	looptest.Create(w, "configmaps", configMap("early"))
	looptest.Delete(w, looptest.Of[*corev1.ConfigMap](w, "configmaps"), "early") // the deletion is not yet counted
	late = true
	if err := c.Recount(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(status(w).Used); late || got != "map[count/configmaps:1 persistentvolumeclaims:1 requests.storage:5]" {
		t.Errorf("got %s, want the late objects counted once", got)
	}
}

// TestRecountOfClaims: the usage of a claim for devices changes with the device classes, although
// the claim does not change.
func TestRecountOfClaims(t *testing.T) {
	w := looptest.Start(t, server.Config{Controllers: []string{}})
	w.CreateNamespace()
	create(w, nil, "requests.example.com/gpu")
	claims := looptest.InGroup[*resourcev1.ResourceClaim](w, resourcev1.GroupVersion.WithResource("resourceclaims"))
	claim := &resourcev1.ResourceClaim{ObjectMeta: meta.ObjectMeta{Name: "c"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus"}}}
	looptest.Make(w, claims, claim, nil)
	c := &quotas.Controller{Stores: w.S, Log: zap.NewNop()}
	for _, want := range []string{"0", "1"} {
		if err := c.Recount(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		if used := status(w).Used["requests.example.com/gpu"]; used.String() != want {
			t.Errorf("got %s, want %s", used.String(), want)
		}
		name := "example.com/gpu"
		class := &resourcev1.DeviceClass{ObjectMeta: meta.ObjectMeta{Name: "gpus"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &name}}
		if want == "0" {
			looptest.Make(w, client.For[*resourcev1.DeviceClass](w.API(), resourcev1.GroupVersion.WithResource("deviceclasses")), class, nil)
		}
	}
}

// brokenFeed is a feed that fails at once with missed changes, or that yields nothing until its
// context ends.
type brokenFeed struct{ broken bool }

func (f brokenFeed) Next(ctx context.Context) (less, changed []string, err error) {
	if f.broken {
		return nil, nil, errors.New("some changes were missed")
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

func (brokenFeed) Close() {}

// TestForgets: when the last quota of a namespace is deleted, the controller remembers nothing of
// the namespace.
func TestForgets(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		w.Pod("p", "", "")
		limits := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas")
		looptest.Create(w, "resourcequotas", &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "q"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": meta.NewQuantity(1, meta.DecimalSI)}}})
		log, recounts := newRecountLog()
		c := &quotas.Controller{
			Stores: w.S, Log: log, ResourcesChanged: func() <-chan struct{} { return nil },
			Changes: func(context.Context) (quotas.Changes, error) { return brokenFeed{}, nil },
		}
		w.Run(func(ctx context.Context, in *controller.Informers) {
			c.Informers = in
			c.Run(ctx)
		})
		w.Sleep(10 * time.Second)
		before, _ := recounts.kept(t)
		looptest.Delete(w, limits, "q")
		w.Sleep(10 * time.Second)
		if after, _ := recounts.kept(t); before != 1 || after != 0 {
			t.Errorf("%d objects are remembered under a quota, and %d without, want 1 and 0", before, after)
		}
	})
}

// TestBetweenFeeds: if an object is deleted between two feeds, that is counted when the second feed
// begins, and not only at the recount of all namespaces.
func TestBetweenFeeds(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		one := meta.NewQuantity(1, meta.DecimalSI)
		looptest.Create(w, "configmaps", configMap("m"))
		looptest.Create(w, "resourcequotas", &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "q"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": one}}})
		feeds := 0
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&quotas.Controller{
				Informers: in, Stores: w.S, Log: zap.NewNop(),
				ResourcesChanged: func() <-chan struct{} { return nil },
				Changes: func(ctx context.Context) (quotas.Changes, error) {
					if feeds++; feeds == 2 {
						looptest.Delete(w, looptest.Of[*corev1.ConfigMap](w, "configmaps"), "m")
					}
					return brokenFeed{feeds == 1}, nil
				},
			}).Run(ctx)
		})
		w.Sleep(10 * time.Second)
		q, err := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas").Get(t.Context(), "q", meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if feeds != 2 || used(q, "count/configmaps") != "0" {
			t.Errorf("after %d feeds the quota says that %s is used, want 0", feeds, used(q, "count/configmaps"))
		}
	})
}

// TestPodUpdates: a change of usage by the status or the deadline of a pod is counted after ten
// seconds.
func TestPodUpdates(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		limits := corev1.ResourceList{"requests.cpu": meta.NewQuantity(100, meta.DecimalSI)}
		looptest.Create(w, "resourcequotas", &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "q"},
			Spec: corev1.ResourceQuotaSpec{Hard: limits, Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}}})
		held := holdings.New(holdings.Needs{Table: w.S.Table(), Backends: w.S.Backends()})
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&quotas.Controller{
				Informers: in, Stores: w.S, Log: zap.NewNop(), ResourcesChanged: func() <-chan struct{} { return nil },
				Changes: func(ctx context.Context) (quotas.Changes, error) { return held.Releases(ctx) },
			}).Run(ctx)
		})
		w.Sleep(time.Second)
		cpu := func(n int64) corev1.ResourceList {
			return corev1.ResourceList{"cpu": meta.NewQuantity(n, meta.DecimalSI)}
		}
		pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: cpu(2)}}}}}
		looptest.Make(w, w.Pods(), pod, nil)
		want := func(when, amount string) {
			t.Helper()
			q, err := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas").Get(t.Context(), "q", meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := used(q, "requests.cpu"); got != amount {
				t.Errorf("%s: got %s, want %s", when, got, amount)
			}
		}
		want("created", "2")
		for _, n := range []int64{5, 3} { // the node resizes the container up and down
			p, err := w.Pods().Get(t.Context(), "p", meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Resources: &corev1.ResourceRequirements{Requests: cpu(n)}}}
			if _, err := w.Pods().UpdateStatus(t.Context(), p, meta.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.Sleep(11 * time.Second)
			want("resized", fmt.Sprint(n))
		}
		looptest.Patch(w, "pods", "", "p", `{"spec":{"activeDeadlineSeconds":1000}}`)
		w.Sleep(5 * time.Second)
		want("soon after the pod left the scope", "3")
		w.Sleep(6 * time.Second)
		want("after the pod left the scope", "0")
	})
}

// TestNewLimits: a write that read a quota before the quota had a status is not charged, and
// carries no fence. A second recount counts its object.
func TestNewLimits(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		late := true
		stores := hookedStores{w.S, func(gr meta.GroupResource) {
			if late && gr.Resource == "configmaps" {
				late = false
				looptest.Create(w, "configmaps", configMap("late")) // the first recount does not see it
			}
		}}
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&quotas.Controller{
				Informers: in, Stores: stores, Log: zap.NewNop(), ResourcesChanged: func() <-chan struct{} { return nil },
				Changes: func(context.Context) (quotas.Changes, error) { return brokenFeed{}, nil },
			}).Run(ctx)
		})
		looptest.Create(w, "resourcequotas", &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "q"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": meta.NewQuantity(9, meta.DecimalSI)}}})
		for _, want := range []string{"0", "1"} {
			w.Sleep(9 * time.Second)
			q, err := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas").Get(t.Context(), "q", meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := used(q, "count/configmaps"); late || got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}
