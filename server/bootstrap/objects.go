package bootstrap

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/flows"
)

// The standing Namespaces and PriorityClasses, which are made if no object has their name, and the
// FlowSchemas and PriorityLevelConfigurations, which server/flows makes and mends.

// The resources of standing objects, and those that they need.
var (
	namespaces      = namespaceResource.GroupResource()
	configMaps      = configMapResource.GroupResource()
	secrets         = meta.GroupResource{Resource: "secrets"}
	priorityClasses = classResource.GroupResource()
	flowSchemas     = flowcontrolv1.GroupVersion.WithResource("flowschemas").GroupResource()
	priorityLevels  = flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations").GroupResource()

	namespaceResource = corev1.GroupVersion.WithResource("namespaces")
	configMapResource = corev1.GroupVersion.WithResource("configmaps")
	classResource     = schedulingv1.GroupVersion.WithResource("priorityclasses")
)

// DefaultNamespace is the namespace of a manifest of a namespaced kind that names no namespace.
const DefaultNamespace = "default"

// systemNamespace is the namespace of the objects that belong to the cluster itself.
const systemNamespace = "kube-system"

// standingNamespaces are the namespaces that every cluster has.
var standingNamespaces = []string{DefaultNamespace, systemNamespace, "kube-public", "kube-node-lease"}

// addNamespaces makes the standing namespaces that do not exist.
func (b *Bootstrap) addNamespaces(ctx context.Context) error {
	var list []*corev1.Namespace
	for _, name := range standingNamespaces {
		list = append(list, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
	}
	return addMissing(ctx, b, namespaceResource, list)
}

// keepNamespaces makes deleted standing namespaces again, until ctx ends.
func (b *Bootstrap) keepNamespaces(ctx context.Context) {
	all := client.For[*corev1.Namespace](b.needs.Client, namespaceResource)
	var each []controller.Source
	for _, name := range standingNamespaces { // a watch of one name costs nothing while other objects change
		each = append(each, controller.Watch(all, meta.ListOptions{FieldSelector: "metadata.name=" + name}))
	}
	controller.Loop{
		Name:   "system_namespaces",
		Source: controller.Join(each...),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			return 0, b.addNamespaces(ctx)
		},
		Log: b.loopLog("system-namespaces"),
	}.Run(ctx)
}

// classUses are the descriptions of the priority classes that every cluster has.
var classUses = map[string]string{
	"system-cluster-critical": "Used for system critical pods that must run in the cluster, " +
		"but can be moved to another node if necessary.",
	"system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}

// addClasses makes the PriorityClasses that do not exist. Admission lets nobody delete them, so no
// loop keeps them.
func (b *Bootstrap) addClasses(ctx context.Context) error {
	var list []*schedulingv1.PriorityClass
	for name, value := range schedulingv1.SystemClasses {
		list = append(list, &schedulingv1.PriorityClass{
			ObjectMeta: meta.ObjectMeta{Name: name}, Value: value, Description: classUses[name],
		})
	}
	return addMissing(ctx, b, classResource, list)
}

func (b *Bootstrap) flowKeeper() *flows.Keeper {
	return &flows.Keeper{Client: b.needs.Client, Log: b.log().Named("flows")}
}

func (b *Bootstrap) addFlows(ctx context.Context) error { return b.flowKeeper().Ensure(ctx) }

func (b *Bootstrap) keepFlows(ctx context.Context) { b.flowKeeper().Run(ctx) }

// startFlowStatus starts the loop that keeps the status of FlowSchemas. The loop begins when the
// server is ready, because then all PriorityLevelConfigurations exist.
func (b *Bootstrap) startFlowStatus(context.Context) error {
	b.needs.Run(func(ctx context.Context) {
		select {
		case <-b.needs.Ready:
		case <-ctx.Done():
			return
		}
		log := b.log().Named("flows")
		in := controller.NewInformers(ctx, b.needs.Client, log)
		(&flows.Dangling{Informers: in, Log: log}).Run(ctx)
		in.Wait()
	})
	return nil
}
