package robust

import (
	"maps"
	"slices"
	"testing"
)

// recordedDefinitions is the record of a correct run, with fewer definitions than usual: KEEP=1 go
// test -run TestDefinitions
const recordedDefinitions = "testdata/definitions.json.gz"

// left plants a fault into a definition in the view of a server at the end.
func (rec *DefinitionRecord) left(at func() bool, fits func(def *Definition) bool, plant func(v *DefinitionView, plural string)) {
	for _, v := range rec.End {
		for _, plural := range slices.Sorted(maps.Keys(v.Definitions)) {
			if fits(v.Definitions[plural]) && at() {
				plant(v, plural)
				return
			}
		}
	}
}

func anyDefinition(*Definition) bool        { return true }
func hasInstances(def *Definition) bool     { return len(def.Instances) > 0 }
func (def *Definition) anyInstance() string { return slices.Sorted(maps.Keys(def.Instances))[0] }

// everywhere changes a definition in the views of all servers.
func (rec *DefinitionRecord) everywhere(plural string, do func(v *DefinitionView)) {
	for _, v := range rec.End {
		if v.Definitions[plural] != nil {
			do(v)
		}
	}
}

// plantedDefinitions are the faults of definitions.
var plantedDefinitions = []fault[*DefinitionRecord]{
	{"lost definition", "lost", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(_ *DefinitionView, plural string) {
			rec.everywhere(plural, func(v *DefinitionView) { delete(v.Definitions, plural) })
		})
	}},
	{"lost instance", "lost", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, hasInstances, func(v *DefinitionView, plural string) {
			name := v.Definitions[plural].anyInstance()
			rec.everywhere(plural, func(v *DefinitionView) { delete(v.Definitions[plural].Instances, name) })
		})
	}},
	{"definition that is not established", "established", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) { v.Definitions[plural].Established = false })
	}},
	{"definition that stays being deleted", "established", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) { v.Definitions[plural].Deleting = true })
	}},
	{"definition that is not served", "established", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) { v.Definitions[plural].Instances = nil })
	}},
	{"definition that is not discovered", "discovery", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) {
			v.Discovered = slices.DeleteFunc(v.Discovered, func(name string) bool { return name == plural })
		})
	}},
	{"definition that is discovered when it is gone", "agreement", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) { v.Discovered = append(v.Discovered, "zzz"+plural) })
	}},
	{"instance that one server lacks", "agreement", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, hasInstances, func(v *DefinitionView, plural string) {
			def := v.Definitions[plural]
			delete(def.Instances, def.anyInstance())
		})
	}},
	{"instance that outlives its definition", "emptied", func(rec *DefinitionRecord, at func() bool) {
		for _, op := range rec.Ops {
			if op.Verb == create && op.Instance != "" && op.Result == acked && rec.another(op) && at() {
				rec.everywhere(op.Plural, func(v *DefinitionView) { v.Definitions[op.Plural].Instances[op.Instance] = op.UID })
				return
			}
		}
	}},
	{"instance left in the store", "emptied", func(rec *DefinitionRecord, at func() bool) {
		if at() {
			rec.Stored = append(rec.Stored, "/registry/"+definitionGroup+"/gone/i1")
		}
	}},
	{"definition that nobody made", "changes", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) {
			rec.Ops = slices.DeleteFunc(rec.Ops, func(op *DefinitionOp) bool { return op.Plural == plural && op.Instance == "" })
		})
	}},
	{"instance that nobody made", "changes", func(rec *DefinitionRecord, at func() bool) {
		rec.left(at, anyDefinition, func(v *DefinitionView, plural string) { v.Definitions[plural].Instances["x"] = "uid" })
	}},
	{"established and not served", "served", func(rec *DefinitionRecord, at func() bool) {
		for _, op := range rec.Ops {
			if op.Verb == create && op.Instance != "" && op.Result == acked && !rec.doubted(op) && at() {
				op.Result, op.Code, op.UID = notFound, 404, ""
				return
			}
		}
	}},
	{"answer that cannot be", "answers", func(rec *DefinitionRecord, at func() bool) {
		for _, op := range rec.Ops {
			if op.Verb == merge && op.Result == acked && !rec.doubted(op) && at() {
				op.Result, op.Code = invalid, 422
				return
			}
		}
	}},
}

// another reports whether the definition at the end is not the one of an instance.
func (rec *DefinitionRecord) another(op *DefinitionOp) bool {
	def := rec.End[0].Definitions[op.Plural]
	return def != nil && def.UID != op.Of
}

// doubted reports whether a client tried to delete the definition before an operation.
func (rec *DefinitionRecord) doubted(op *DefinitionOp) bool {
	return slices.ContainsFunc(rec.Ops, func(o *DefinitionOp) bool {
		return o.Verb == remove && o.Instance == "" && o.Of == op.Of && o.Call < op.Call
	})
}

// TestPlantedDefinitions plants faults into the record of a run with definitions.
func TestPlantedDefinitions(t *testing.T) {
	findPlanted(t, func(t *testing.T) *DefinitionRecord {
		rec := &DefinitionRecord{}
		if err := load(recordedDefinitions, rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}, CheckDefinitions, plantedDefinitions)
}
