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
	"github.com/coracle-project/coracle/server/loops/absent"
)

// This file deletes pods that no kubelet will delete. Package server runs it as the controller
// pod-garbage-collector-controller. Kubernetes looks at all pods every 20 seconds. This loop works
// on a pod when the pod changes, and when its node is deleted or put out of service. It goes
// through all pods of the Informer only then, and when too many pods have ended.

// PodGC is the loop that deletes
//   - pods on a node that has not existed for the time absent.Quarantine (orphaned pods);
//   - pods that are being deleted and have no node, because no kubelet ends them;
//   - pods that are being deleted on a node that is out of service (NodeView.OutOfService);
//   - pods that have ended, if there are more than Ended: evicted pods first, then the oldest.
type PodGC struct {
	// Informers are the informers of the run, with the client that the loop uses.
	Informers *controller.Informers
	// Ended is the number of ended pods that are kept; 0 keeps all
	// (--terminated-pod-gc-threshold of kube-controller-manager).
	Ended int
	// Log gets a line for each failure and for each pod that is deleted.
	Log *zap.Logger

	pods    *controller.Informer[View]
	nodes   *controller.Informer[NodeView]
	ended   atomic.Int64  // the number of ended pods; podChanged counts them
	full    chan struct{} // has a token when ended has risen above Ended; sweep waits for it
	missing absent.Nodes  // nodes that pods name and the Informer does not have
}

// sweepPause is the time between two deletions of ended pods while there are too many.
const sweepPause = 20 * time.Second

// Run deletes pods until ctx ends, and returns when the work under way has ended.
func (c *PodGC) Run(ctx context.Context) {
	c.pods, c.nodes = PodInformer(c.Informers), NodeInformer(c.Informers)
	c.full = make(chan struct{}, 1)
	var sweeping sync.WaitGroup
	sweeping.Go(func() { c.sweep(ctx) })
	controller.Loop{
		Name:      "orphaned_pods_nodes",
		Source:    controller.Join(c.pods.Source(c.podChanged), c.nodes.Source(c.nodeChanged)),
		Reconcile: c.reconcile, After: []controller.Syncer{c.pods, c.nodes}, Log: c.Log,
	}.Run(ctx)
	sweeping.Wait()
}

// podChanged counts ended pods and wakes sweep if there are too many. It returns the pod if it has
// a node or is being deleted, because only such pods concern reconcile.
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

// nodeChanged returns the pods on a node that was deleted or is out of service, and none for other
// changes.
func (c *PodGC) nodeChanged(name controller.Name, _, now *NodeView) []controller.Name {
	if now != nil {
		c.missing.Appeared(name.Name)
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

// reconcile deletes one pod for one of the first three reasons in the list at PodGC. Before it
// deletes a pod because the Informer has no such node, it asks the server for the node. The
// Informer may lag behind, and it has no node that cannot be read; Get then fails, and the pod
// stays.
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
	if left := c.missing.Left(pod.Node); left > 0 {
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

// sweep deletes ended pods whenever there are more than Ended, until ctx ends. As long as there are
// too many, for example because deletions fail, it tries again after sweepPause.
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
					c.Log.Warn("cannot delete a pod that has ended",
						zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Error(err))
				}
			}
			controller.Pause(ctx, sweepPause)
		}
	}
}

// tooMany returns the ended pods to delete, so that Ended of them remain. It takes evicted pods
// before others, and older pods before newer ones, as Kubernetes does.
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

// delete deletes a pod without a grace period. If the phase of the pod is neither Succeeded nor
// Failed, delete first sets it to Failed, so that a job controller, for example, counts the pod as
// failed (KEP-3329). It then also adds the condition why, unless why is nil. seen is the pod as
// the loop has seen it. If the pod was replaced or bound to a node since, delete does nothing.
func (c *PodGC) delete(ctx context.Context, name controller.Name, seen *View, why *corev1.PodCondition) error {
	pods := client.For[*corev1.Pod](c.Informers.Client(), corev1.GroupVersion.WithResource("pods")).In(name.Namespace)
	pod, err := pods.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || pod.UID != seen.UID || pod.Spec.NodeName != seen.Node {
		return controller.IgnoreNotFound(err)
	}
	c.Log.Info("deleting a pod that no kubelet will delete",
		zap.String("namespace", name.Namespace), zap.String("name", name.Name))
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
