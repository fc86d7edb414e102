package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// definitionClient makes, uses, changes and deletes definitions with names of its own. One
// goroutine uses it.
type definitionClient struct {
	*caller
	run   *definitionRun
	slots []*definitionSlot
	made  int // the number of created instances, for their names
}

// definitionSlot is a name with the known state of its definition. Names are used again.
type definitionSlot struct {
	plural    string
	known     *Definition // nil: there is none
	unsure    bool        // an answer was lost, or the definition is not established or is being deleted
	instances map[string]bool
}

// work does random operations until ctx ends. Then it reads the outcome of requests without an
// answer.
func (c *definitionClient) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.step(c.slots[c.rng.IntN(len(c.slots))])
	}
	end := time.Now().Add(patience)
	for _, s := range c.slots {
		for s.unsure && time.Now().Before(end) {
			c.get(s)
		}
	}
}

// step does a random operation on one definition or on its instances.
func (c *definitionClient) step(s *definitionSlot) {
	switch n := c.rng.IntN(100); {
	case s.unsure:
		c.get(s)
	case s.known == nil:
		c.definition(s, &DefinitionOp{Verb: create}, tree{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": tree{"name": s.plural + "." + definitionGroup}, "spec": tree{"group": definitionGroup, "scope": "Cluster",
				"names": tree{"plural": s.plural, "kind": kindOf(s)}, "versions": versionsOf(n)}})
	case n < 10:
		c.definition(s, &DefinitionOp{Verb: remove}, nil)
	case n < 30:
		c.definition(s, &DefinitionOp{Verb: merge}, tree{"spec": tree{"versions": versionsOf(n)}})
	case n < 50 && len(s.instances) > 0:
		names := slices.Sorted(maps.Keys(s.instances))
		c.instance(s, &DefinitionOp{Verb: remove, Instance: names[c.rng.IntN(len(names))]}, nil)
	default:
		c.made++
		name := fmt.Sprintf("i%d", c.made)
		c.instance(s, &DefinitionOp{Verb: create, Instance: name},
			tree{"apiVersion": definitionGroup + "/v1", "kind": kindOf(s), "metadata": tree{"name": name}})
	}
}

func kindOf(s *definitionSlot) string { return "Kind" + s.plural }

// versionsOf are the versions of a definition. Clients use the first. The second may be served, and
// either may be the stored one.
func versionsOf(n int) []tree {
	version := func(name string, served, stored bool) tree {
		return tree{"name": name, "served": served, "storage": stored,
			"schema": tree{"openAPIV3Schema": tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	return []tree{version("v1", true, n%3 > 0), version("v2", n%2 == 0, n%3 == 0)}
}

// do performs an operation with a body, and returns the answer.
func (c *definitionClient) do(s *definitionSlot, op *DefinitionOp, path, name string, body any) []byte {
	if op.Plural = s.plural; s.known != nil {
		op.Of = s.known.UID
	}
	q := request{name: name, body: body}
	switch op.Verb {
	case create:
		q.method, q.name, q.contentType = "POST", "", asJSON
	case merge:
		q.method, q.contentType = "PATCH", asMergePatch
	case remove:
		q.method = "DELETE"
	case get:
		q.method = "GET"
	}
	data := c.try(&op.Try, path, q)
	if op.Result == acked && op.Verb != remove {
		a := &answer{}
		if err := json.Unmarshal(data, a); err == nil {
			op.UID = a.Metadata.UID
		}
	}
	c.run.keep(op)
	return data
}

func (c *definitionClient) get(s *definitionSlot) {
	c.definition(s, &DefinitionOp{Verb: get}, nil)
}

// definition performs an operation on the definition itself, and updates the slot from the answer.
// The client uses a definition once a server says that it is established.
func (c *definitionClient) definition(s *definitionSlot, op *DefinitionOp, body any) {
	data := c.do(s, op, definitionPath, s.plural+"."+definitionGroup, body)
	switch {
	case op.Result == notFound:
		s.known, s.unsure, s.instances = nil, false, nil
	case op.Result == unsent:
	case op.Result != acked || op.Verb == remove:
		s.unsure = true
	default:
		def, _, err := decodeDefinition(data)
		if err != nil {
			c.trouble("not a definition: %v: %.300q", err, data)
			return
		}
		if s.known == nil || s.known.UID != def.UID {
			s.instances = map[string]bool{}
		}
		s.known, s.unsure = def, def.Deleting || !def.Established
	}
}

// instance performs an operation on an instance.
func (c *definitionClient) instance(s *definitionSlot, op *DefinitionOp, body any) {
	c.do(s, op, instancePath+"/"+s.plural, op.Instance, body)
	switch {
	case op.Result == unsent:
	case op.Verb == create && op.Result == acked:
		s.instances[op.Instance] = true
	case op.Verb == remove:
		delete(s.instances, op.Instance)
	}
}
