package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// hookOwner makes, changes and deletes one hook after the other. It is the only client that changes
// its hooks. One goroutine uses it.
type hookOwner struct {
	*hookWriter
	made, gen int
}

// work lets one hook after the other live until ctx ends.
func (o *hookOwner) work(ctx context.Context) {
	for ctx.Err() == nil {
		o.live(ctx, kindsOfHooks[o.rng.IntN(len(kindsOfHooks))])
	}
}

// live lets one hook live. If nobody knows whether the hook came to be, it is left alone: it may
// yet come.
func (o *hookOwner) live(ctx context.Context, kind string) {
	o.made++
	o.gen++
	h := &ownedHook{hookKind: hookKinds[kind], hook: fmt.Sprintf("%s-%d-%d", kind, o.id, o.made), gen: o.gen}
	if h.helper != "" && !o.help(ctx, h) {
		return
	}
	o.run.board.add(h.hook)
	defer o.run.board.end(h.hook)
	for o.change(ctx, h, create); h.RV == 0; o.change(ctx, h, create) {
		if ctx.Err() != nil || h.lost {
			return
		}
	}
	for range o.rng.IntN(4) {
		o.rest(hookPause)
		if !h.once && h.RV != 0 {
			o.change(ctx, h, update)
		}
	}
	o.rest(2 * hookPause)
	for h.RV != 0 && ctx.Err() == nil {
		o.change(ctx, h, remove)
	}
	if h.helper != "" && ctx.Err() == nil {
		o.try(&Try{}, hookPath+h.helper, request{method: "DELETE", name: h.hook})
	}
}

func (o *hookOwner) rest(mean time.Duration) {
	time.Sleep(time.Duration(o.rng.ExpFloat64() * float64(mean)))
}

// ownedHook is a hook as its owner knows it.
type ownedHook struct {
	*hookKind
	hook string
	gen  int   // the last that its owner asked for
	RV   int64 // of its object; 0 if there is none
	lost bool  // an answer to its creation was lost, and it is not there yet
}

// help makes the helper of a hook, and waits until all servers have shown it.
func (o *hookOwner) help(ctx context.Context, h *ownedHook) bool {
	body := o.run.webhooks.object(h.helper, h.hook, h.gen)
	for t := (Try{}); t.Result != acked && t.Result != exists; {
		if o.try(&t, hookPath+h.helper, request{method: "POST", contentType: asJSON, body: body}); ctx.Err() != nil {
			return false
		}
	}
	all := o.servers
	defer func() { o.servers = all }()
	for _, server := range all {
		o.servers = []int{server}
		for t := (Try{}); t.Result != acked; {
			if o.try(&t, hookPath+h.helper, request{method: "GET", name: h.hook}); ctx.Err() != nil {
				return false
			}
		}
	}
	return true
}

// change tries to create, update or delete a hook, on the condition that nothing has changed since
// its owner saw it. If the owner then does not know what there is, it looks. A write at the same
// server follows an answer at once.
func (o *hookOwner) change(ctx context.Context, h *ownedHook, verb Verb) {
	op := &HookOp{Verb: verb, Hook: h.hook}
	q := request{contentType: asJSON}
	known := strconv.FormatInt(h.RV, 10)
	if verb == update {
		o.gen++
		h.gen = o.gen
	}
	if verb != remove {
		op.Gen = h.gen
		body := o.run.webhooks.object(h.resource, h.hook, op.Gen)
		if verb == update {
			body["metadata"].(tree)["resourceVersion"] = known
		}
		q.body = body
	}
	switch verb {
	case create:
		q.method = "POST"
	case update:
		q.method, q.name = "PUT", h.hook
	case remove:
		q.method, q.name = "DELETE", h.hook
		q.body = tree{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": tree{"resourceVersion": known}}
	}
	o.do(h, op, q)
	switch {
	case op.Result == acked:
		o.probe(op.Server, h.hook)
	case op.Result == unsent:
	default:
		for found := false; !found && ctx.Err() == nil; {
			look := &HookOp{Verb: get, Hook: h.hook}
			o.do(h, look, request{method: "GET", name: h.hook})
			found = look.Result == acked || look.Result == notFound
		}
		h.lost = verb == create && h.RV == 0
	}
}

// do performs an operation on the object of a hook, and takes its revision from the answer.
func (o *hookOwner) do(h *ownedHook, op *HookOp, q request) {
	data := o.try(&op.Try, hookPath+h.resource, q)
	switch {
	case op.Result == notFound, op.Result == acked && op.Verb == remove:
		h.RV = 0
	case op.Result == acked:
		gen, m, err := decodeHook(data)
		if err != nil {
			o.trouble("not a hook: %v: %.300q", err, data)
			return
		}
		h.RV, op.RV = m.revision(), m.revision()
		if op.Verb == get {
			op.Gen = gen
		}
	}
	o.run.keepOp(op)
}

// decodeHook returns the generation and the metadata of the object of a hook.
func decodeHook(data []byte) (gen int, m *meta, err error) {
	var o struct{ Metadata meta }
	if err = json.Unmarshal(data, &o); err == nil {
		gen, err = strconv.Atoi(o.Metadata.Annotations[genNote])
	}
	return gen, &o.Metadata, err
}
