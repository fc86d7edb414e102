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
	follows := []func(ctx context.Context, synced func()){
		followed(all, pods, corev1.GroupVersion, func(gone bool, pod *corev1.Pod) {
			if gone {
				g.DeletePod(pod.Namespace, pod.Name)
				return
			}
			g.SetPod(pod)
		}),
		followed(all, volumes, corev1.GroupVersion, func(gone bool, pv *corev1.PersistentVolume) {
			if gone {
				g.DeleteVolume(pv.Name)
				return
			}
			g.SetVolume(pv)
		}),
		followed(all, volumeAttachments, storagev1.GroupVersion, func(gone bool, a *storagev1.VolumeAttachment) {
			if gone {
				a.Spec.NodeName = ""
			}
			g.SetAttachment(a.Name, a.Spec.NodeName)
		}),
		followed(all, resourceSlices, resourcev1.GroupVersion, func(gone bool, slice *resourcev1.ResourceSlice) {
			if gone {
				slice.Spec.NodeName = nil
			}
			g.SetSlice(slice.Name, scheme.OrZero(slice.Spec.NodeName))
		}),
	}
	return []generic.Hook{{Name: "start-node-authorizer", Run: func(context.Context) error {
		var complete sync.WaitGroup
		for _, follow := range follows {
			complete.Add(1)
			synced := sync.OnceFunc(complete.Done)
			run(func(ctx context.Context) {
				defer synced()
				follow(ctx, synced)
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

// followed tells changed of all objects of a resource and their changes, until its context ends. It
// calls synced when the objects that were there at the beginning are known. A server without the
// resource has none.
func followed[T meta.Object](
	f nodeFollower, gr meta.GroupResource, version meta.GroupVersion, changed func(gone bool, obj T),
) func(ctx context.Context, synced func()) {
	return func(ctx context.Context, synced func()) {
		if f.stores.Store(gr) == nil {
			return
		}
		all := client.For[T](f.client, version.WithResource(gr.Resource))
		for ev, err := range all.Follow(ctx, meta.ListOptions{AllowWatchBookmarks: true}) {
			switch {
			case err != nil:
				f.log.Warn("the node authorizer cannot see what nodes need; it goes by what it knows",
					zap.String("resource", gr.String()), zap.Error(err))
			case ev.Type == client.Bookmark:
				synced()
			case ev.Type == client.Unread: // what was known of it counts
			default:
				changed(ev.Type == client.Deleted, ev.Object)
			}
		}
	}
}
