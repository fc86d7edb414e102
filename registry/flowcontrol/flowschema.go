package flowcontrol

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// flowSchemas declares the resource flowschemas. Its status subresource writes nothing but the
// status.
func flowSchemas() registry.Resource {
	return registry.Typed(registry.ResourceOf[*flowcontrolv1.FlowSchema]{
		GroupResource: resource("flowschemas"),
		Kind:          "FlowSchema",
		Strategy: registry.StrategyOf[*flowcontrolv1.FlowSchema]{
			Metadata:                 registry.MetaObject,
			Validate:                 checkFlowSchema,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*flowcontrolv1.FlowSchema]{
			Prepare:     keepMeta[*flowcontrolv1.FlowSchema],
			Validate:    checkFlowSchemaStatus,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*flowcontrolv1.FlowSchema]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("PriorityLevel", "The priority level of the requests.", 0),
				registry.Column("MatchingPrecedence",
					"Of several schemas about a request, the one with the lowest number counts.", 0),
				registry.Column("DistinguisherMethod", "How the requests are divided into flows.", 0),
				registry.AgeColumn,
				registry.Column("MissingPL", "Whether the priority level does not exist.", 0),
			},
			Cells: flowSchemaCells,
		},
	})
}

// flowSchemaCells returns the cells of a table's row. MissingPL is the status of the condition
// Dangling, "?" if the schema does not have it yet.
func flowSchemaCells(fs *flowcontrolv1.FlowSchema, now time.Time) []any {
	method, missing := registry.None, "?"
	if m := fs.Spec.DistinguisherMethod; m != nil {
		method = string(m.Type)
	}
	for _, c := range fs.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			missing = string(c.Status)
			break
		}
	}
	return []any{
		fs.Name, fs.Spec.PriorityLevelConfiguration.Name, int64(fs.Spec.MatchingPrecedence), method,
		registry.Age(&fs.ObjectMeta, now), missing,
	}
}

// checkFlowSchema validates a schema. The old object does not matter: a mandatory schema cannot be
// changed because its spec is fixed.
func checkFlowSchema(fs, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return append(checkFlowSchemaSpec(fs.Name, &fs.Spec), checkMandatorySchema(fs)...)
}

// checkFlowSchemaStatus validates the status.
func checkFlowSchemaStatus(fs, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return checkConditions(fs.Status.Conditions,
		func(c *flowcontrolv1.FlowSchemaCondition) string { return string(c.Type) })
}
