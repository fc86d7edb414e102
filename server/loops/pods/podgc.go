package pods

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// PodGC deletes pods that nobody else will: those of nodes that are gone, those being deleted that
// are on no node or on one that is out of service, and the oldest of those that have ended, if
// there are too many.
type PodGC struct {
	Informers *controller.Informers
	// Ended is how many pods that have ended are kept; 0 keeps all.
	Ended int
	Log   *zap.Logger

	pods  *controller.Informer[View]
	nodes *controller.Informer[Node]
	ended atomic.Int64  // pods that have ended
	full  chan struct{} // has a token when they have become too many

	mu     sync.Mutex
	absent map[string]time.Time // nodes that pods name and that are not there, and since when that is known
	tidied time.Time            // when absent was looked through for what is too old
}

const (
	// quarantine is how long a node has to come back before its pods are deleted.
	quarantine = 40 * time.Second
	// sweepPause is between two looks for the oldest of too many pods.
	sweepPause = 20 * time.Second
	// forgetAbsent is how long it is remembered since when a node has been gone.
	forgetAbsent = time.Hour
)

// Run works until ctx ends.
func (c *PodGC) Run(ctx context.Context) {
	c.pods, c.nodes = Of(c.Informers), NodesOf(c.Informers)
	c.full, c.absent = make(chan struct{}, 1), map[string]time.Time{}
	var sweeping sync.WaitGroup
	sweeping.Go(func() { c.sweep(ctx) })
	controller.Loop{
		Source:    controller.Join(c.pods.Source(c.podChanged), c.nodes.Source(c.nodeChanged)),
		Reconcile: c.reconcile, After: []controller.Syncer{c.pods, c.nodes}, Log: c.Log,
	}.Run(ctx)
	sweeping.Wait()
}

// podChanged counts the pods that have ended, and names each pod that something may have to be done
// about.
func (c *PodGC) podChanged(name controller.Name, before, now *View) []controller.Name {
	change := int64(0)
	if before.ended() {
		change--
	}
	if now.ended() {
		change++
	}
	if n := c.ended.Add(change); c.Ended > 0 && n > int64(c.Ended) && change > 0 {
		select {
		case c.full <- struct{}{}:
		default:
		}
	}
	if now == nil || now.Node == "" && !now.Deleting {
		return nil
	}
	return []controller.Name{name}
}

// nodeChanged names the pods of a node that is gone or out of service.
func (c *PodGC) nodeChanged(name controller.Name, _, now *Node) []controller.Name {
	if now != nil {
		c.mu.Lock()
		delete(c.absent, name.Name)
		c.mu.Unlock()
		if !now.OutOfService {
			return nil
		}
	}
	var pods []controller.Name
	c.pods.All(func(pod controller.Name, v *View) {
		if v.Node == name.Name {
			pods = append(pods, pod)
		}
	})
	return pods
}

func (c *PodGC) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	pod := c.pods.Get(name)
	if pod == nil {
		return 0, nil
	}
	if pod.Node == "" {
		if pod.Deleting {
			return 0, c.delete(ctx, name, pod, nil)
		}
		return 0, nil
	}
	if node := c.nodes.Get(controller.Name{Name: pod.Node}); node != nil {
		if pod.Deleting && node.OutOfService {
			return 0, c.delete(ctx, name, pod, nil)
		}
		return 0, nil
	}
	if left := c.quarantined(pod.Node); left > 0 {
		return left, nil
	}
	nodes := client.For[*meta.PartialObjectMetadata](c.Informers.Client(), corev1.GroupVersion.WithResource("nodes"))
	if _, err := nodes.Get(ctx, pod.Node, meta.GetOptions{}); !meta.IsNotFound(err) {
		return 0, err
	}
	return 0, c.delete(ctx, name, pod, &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
	})
}

// quarantined is how long a node that is not there may still come back.
func (c *PodGC) quarantined(node string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, known := c.absent[node]
	if !known {
		since = time.Now()
		if since.Sub(c.tidied) > quarantine { // not at each new name: there may be many
			c.tidied = since
			maps.DeleteFunc(c.absent, func(_ string, at time.Time) bool { return since.Sub(at) > forgetAbsent })
		}
		c.absent[node] = since
	}
	return quarantine - time.Since(since)
}

// sweep deletes the oldest pods that have ended whenever they have become too many.
func (c *PodGC) sweep(ctx context.Context) {
	if c.pods.Synced(ctx) != nil {
		return
	}
	for {
		select {
		case <-c.full:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil && c.ended.Load() > int64(c.Ended) {
			for name, pod := range c.tooMany() {
				if err := c.delete(ctx, name, pod, nil); err != nil && ctx.Err() == nil {
					c.Log.Warn("cannot delete a pod", zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Error(err))
				}
			}
			controller.Pause(ctx, sweepPause)
		}
	}
}

// tooMany returns the pods that have ended and are not kept: those that were evicted first, then
// the oldest.
func (c *PodGC) tooMany() map[controller.Name]*View {
	ended := map[controller.Name]*View{}
	c.pods.All(func(name controller.Name, pod *View) {
		if pod.ended() {
			ended[name] = pod
		}
	})
	names := slices.SortedFunc(maps.Keys(ended), func(a, b controller.Name) int {
		x, y := ended[a], ended[b]
		if x.Evicted != y.Evicted {
			if x.Evicted {
				return -1
			}
			return 1
		}
		return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, kept := range names[max(len(names)-c.Ended, 0):] {
		delete(ended, kept)
	}
	return ended
}

// delete deletes a pod at once, as one that has failed unless it has ended before, with a condition
// that says why if there is one. A pod that is another than the one known by now is left alone.
func (c *PodGC) delete(ctx context.Context, name controller.Name, known *View, why *corev1.PodCondition) error {
	pods := client.For[*corev1.Pod](c.Informers.Client(), corev1.GroupVersion.WithResource("pods")).In(name.Namespace)
	pod, err := pods.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || pod.UID != known.UID || pod.Spec.NodeName != known.Node {
		return controller.IgnoreNotFound(err)
	}
	c.Log.Info("deleting a pod that nobody else will", zap.String("namespace", name.Namespace), zap.String("name", name.Name))
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		pod.Status.Phase, pod.Status.ObservedGeneration = corev1.PodFailed, pod.Generation
		if why != nil {
			why.ObservedGeneration = pod.Generation
			pod.Status.SetCondition(*why, time.Now())
		}
		if _, err := pods.UpdateStatus(ctx, pod, meta.UpdateOptions{}); err != nil {
			return controller.IgnoreNotFound(err)
		}
	}
	return controller.IgnoreNotFound(pods.Delete(ctx, name.Name, meta.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: &meta.Preconditions{UID: &pod.UID},
	}))
}
