package core

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// componentStatuses declares componentstatuses, deprecated since 1.19. Kubernetes looks for a
// scheduler and a controller manager on the machine of the API server. Components that run there
// need not belong to this server, so this server reports them as unknown and only asks its own
// store.
func componentStatuses() registry.ComputedResource {
	return registry.ComputedResource{
		GroupResource: meta.GroupResource{Resource: "componentstatuses"},
		Kind:          "ComponentStatus", ShortNames: []string{"cs"},
		Compute: func(ctx context.Context, store storage.Store) []meta.Object {
			return []meta.Object{
				unknownComponent("controller-manager"), storeComponent(ctx, store), unknownComponent("scheduler"),
			}
		},
		Table: &registry.Table{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "Whether the component is known to be healthy.", 0),
				registry.Column("Message", "What the component says.", 0),
				registry.Column("Error", "Why nothing is known of it.", 0),
			},
			Cells: func(obj meta.Object, _ time.Time) []any { return componentCells(obj.(*corev1.ComponentStatus)) },
		},
		Deprecated: []registry.Deprecation{{Since: "1.19"}},
	}
}

// component returns the status of one component with its only condition, Healthy.
func component(name string, c corev1.ComponentCondition) meta.Object {
	c.Type = corev1.ComponentHealthy
	return &corev1.ComponentStatus{ObjectMeta: meta.ObjectMeta{Name: name}, Conditions: []corev1.ComponentCondition{c}}
}

func unknownComponent(name string) meta.Object {
	return component(name, corev1.ComponentCondition{
		Status: corev1.ConditionUnknown, Error: "this server does not look for one",
	})
}

// maxStoreWait is how long the store may take to answer before it counts as unhealthy.
const maxStoreWait = 2 * time.Second

// storeComponent reports whether the store answers. Its name is etcd-0 whatever the store is,
// because clients look for that name.
func storeComponent(ctx context.Context, store storage.Store) meta.Object {
	ctx, cancel := context.WithTimeout(ctx, maxStoreWait)
	defer cancel()
	c := corev1.ComponentCondition{Status: corev1.ConditionTrue, Message: "ok"}
	if _, err := store.Revision(ctx); err != nil {
		c = corev1.ComponentCondition{Status: corev1.ConditionFalse, Error: err.Error()}
	}
	return component("etcd-0", c)
}

func componentCells(s *corev1.ComponentStatus) []any {
	for _, c := range s.Conditions {
		if c.Type == corev1.ComponentHealthy {
			status := "Unhealthy"
			if c.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
			return []any{s.Name, status, c.Message, c.Error}
		}
	}
	return []any{s.Name, "Unknown", "", ""}
}
