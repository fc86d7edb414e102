package robust

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// value returns a new value with each call.
func (c *client) value() string {
	c.writes++
	return fmt.Sprintf("c%d-%d", c.id, c.writes)
}

func (c *client) color() string { return []string{"red", "green", none}[c.rng.IntN(3)] }

type tree = map[string]any

// body is the whole object of a create or update.
func (c *client) body(op *Op, base string) tree {
	m := tree{"name": op.Key, "namespace": namespace}
	if op.Color != none {
		m["labels"] = tree{"color": op.Color}
	}
	if op.PreRV != 0 {
		m["resourceVersion"] = strconv.FormatInt(op.PreRV, 10)
	}
	return c.run.subject.object(m, tree{"v": op.V, "base": base})
}

func (c *client) create(key string) {
	op := &Op{Verb: create, Key: key, V: c.value(), Color: c.color()}
	c.one(op, request{method: "POST", contentType: "application/json", body: c.body(op, op.V)})
}

func (c *client) get(key, match string) *Object {
	op := &Op{Verb: get, Key: key, Match: match}
	q := request{method: "GET", name: key}
	if match == "any" {
		q.query = url.Values{"resourceVersion": {"0"}}
	}
	c.one(op, q)
	return op.Object
}

// update replaces an object, with the resourceVersion that the client knows as a precondition if
// cas is set.
func (c *client) update(key string, cas bool, color string) *Object {
	op := &Op{Verb: update, Key: key, V: c.value(), Color: color}
	if base := c.known[key]; cas && base != nil {
		op.PreRV = base.RV
	}
	c.one(op, request{method: "PUT", name: key, contentType: "application/json", body: c.body(op, op.V)})
	return op.Object
}

func (c *client) merge(key string) {
	op := &Op{Verb: merge, Key: key, V: c.value()}
	m := tree{}
	if c.rng.IntN(2) == 0 {
		op.Color = c.color()
		m["labels"] = tree{"color": op.Color}
		if op.Color == none {
			m["labels"] = tree{"color": nil}
		}
	}
	if base := c.known[key]; base != nil && c.rng.IntN(4) == 0 {
		op.PreRV = base.RV
		m["resourceVersion"] = strconv.FormatInt(base.RV, 10)
	}
	c.one(op, request{method: "PATCH", name: key, contentType: "application/merge-patch+json",
		body: c.run.subject.with(tree{"metadata": m}, tree{"v": op.V})})
}

// patch sends a JSON patch that first tests the known value.
func (c *client) patch(key string) {
	op := &Op{Verb: jsonPatch, Key: key, V: c.value()}
	if base := c.known[key]; base != nil {
		op.TestV = base.V
	}
	v := c.run.subject.pointer("v")
	c.one(op, request{method: "PATCH", name: key, contentType: "application/json-patch+json", body: []tree{
		{"op": "test", "path": v, "value": op.TestV},
		{"op": "replace", "path": v, "value": op.V},
	}})
}

// noop writes the known state again, by an update or a patch with a precondition on its revision.
func (c *client) noop(key string) {
	base := c.known[key]
	if base == nil {
		if base = c.get(key, ""); base == nil {
			return
		}
	}
	op := &Op{Verb: update, Key: key, V: base.V, Color: base.Color, Noop: true, PreRV: base.RV}
	q := request{method: "PUT", name: key, contentType: "application/json", body: c.body(op, base.Base)}
	if c.rng.IntN(2) == 0 {
		op.Verb, q.method, q.contentType = merge, "PATCH", "application/merge-patch+json"
	}
	c.one(op, q)
}

func (c *client) remove(key string) {
	op := &Op{Verb: remove, Key: key}
	q := request{method: "DELETE", name: key, contentType: "application/json"}
	if base := c.known[key]; base != nil {
		conditions := tree{}
		switch c.rng.IntN(4) {
		case 0:
			op.PreUID, conditions["uid"] = base.UID, base.UID
		case 1:
			op.PreRV, conditions["resourceVersion"] = base.RV, strconv.FormatInt(base.RV, 10)
		}
		q.body = tree{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
	}
	c.one(op, q)
}

// list reads a list with all its pages.
func (c *client) list(op *Op) {
	op.Verb = list
	q := request{method: "GET", query: url.Values{"labelSelector": {selectors[op.Scope.Selector]}}}
	switch op.Match {
	case "any":
		q.query.Set("resourceVersion", "0")
	case "Exact", "NotOlderThan":
		q.query.Set("resourceVersion", strconv.FormatInt(op.AskRV, 10))
		q.query.Set("resourceVersionMatch", op.Match)
	}
	if op.Limit > 0 {
		q.query.Set("limit", strconv.Itoa(op.Limit))
	}
	for {
		a, _ := c.do(op, q)
		if op.Result != acked {
			break
		}
		page := Page{RV: a.Metadata.revision(), More: a.Metadata.Continue != ""}
		for _, item := range a.Items {
			if o := c.run.decode(item); o != nil {
				page.Items = append(page.Items, o)
			}
		}
		op.Pages = append(op.Pages, page)
		c.run.saw(page.RV)
		if !page.More {
			break
		}
		q.query.Del("resourceVersion")
		q.query.Del("resourceVersionMatch")
		q.query.Set("continue", a.Metadata.Continue)
		time.Sleep(time.Duration(c.rng.IntN(30)) * time.Millisecond)
	}
	c.keep(op)
}

// step does one random operation.
func (c *client) step() {
	key := c.run.hot[c.rng.IntN(len(c.run.hot))]
	old := c.run.elders > 0 && c.rng.IntN(2) == 0
	if old {
		key = elderName(c.rng.IntN(c.run.elders))
	}
	scope := Scope{All: c.rng.IntN(4) == 0, Selector: c.rng.IntN(len(selectors))}
	switch n := c.rng.IntN(100); {
	case n < 20:
		c.get(key, "")
	case n < 26:
		c.get(key, "any")
	case n < 40:
		c.create(key)
	case n < 52:
		c.update(key, true, c.color())
	case n < 58:
		c.update(key, false, c.color())
	case n < 66:
		c.merge(key)
	case n < 72:
		c.patch(key)
	case n < 75 && !old: // the first write to an object of an older server always changes the stored form
		c.noop(key)
	case n < 78:
		c.noop(quiet)
	case n < 86:
		c.remove(key)
	case n < 91:
		c.list(&Op{Scope: scope})
	case n < 94:
		c.list(&Op{Scope: scope, Limit: 1 + c.rng.IntN(3)})
	case n < 96:
		c.list(&Op{Scope: scope, Match: "Exact", AskRV: c.run.somewhen(c.rng), Limit: c.rng.IntN(3)})
	case n < 98:
		c.list(&Op{Scope: scope, Match: "NotOlderThan", AskRV: c.run.newest.Load()})
	default:
		c.list(&Op{Scope: scope, Match: "any"})
	}
}

// react acts on a job that a watch has just shown, as a controller does. It is the only user of the
// job, so the answer must never be that the job does not exist.
func (c *client) react(e *Event) {
	o := e.Object
	if e.Type == deleted || !strings.HasPrefix(o.Key, jobPrefix) {
		return
	}
	c.known[o.Key] = o
	if e.Type == added {
		switch c.rng.IntN(5) {
		case 0:
			c.update(o.Key, true, c.color())
			return
		case 1:
			c.patch(o.Key)
			return
		case 2:
			c.noop(o.Key)
		case 3:
			c.get(o.Key, "")
		}
	}
	c.remove(o.Key)
	delete(c.known, o.Key)
}
