package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// quotaClient makes, changes and deletes counted objects with names of its own. One goroutine uses
// it.
type quotaClient struct {
	*caller
	run    *quotaRun
	made   int // the number of tried creates
	things []thing
}

// thing is a name with the known state of its object. Names are used again.
type thing struct {
	kind, name string
	known      *Counted // nil: there is none
	unsure     bool     // an answer was lost
}

const (
	corePath         = "/api/v1/namespaces/" + namespace + "/"
	asStrategicPatch = "application/strategic-merge-patch+json"
	mi               = 1000 << 20 // a MiB, in thousandths
)

// work does random operations until ctx ends. Then it reads the outcome of requests without an
// answer.
func (c *quotaClient) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.step(&c.things[c.rng.IntN(len(c.things))])
		time.Sleep(time.Duration(c.rng.ExpFloat64() * float64(quotaPause)))
	}
	end := time.Now().Add(patience)
	for i := range c.things {
		for th := &c.things[i]; th.unsure && time.Now().Before(end); {
			c.get(th)
		}
	}
}

// step does a random operation on one object.
func (c *quotaClient) step(th *thing) {
	switch n := c.rng.IntN(100); {
	case th.unsure:
		c.get(th)
	case th.known == nil:
		c.create(th, c.shape(th.kind))
	case n < 45:
		c.remove(th)
	case th.kind == "pods" && n < 60 && !th.known.Terminates:
		c.merge(th, "", asMergePatch, tree{"spec": tree{"activeDeadlineSeconds": 100_000}})
	case th.kind == "pods":
		c.merge(th, "/resize", asStrategicPatch, tree{"spec": podOf(c.cpu(), c.memory())})
	case th.kind == "services":
		c.merge(th, "", asMergePatch, tree{"spec": tree{"type": types[[]int{0, 2, 3}[c.rng.IntN(3)]]}})
	case th.kind == "persistentvolumeclaims" && !th.known.Bound:
		c.bind(th)
	case th.kind == "persistentvolumeclaims":
		grown := th.known.Uses["requests.storage"] + int64(c.rng.IntN(3))*1024*mi
		c.merge(th, "", asMergePatch, tree{"spec": tree{"resources": storageOf(grown)}})
	default:
		c.get(th)
	}
}

// The amounts that a random pod asks for.
func (c *quotaClient) cpu() int64    { return int64(50 + c.rng.IntN(8)*50) }
func (c *quotaClient) memory() int64 { return int64(32+c.rng.IntN(8)*32) * mi }

// podOf is the part of a pod's spec that quotas count. The limit of its CPU is twice what it
// requests.
func podOf(cpu, memory int64) tree {
	return tree{"containers": []tree{{"name": "c", "resources": tree{
		"requests": tree{"cpu": fmt.Sprintf("%dm", cpu), "memory": strconv.FormatInt(memory/1000, 10)},
		"limits":   tree{"cpu": fmt.Sprintf("%dm", 2*cpu)},
	}}}}
}

// storageOf is the resources of a claim.
func storageOf(storage int64) tree {
	return tree{"requests": tree{"storage": strconv.FormatInt(storage/1000, 10)}}
}

// shape returns a random object of a kind, without its metadata.
func (c *quotaClient) shape(kind string) tree {
	switch kind {
	case "pods":
		return podShape(c.cpu(), c.memory(), c.rng.IntN(3) == 0)
	case "services":
		return serviceShape(types[[]int{0, 2, 3}[c.rng.IntN(3)]], 1+c.rng.IntN(2))
	case "persistentvolumeclaims":
		return claimShape(int64(1+c.rng.IntN(4))*1024*mi, c.rng.IntN(2) == 0)
	}
	return textShape(kind)
}

func textShape(kind string) tree {
	return tree{"apiVersion": "v1", "kind": map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}[kind]}
}

func podShape(cpu, memory int64, terminates bool) tree {
	spec := podOf(cpu, memory)
	spec["containers"].([]tree)[0]["image"] = "i"
	if terminates {
		spec["activeDeadlineSeconds"] = 100_000
	}
	return tree{"apiVersion": "v1", "kind": "Pod", "spec": spec}
}

func serviceShape(kind string, ports int) tree {
	list := []tree{{"name": "a", "port": 80}, {"name": "b", "port": 81}}
	return tree{"apiVersion": "v1", "kind": "Service", "spec": tree{"type": kind, "ports": list[:ports]}}
}

// claimShape is a claim. It can grow when its status says that it is bound.
func claimShape(storage int64, ofGold bool) tree {
	class := "silver"
	if ofGold {
		class = "gold"
	}
	return tree{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": tree{"accessModes": []string{"ReadWriteOnce"},
		"resources": storageOf(storage), "storageClassName": class, "volumeName": "somewhere"}}
}

// create creates an object of a shape.
func (c *quotaClient) create(th *thing, shape tree) *QuotaOp {
	c.made++
	op := &QuotaOp{Verb: create, By: fmt.Sprintf("%d-%d", c.id, c.made)}
	shape["metadata"] = tree{"name": th.name, "labels": tree{"by": op.By}}
	data, err := json.Marshal(shape)
	if err == nil {
		var asked *Counted
		if asked, err = decodeCounted(th.kind, data); err == nil {
			op.Asks, op.Terminates = asked.Uses, asked.Terminates
		}
	}
	if err != nil {
		c.trouble("a shape: %v", err)
	}
	c.do(th, op, request{method: "POST", contentType: asJSON, body: shape})
	return op
}

// bind writes the status of a claim, so that it can grow.
func (c *quotaClient) bind(th *thing) {
	c.merge(th, "/status", asMergePatch, tree{"status": tree{"phase": "Bound"}})
}

func (c *quotaClient) merge(th *thing, subresource, contentType string, body tree) {
	c.do(th, &QuotaOp{Verb: merge}, request{method: "PATCH", name: th.name + subresource, contentType: contentType, body: body})
}

func (c *quotaClient) get(th *thing) {
	c.do(th, &QuotaOp{Verb: get}, request{method: "GET", name: th.name})
}

func (c *quotaClient) remove(th *thing) {
	c.do(th, &QuotaOp{Verb: remove}, request{method: "DELETE", name: th.name})
}

// do performs an operation and learns from the answer.
func (c *quotaClient) do(th *thing, op *QuotaOp, q request) {
	op.Kind, op.Name = th.kind, th.name
	data := c.try(&op.Try, corePath+th.kind, q)
	switch {
	case op.Result == acked && op.Verb == remove:
		if th.known != nil {
			op.UID = th.known.UID
		}
	case op.Result == acked:
		got, err := decodeCounted(th.kind, data)
		if err != nil {
			c.trouble("not of %s: %v: %.300q", th.kind, err, data)
		}
		op.Got = got
	}
	c.run.keep(op)
	switch {
	case op.Result == notFound || op.Result == acked && op.Verb == remove:
		th.known, th.unsure = nil, false
	case op.Result == acked:
		th.known, th.unsure = op.Got, false
	case op.Result == unsent || op.exceeded():
	default:
		th.unsure = true
	}
}
