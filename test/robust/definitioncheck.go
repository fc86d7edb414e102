package robust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// CheckDefinitions returns all violations in a record.
func CheckDefinitions(rec *DefinitionRecord) []Violation {
	c := &definitionChecker{rec: rec}
	for _, text := range rec.Trouble {
		c.report("processes", "%s", text)
	}
	c.found = append(c.found, rec.unsettled()...)
	c.sort()
	for _, op := range rec.Ops {
		c.answer(op)
	}
	for server, v := range rec.End {
		c.kept(server, v)
	}
	c.agree()
	c.emptied()
	return c.found
}

// definitionChecker compares the answers with the state at the end.
type definitionChecker struct {
	rec     *DefinitionRecord
	made    map[string]*DefinitionOp // the operation that created or first showed an object, by UID of the definition or instance
	asked   map[string]bool          // plurals and names of objects that may have been created without an answer
	removed map[string]time.Duration // the first try to delete, by UID of a definition, or plural and name of an instance
	found   []Violation
}

func (c *definitionChecker) report(check, format string, args ...any) {
	c.found = append(c.found, Violation{check, fmt.Sprintf(format, args...)})
}

// unsettled reports definitions that are not established, not served or still being deleted at the
// end, and discovery that does not show the definitions that exist.
func (rec *DefinitionRecord) unsettled() (found []Violation) {
	for server, v := range rec.End {
		for _, plural := range slices.Sorted(maps.Keys(v.Definitions)) {
			if def := v.Definitions[plural]; !def.Established || def.Deleting || def.Instances == nil {
				found = append(found, Violation{"established", fmt.Sprintf("server %d: %s: %+v", server, plural, *def)})
			}
		}
		if shown := slices.Sorted(maps.Keys(v.Definitions)); !slices.Equal(shown, v.Discovered) {
			found = append(found, Violation{"discovery", fmt.Sprintf("server %d has definitions of %v, and discovery of %v", server, shown, v.Discovered)})
		}
	}
	return found
}

// sort fills made, asked and removed from the record.
func (c *definitionChecker) sort() {
	c.made, c.asked, c.removed = map[string]*DefinitionOp{}, map[string]bool{}, map[string]time.Duration{}
	for _, op := range c.rec.Ops {
		name := op.Plural + "/" + op.Instance
		switch {
		case op.Result == acked && op.Verb == create, op.Result == acked && op.Verb == get:
			if c.made[op.UID] == nil {
				c.made[op.UID] = op
			}
		case op.Result == inDoubt && op.Verb == create:
			c.asked[name] = true
		case op.Verb == remove && op.Result != unsent:
			if op.Instance == "" {
				name = op.Of
			}
			if _, ok := c.removed[name]; !ok {
				c.removed[name] = op.Call
			}
		}
	}
}

// gone reports whether a client tried before a time to delete a definition or instance. The
// deletion may have failed.
func (c *definitionChecker) gone(before time.Duration, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		at, ok := c.removed[name]
		return ok && at < before
	})
}

// answer checks that the answer of an operation is possible: all servers serve a definition that is
// established, unless its only client has deleted it.
func (c *definitionChecker) answer(op *DefinitionOp) {
	switch {
	case c.gone(op.Call, op.Of): // the definition may be deleted
	case op.odd(), op.Result == invalid, op.Result == conflict, op.Result == exists && op.Instance != "":
		c.report("answers", "an answer that is not possible here: %v", op)
	case op.Result == notFound && op.Instance != "" && op.Verb == create:
		c.report("served", "an established definition is not served: %v", op)
	}
}

// kept checks that a server shows every definition and instance whose creation was answered and
// whose deletion nobody requested, and none that nobody requested.
func (c *definitionChecker) kept(server int, v *DefinitionView) {
	for uid, op := range c.made {
		def := v.Definitions[op.Plural]
		switch {
		case op.Instance == "" && !c.gone(never, uid) && (def == nil || def.UID != uid):
			c.report("lost", "server %d does not have the definition %v", server, op)
		case op.Instance != "" && !c.gone(never, op.Of, op.Plural+"/"+op.Instance) && (def == nil || def.Instances[op.Instance] != uid):
			c.report("lost", "server %d does not have the instance %v", server, op)
		}
	}
	for plural, def := range v.Definitions {
		if op := c.made[def.UID]; op == nil && !c.asked[plural+"/"] {
			c.report("changes", "server %d has %s %s, which nobody made", server, plural, def.UID)
		}
		for name, uid := range def.Instances {
			op := c.made[uid]
			switch {
			case op == nil && !c.asked[plural+"/"+name]:
				c.report("changes", "server %d has %s %s, which nobody made", server, plural, name)
			case op != nil && op.Of != def.UID:
				c.report("emptied", "server %d has %s %s of a definition that is gone: %v", server, plural, name, op)
			}
		}
	}
}

// agree checks that all servers show the same state.
func (c *definitionChecker) agree() {
	for _, v := range c.rec.End[1:] {
		first := c.rec.End[0]
		for plural, def := range first.Definitions {
			other := v.Definitions[plural]
			if other == nil || other.UID != def.UID || !maps.Equal(other.Instances, def.Instances) {
				c.report("agreement", "%s: one server has %+v, another %+v", plural, def, other)
			}
		}
		if !slices.Equal(first.Discovered, v.Discovered) {
			c.report("agreement", "one server discovers %v, another %v", first.Discovered, v.Discovered)
		}
	}
}

// emptied checks that only instances of existing definitions are stored.
func (c *definitionChecker) emptied() {
	for _, key := range c.rec.Stored {
		parts := strings.Split(key, "/") // "", registry, group, plural, name
		if def := c.rec.End[0].Definitions[parts[3]]; def == nil || def.Instances[parts[4]] == "" {
			c.report("emptied", "%s is stored, and nobody has it", key)
		}
	}
}
