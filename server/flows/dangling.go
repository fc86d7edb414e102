package flows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Dangling keeps the condition Dangling of every flow schema, which is true if the priority level
// of the schema does not exist.
type Dangling struct {
	Informers *controller.Informers // of the server, with the client that writes the conditions
	Log       *zap.Logger
}

// danglingManager is the field manager of the condition, as in kube-apiserver.
const danglingManager = "api-priority-and-fairness-config-consumer-v1"

// schemaView is the part of a schema that the loop reads. The informer keeps nothing else.
type schemaView struct {
	Level                   string
	Status, Reason, Message string // of the condition; empty if there is none
}

func viewSchema(fs *flowcontrolv1.FlowSchema) *schemaView {
	v := &schemaView{Level: fs.Spec.PriorityLevelConfiguration.Name}
	for i := range fs.Status.Conditions {
		if c := &fs.Status.Conditions[i]; c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			v.Status, v.Reason, v.Message = string(c.Status), c.Reason, c.Message
			break
		}
	}
	return v
}

// Run sets the conditions until ctx ends. A change of a level makes the loop look at the schemas
// that name the level. A level that cannot be read counts as existing. Run writes with one worker,
// which owns writes.
func (d *Dangling) Run(ctx context.Context) {
	schemas := controller.InformerOf(d.Informers, schemaResource, viewSchema)
	levels := controller.InformerOf(d.Informers, levelResource,
		func(*flowcontrolv1.PriorityLevelConfiguration) *struct{} {
			return &struct{}{} // only the existence of a level matters
		})
	writes := recent{}
	controller.Loop{
		Name: "priority_and_fairness_config_queue",
		Source: controller.Join(schemas.Own(), levels.Source(
			func(level controller.Name, _, _ *struct{}) (names []controller.Name) {
				schemas.All(func(name controller.Name, v *schemaView) {
					if v.Level == level.Name {
						names = append(names, name)
					}
				})
				return names
			},
		)),
		Reconcile: func(ctx context.Context, name controller.Name) (time.Duration, error) {
			schema := schemas.Get(name)
			if schema == nil {
				delete(writes, name.Name)
				return 0, nil
			}
			level := controller.Name{Name: schema.Level}
			want := conditionOf(schema.Level, levels.Get(level) != nil || levels.Hidden(level))
			if schema.Status == string(want.Status) && schema.Reason == want.Reason && schema.Message == want.Message {
				return 0, nil
			}
			if pause := writes.pause(name.Name, time.Now()); pause > 0 {
				return pause, nil
			}
			return 0, d.apply(ctx, name.Name, want)
		},
		After: []controller.Syncer{schemas, levels}, Log: d.Log,
	}.Run(ctx)
}

// conditionOf returns the condition of a schema with the given level. Its texts are those of
// kube-apiserver: servers that share a store and use different texts would overwrite each other's
// condition again and again.
func conditionOf(level string, exists bool) flowcontrolv1.FlowSchemaCondition {
	about := fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q ", level)
	c := flowcontrolv1.FlowSchemaCondition{
		Type:   flowcontrolv1.FlowSchemaConditionDangling,
		Status: flowcontrolv1.ConditionFalse, Reason: "Found", Message: about + "and it exists",
	}
	if !exists {
		c.Status, c.Reason, c.Message = flowcontrolv1.ConditionTrue, "NotFound", about+"but there is no such object"
	}
	return c
}

// apply writes the condition of a schema by a forced server-side apply, so it takes the condition
// over from any other field manager. A schema that is gone is no error.
func (d *Dangling) apply(ctx context.Context, name string, c flowcontrolv1.FlowSchemaCondition) error {
	c.LastTransitionTime = meta.Time{Time: time.Now()}
	body, err := json.Marshal(map[string]any{
		"apiVersion": flowcontrolv1.GroupVersion.String(), "kind": "FlowSchema",
		"metadata": map[string]string{"name": name},
		"status":   map[string]any{"conditions": []flowcontrolv1.FlowSchemaCondition{c}},
	})
	if err != nil {
		return err
	}
	force := true
	schemas := client.For[*flowcontrolv1.FlowSchema](d.Informers.Client(), schemaResource).Sub("status")
	_, err = schemas.Patch(ctx, name, client.ApplyPatch, body, meta.PatchOptions{
		FieldManager: danglingManager, Force: &force,
	})
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}

// recent holds, for each schema, the times of the last writes of its condition: the oldest first,
// and at most maxWrites of them. The one worker of the loop owns it.
type recent map[string][]time.Time

// A condition is written at most maxWrites times in writesWithin. More writes would mean that
// another client writes the condition, too, and both would go on forever at full speed.
const (
	maxWrites    = 6
	writesWithin = time.Minute
)

// pause returns 0 and records a write if the condition of a schema may be written at the time now.
// Otherwise it returns the time to wait.
func (r recent) pause(schema string, now time.Time) time.Duration {
	made := r[schema]
	if len(made) == maxWrites {
		if wait := writesWithin - now.Sub(made[0]); wait > 0 {
			return wait
		}
		made = slices.Delete(made, 0, 1)
	}
	r[schema] = append(made, now)
	return 0
}
