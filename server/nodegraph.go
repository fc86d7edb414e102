package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// newNodeGraph returns a graph for the mode Node that counts its changes in reg.
func newNodeGraph(reg *prometheus.Registry) (*authz.NodeGraph, error) {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "node_authorizer_graph_actions_duration_seconds",
		Help: "Time that changes of the graph of the Node authorizer take.", Buckets: prometheus.ExponentialBuckets(0.0001, 2, 12)},
		[]string{"operation"})
	g := authz.NewNodeGraph()
	g.Took = func(operation string, d time.Duration) { took.WithLabelValues(operation).Observe(d.Seconds()) }
	return g, reg.Register(took)
}

// addNodeGraph keeps a graph up to date with the objects that it is made of. The server is ready when all are known.
func (s *Server) addNodeGraph(g *authz.NodeGraph) error {
	follows := []func(ctx context.Context, s *Server, synced func()){
		followed(pods, corev1.GroupVersion, func(gone bool, pod *corev1.Pod) {
			if gone {
				g.DeletePod(pod.Namespace, pod.Name)
				return
			}
			g.SetPod(pod)
		}),
		followed(volumes, corev1.GroupVersion, func(gone bool, pv *corev1.PersistentVolume) {
			if gone {
				g.DeleteVolume(pv.Name)
				return
			}
			g.SetVolume(pv)
		}),
		followed(volumeAttachments, storagev1.GroupVersion, func(gone bool, a *storagev1.VolumeAttachment) {
			if gone {
				a.Spec.NodeName = ""
			}
			g.SetAttachment(a.Name, a.Spec.NodeName)
		}),
		followed(resourceSlices, resourcev1.GroupVersion, func(gone bool, slice *resourcev1.ResourceSlice) {
			if gone {
				slice.Spec.NodeName = nil
			}
			g.SetSlice(slice.Name, scheme.OrZero(slice.Spec.NodeName))
		}),
	}
	return s.AddPostStartHook(Hook{Name: "start-node-authorizer", Run: func(ctx context.Context, s *Server) error {
		var complete sync.WaitGroup
		for _, follow := range follows {
			complete.Add(1)
			synced := sync.OnceFunc(complete.Done)
			s.life.controllers.Run(func(ctx context.Context) {
				defer synced()
				follow(ctx, s, synced)
			})
		}
		complete.Wait()
		return nil
	}})
}

// followed tells changed of all objects of a resource and their changes, until its context ends, and calls synced when those that
// there were are known. A server without the resource has none.
func followed[T meta.Object](gr meta.GroupResource, version meta.GroupVersion, changed func(gone bool, obj T)) func(context.Context, *Server, func()) {
	return func(ctx context.Context, s *Server, synced func()) {
		if s.Store(gr) == nil {
			return
		}
		all := client.For[T](s.client, version.WithResource(gr.Resource))
		for ev, err := range all.Follow(ctx, meta.ListOptions{AllowWatchBookmarks: true}) {
			switch {
			case err != nil:
				s.Log().Warn("the node authorizer cannot see what nodes need; it goes by what it knows",
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
