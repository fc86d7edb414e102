package access

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
)

// The resources that the graph is made of.
var (
	pods              = meta.GroupResource{Resource: "pods"}
	volumes           = meta.GroupResource{Resource: "persistentvolumes"}
	volumeAttachments = meta.GroupResource{Group: storagev1.GroupVersion.Group, Resource: "volumeattachments"}
	resourceSlices    = meta.GroupResource{Group: resourcev1.GroupVersion.Group, Resource: "resourceslices"}
)

// newNodeGraph returns an empty graph for the mode Node. It registers in reg a metric of the time
// that changes take.
func newNodeGraph(reg prometheus.Registerer) (*authz.NodeGraph, error) {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "node_authorizer_graph_actions_duration_seconds",
		Help:    "Time of a change of the Node authorizer's graph, in seconds, by operation.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 12)}, []string{"operation"})
	g := authz.NewNodeGraph()
	g.Took = func(operation string, d time.Duration) { took.WithLabelValues(operation).Observe(d.Seconds()) }
	return g, reg.Register(took)
}

// Hooks returns the hook that fills the graph of the mode Node before the server is ready. Without
// that mode it returns no hook. The hook starts a loop for each resource of the
// graph, which follows the objects through the client c. run runs the loops; it may end them before
// the server stops.
func (a *Authorizers) Hooks(c *client.Client, run func(work func(ctx context.Context))) []generic.Hook {
	if a.graph == nil {
		return nil
	}
	g, all := a.graph, nodeFollower{a.stores, c, a.log}
	followers := []func(ctx context.Context, synced func()){
		followed(all, pods, corev1.GroupVersion, func(name follow.Name, pod *corev1.Pod) {
			if pod == nil {
				g.DeletePod(name.Namespace, name.Name)
				return
			}
			g.SetPod(pod)
		}),
		followed(all, volumes, corev1.GroupVersion, func(name follow.Name, pv *corev1.PersistentVolume) {
			if pv == nil {
				g.DeleteVolume(name.Name)
				return
			}
			g.SetVolume(pv)
		}),
		followed(all, volumeAttachments, storagev1.GroupVersion, func(name follow.Name, a *storagev1.VolumeAttachment) {
			node := ""
			if a != nil {
				node = a.Spec.NodeName
			}
			g.SetAttachment(name.Name, node)
		}),
		followed(all, resourceSlices, resourcev1.GroupVersion, func(name follow.Name, slice *resourcev1.ResourceSlice) {
			node := ""
			if slice != nil {
				node = scheme.OrZero(slice.Spec.NodeName)
			}
			g.SetSlice(name.Name, node)
		}),
	}
	return []generic.Hook{{Name: "start-node-authorizer", Run: func(context.Context) error {
		var complete sync.WaitGroup
		for _, tell := range followers {
			complete.Add(1)
			synced := sync.OnceFunc(complete.Done)
			run(func(ctx context.Context) {
				defer synced()
				tell(ctx, synced)
			})
		}
		complete.Wait()
		return nil
	}}}
}

// nodeFollower is what the followers of all resources share.
type nodeFollower struct {
	stores registry.Stores
	client *client.Client
	log    *zap.Logger
}

// followed returns a function that calls changed for each object of a resource and for each change,
// until its context ends. obj is nil for a deleted object. The function calls synced when changed
// has seen all objects that existed at the beginning. It returns at once if the server does not
// serve the resource.
func followed[T meta.Object](
	f nodeFollower, gr meta.GroupResource, version meta.GroupVersion, changed func(name follow.Name, obj T),
) func(ctx context.Context, synced func()) {
	return func(ctx context.Context, synced func()) {
		if f.stores.Store(gr) == nil {
			return
		}
		failed := func(err error) {
			f.log.Warn("the Node authorizer cannot follow a resource; it uses the last state",
				zap.String("resource", gr.String()), zap.Error(err))
		}
		all := client.For[T](f.client, version.WithResource(gr.Resource)).Source(meta.ListOptions{})
		for b := range follow.Changes(ctx, all, follow.Options{Failed: failed}) {
			for _, ch := range b.Changes {
				if ch.Unread == nil { // of an unreadable object the graph keeps the last readable state
					changed(ch.Name, ch.New)
				}
			}
			if b.InStep {
				synced()
			}
		}
	}
}
