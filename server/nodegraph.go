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
	"github.com/coracle-project/coracle/scheme/follow"
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
	followers := []func(ctx context.Context, s *Server, synced func()){
		followed(pods, corev1.GroupVersion, func(name follow.Name, pod *corev1.Pod) {
			if pod == nil {
				g.DeletePod(name.Namespace, name.Name)
				return
			}
			g.SetPod(pod)
		}),
		followed(volumes, corev1.GroupVersion, func(name follow.Name, pv *corev1.PersistentVolume) {
			if pv == nil {
				g.DeleteVolume(name.Name)
				return
			}
			g.SetVolume(pv)
		}),
		followed(volumeAttachments, storagev1.GroupVersion, func(name follow.Name, a *storagev1.VolumeAttachment) {
			node := ""
			if a != nil {
				node = a.Spec.NodeName
			}
			g.SetAttachment(name.Name, node)
		}),
		followed(resourceSlices, resourcev1.GroupVersion, func(name follow.Name, slice *resourcev1.ResourceSlice) {
			node := ""
			if slice != nil {
				node = scheme.OrZero(slice.Spec.NodeName)
			}
			g.SetSlice(name.Name, node)
		}),
	}
	return s.AddPostStartHook(Hook{Name: "start-node-authorizer", Run: func(ctx context.Context, s *Server) error {
		var complete sync.WaitGroup
		for _, run := range followers {
			complete.Add(1)
			synced := sync.OnceFunc(complete.Done)
			s.life.controllers.run(func(ctx context.Context) {
				defer synced()
				run(ctx, s, synced)
			})
		}
		complete.Wait()
		return nil
	}})
}

// followed tells changed of all objects of a resource and their changes, until its context ends, and calls synced when those that
// there were are known. An object that is gone is nil. A server without the resource has none.
func followed[T meta.Object](gr meta.GroupResource, version meta.GroupVersion, changed func(name follow.Name, obj T)) func(context.Context, *Server, func()) {
	return func(ctx context.Context, s *Server, synced func()) {
		if s.Store(gr) == nil {
			return
		}
		failed := func(err error) {
			s.Log().Warn("the node authorizer cannot see what nodes need; it goes by what it knows",
				zap.String("resource", gr.String()), zap.Error(err))
		}
		all := client.For[T](s.client, version.WithResource(gr.Resource)).Source(meta.ListOptions{})
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
