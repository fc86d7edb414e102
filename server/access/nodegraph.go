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

// newNodeGraph returns a graph for the mode Node that counts its changes in reg.
func newNodeGraph(reg prometheus.Registerer) (*authz.NodeGraph, error) {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "node_authorizer_graph_actions_duration_seconds",
		Help:    "Time that changes of the graph of the Node authorizer take.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 12)}, []string{"operation"})
	g := authz.NewNodeGraph()
	g.Took = func(operation string, d time.Duration) { took.WithLabelValues(operation).Observe(d.Seconds()) }
	return g, reg.Register(took)
}

// Hooks returns what must be done before the server is ready. With the mode Node the graph must
// know all objects that it is made of. c sees them, and run runs what goes on to follow them, until
// the server stops or earlier.
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

// nodeFollower is what followed needs.
type nodeFollower struct {
	stores registry.Stores
	client *client.Client
	log    *zap.Logger
}

// followed tells changed of all objects of a resource and their changes, until its context ends. An
// object that is gone is nil. It calls synced when the objects that were there at the beginning are
// known. A server without the resource has none.
func followed[T meta.Object](
	f nodeFollower, gr meta.GroupResource, version meta.GroupVersion, changed func(name follow.Name, obj T),
) func(ctx context.Context, synced func()) {
	return func(ctx context.Context, synced func()) {
		if f.stores.Store(gr) == nil {
			return
		}
		failed := func(err error) {
			f.log.Warn("the node authorizer cannot see what nodes need; it goes by what it knows",
				zap.String("resource", gr.String()), zap.Error(err))
		}
		all := client.For[T](f.client, version.WithResource(gr.Resource)).Source(meta.ListOptions{})
		for b := range follow.Changes(ctx, all, follow.Options{Failed: failed}) {
			for _, ch := range b.Changes {
				if ch.Unread == nil { // else what was known of it counts
					changed(ch.Name, ch.New)
				}
			}
			if b.InStep {
				synced()
			}
		}
	}
}
