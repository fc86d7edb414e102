package server

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/flows"
)

// systemObjects exist in every cluster that has their resource. They are made by post-start hooks.
var systemObjects = []struct {
	hook string
	of   []meta.GroupResource // the first is that of the objects; all must be served
	add  func(ctx context.Context, s *Server) error
	keep func(ctx context.Context, s *Server) // goes on after that; nil: nobody can delete the objects
}{
	{"start-system-namespaces-controller", []meta.GroupResource{namespaces}, addSystemNamespaces, keepSystemNamespaces},
	{"start-legacy-token-tracking-controller", []meta.GroupResource{configMaps, namespaces, secrets}, addTracking, keepTracking},
	{"scheduling/bootstrap-system-priority-classes", []meta.GroupResource{priorityClasses}, addSystemClasses, nil},
	{"priority-and-fairness-config-producer", []meta.GroupResource{flowSchemas, priorityLevels}, addFlows, keepFlows},
	{"rbac/bootstrap-roles", []meta.GroupResource{clusterRoleResource.GroupResource()}, addBootstrapRoles, nil},
}

// addSystemObjects adds the hooks. Each tries until it has made what is missing; the server is not ready before that.
func (s *Server) addSystemObjects() error {
	for _, o := range systemObjects {
		if slices.ContainsFunc(o.of, func(gr meta.GroupResource) bool { return s.Store(gr) == nil }) {
			continue
		}
		run := func(ctx context.Context, s *Server) error {
			for {
				err := o.add(ctx, s)
				if err == nil && o.keep != nil {
					s.life.controllers.Run(func(ctx context.Context) { o.keep(ctx, s) })
				}
				if err == nil || ctx.Err() != nil {
					return nil
				}
				pause := time.Second
				if meta.IsNotFound(err) { // its namespace is about to come
					pause = 10 * time.Millisecond
				} else {
					s.Log().Warn("cannot create the system's objects yet", zap.String("resource", o.of[0].Resource), zap.Error(err))
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		}
		if err := s.AddPostStartHook(Hook{Name: o.hook, Run: run}); err != nil {
			return err
		}
	}
	return nil
}

var systemNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

var namespaceResource = corev1.GroupVersion.WithResource("namespaces")

func addSystemNamespaces(ctx context.Context, s *Server) error {
	var list []*corev1.Namespace
	for _, name := range systemNamespaces {
		list = append(list, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
	}
	return addMissing(ctx, s, namespaceResource, list)
}

// keepSystemNamespaces makes the namespaces again that go, until ctx ends.
func keepSystemNamespaces(ctx context.Context, s *Server) {
	var each []controller.Source
	for _, name := range systemNamespaces { // a watch of one name sleeps while others change
		each = append(each, controller.Watch(client.For[*corev1.Namespace](s.client, namespaceResource), meta.ListOptions{FieldSelector: "metadata.name=" + name}))
	}
	controller.Loop{
		Source: controller.Join(each...),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			return 0, addSystemNamespaces(ctx, s)
		},
		Log: s.loopLog("system-namespaces"),
	}.Run(ctx)
}

// classUses describe the system's priority classes.
var classUses = map[string]string{
	"system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
	"system-node-critical":    "Used for system critical pods that must not be moved from their current node.",
}

func addSystemClasses(ctx context.Context, s *Server) error {
	var list []*schedulingv1.PriorityClass
	for name, value := range schedulingv1.SystemClasses {
		list = append(list, &schedulingv1.PriorityClass{ObjectMeta: meta.ObjectMeta{Name: name}, Value: value, Description: classUses[name]})
	}
	return addMissing(ctx, s, schedulingv1.GroupVersion.WithResource(priorityClasses.Resource), list)
}

// addMissing creates those of the objects that do not exist.
func addMissing[T meta.Object](ctx context.Context, s *Server, gvr meta.GroupVersionResource, list []T) error {
	objects := client.For[T](s.client, gvr)
	for _, obj := range list {
		name := obj.GetObjectMeta().Name
		if _, err := objects.Get(ctx, name, meta.GetOptions{}); err == nil {
			continue
		}
		if _, err := objects.Create(ctx, obj, meta.CreateOptions{}); err != nil && !meta.IsAlreadyExists(err) {
			return err
		}
		s.Log().Debug("created a system object", zap.String("resource", gvr.Resource), zap.String("name", name))
	}
	return nil
}

func (s *Server) flowKeeper() *flows.Keeper {
	return &flows.Keeper{Client: s.client, Log: s.Log().Named("flows")}
}

func addFlows(ctx context.Context, s *Server) error { return s.flowKeeper().Ensure(ctx) }

func keepFlows(ctx context.Context, s *Server) { s.flowKeeper().Run(ctx) }

// addFlowStatus adds the hook that has the status of flow schemas kept, if there are any. It begins
// when the server is ready: the first look then finds all levels.
func (s *Server) addFlowStatus() error {
	if s.Store(flowSchemas) == nil || s.Store(priorityLevels) == nil {
		return nil
	}
	return s.AddPostStartHook(Hook{Name: "priority-and-fairness-config-consumer", Run: func(context.Context, *Server) error {
		s.life.controllers.Run(func(ctx context.Context) {
			select {
			case <-s.Ready():
			case <-ctx.Done():
				return
			}
			log := s.Log().Named("flows")
			in := controller.NewInformers(ctx, s.client, log)
			(&flows.Dangling{Informers: in, Log: log}).Run(ctx)
			in.Wait()
		})
		return nil
	}})
}
