package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// memoryLedger has the quotas of one namespace in memory. An Update takes a millisecond.
type memoryLedger struct {
	mu      sync.Mutex
	quotas  []*corev1.ResourceQuota
	fence   Fence
	updates int   // that were stored
	raise   int   // how many of the next updates meet a fence that has just been raised
	fails   error // of the next update
}

func (l *memoryLedger) Quotas(context.Context, string, request.Freshness) ([]*corev1.ResourceQuota, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*corev1.ResourceQuota
	for _, q := range l.quotas {
		list = append(list, clone(q))
	}
	return list, nil
}

func clone(q *corev1.ResourceQuota) *corev1.ResourceQuota {
	c := *q
	c.Status.Used = maps.Clone(q.Status.Used)
	return &c
}

func (l *memoryLedger) Fence(context.Context, request.Freshness) (Fence, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fence, nil
}

func (*memoryLedger) Fences(meta.GroupResource) bool { return true }

func (*memoryLedger) Surroundings(context.Context) quota.Surroundings { return quota.Surroundings{} }

func (l *memoryLedger) Update(
	_ context.Context, _, name string, fence Fence, change func(q *corev1.ResourceQuota) error,
) error {
	time.Sleep(time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raise > 0 {
		l.raise--
		l.fence.Revision++
	}
	if err := l.fails; err != nil {
		l.fails = nil
		return err
	}
	for i, q := range l.quotas {
		if q.Name != name {
			continue
		}
		_ = change(clone(q)) // the change is made again, as after a conflict
		next := clone(q)
		if err := change(next); err != nil {
			return err
		}
		if fence != l.fence {
			return ErrFenced
		}
		l.quotas[i] = next
		l.updates++
		return nil
	}
	return meta.NewNotFound(quotaResource, name)
}

// used returns how many config maps quota i counts as used.
func (l *memoryLedger) used(i int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	amount := l.quotas[i].Status.Used["count/configmaps"]
	return amount.Value()
}

// limits returns a quota for the number of config maps.
func limits(name string, most, used int64) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: name}}
	list := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{"count/configmaps": meta.NewQuantity(n, meta.DecimalSI)}
	}
	q.Spec.Hard, q.Status.Hard, q.Status.Used = list(most), list(most), list(used)
	return q
}

// create returns the attributes of the creation of a config map.
func create(dryRun bool) *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Namespace: "n", Name: "m", DryRun: dryRun,
		Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object:   &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: "n", Name: "m"}},
	}
}

// TestCharges checks what a write charges, and the usage after each fate of the write.
func TestCharges(t *testing.T) {
	for name, tt := range map[string]struct {
		ledger *memoryLedger
		dryRun bool
		err    string
		fate   admission.Fate
		used   []int64 // of each quota, after the fate
	}{
		"stored":              {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, fate: admission.Stored, used: []int64{2}},
		"in doubt":            {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, fate: admission.InDoubt, used: []int64{2}},
		"not stored":          {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, fate: admission.NotStored, used: []int64{1}},
		"two quotas":          {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("p", 9, 3), limits("q", 2, 1)}}, fate: admission.Stored, used: []int64{4, 2}},
		"two, not stored":     {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("p", 9, 3), limits("q", 2, 1)}}, fate: admission.NotStored, used: []int64{3, 1}},
		"dry":                 {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, dryRun: true, used: []int64{1}},
		"the fence is raised": {ledger: &memoryLedger{raise: 3, quotas: []*corev1.ResourceQuota{limits("p", 9, 3), limits("q", 2, 1)}}, fate: admission.NotStored, used: []int64{3, 1}},
		"full": {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("p", 9, 3), limits("q", 2, 2)}}, used: []int64{3, 2},
			err: `configmaps "m" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2`},
		"full and dry": {ledger: &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 2, 2)}}, dryRun: true, used: []int64{2},
			err: `configmaps "m" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2`},
		"a store that fails": {ledger: &memoryLedger{fails: errors.New("no disk"), quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, err: "no disk", used: []int64{1}},
		"always fenced": {ledger: &memoryLedger{raise: 100, quotas: []*corev1.ResourceQuota{limits("q", 2, 1)}}, used: []int64{1},
			err: "The update operation against resourcequotas could not be completed at this time, please try again."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := create(tt.dryRun)
				settle, err := New(tt.ledger, nil).Reserve(t.Context(), a)
				if got := fmt.Sprint(err); got != tt.err && !(err == nil && tt.err == "") {
					t.Errorf("got %s, want %s", got, tt.err)
				}
				if settle != nil {
					settle(t.Context(), tt.fate)
				}
				time.Sleep(time.Second)
				for i, want := range tt.used {
					if got := tt.ledger.used(i); got != want {
						t.Errorf("quota %d: %d used, want %d", i, got, want)
					}
				}
			})
		})
	}
}

// TestBatches: writes that wait at the same time are charged together, and never beyond the limit.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &memoryLedger{quotas: []*corev1.ResourceQuota{limits("p", 1000, 0), limits("q", 60, 0)}}
		p := New(l, nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		admitted := 0
		for range 100 {
			wg.Go(func() {
				if _, err := p.Reserve(t.Context(), create(false)); err == nil {
					mu.Lock()
					defer mu.Unlock()
					admitted++
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		if admitted != 60 || l.used(0) != 60 || l.used(1) != 60 {
			t.Errorf("%d were admitted, %d and %d are used, want 60", admitted, l.used(0), l.used(1))
		}
		if l.updates > 10 {
			t.Errorf("%d updates for 100 writes", l.updates)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.queues) > 0 {
			t.Error("a worker is left")
		}
	})
}

// TestWithdrawnCharge: a write whose context ends while it waits charges nothing.
func TestWithdrawnCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &memoryLedger{quotas: []*corev1.ResourceQuota{limits("q", 9, 0)}}
		p := New(l, nil)
		go func() { _, _ = p.Reserve(context.WithoutCancel(t.Context()), create(false)) }()
		time.Sleep(time.Microsecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		if _, err := p.Reserve(ctx, create(false)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		if l.used(0) != 1 {
			t.Errorf("%d used, want 1", l.used(0))
		}
	})
}

// TestUnlimited: a write in a namespace without quotas costs no allocation.
func TestUnlimited(t *testing.T) {
	p, a, ctx := New(&memoryLedger{}, nil), create(false), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.Reserve(ctx, a); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
