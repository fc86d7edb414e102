package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hookBoard has the hooks that writers choose from: those that come, are there, or went a moment
// ago. All methods may be called at once.
type hookBoard struct {
	mu    sync.Mutex
	hooks []string
	ended map[string]time.Time
}

// memory is the time for which writers choose a hook that has gone.
const memory = time.Second

func (b *hookBoard) add(hook string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks = append(b.hooks, hook)
}

func (b *hookBoard) end(hook string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended[hook] = time.Now()
}

// some returns up to most random hooks that stamp, or that refuse.
func (b *hookBoard) some(rng *rand.Rand, stamp bool, most int) (hooks []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks = slices.DeleteFunc(b.hooks, func(hook string) bool {
		at, ok := b.ended[hook]
		ok = ok && time.Since(at) > memory
		if ok {
			delete(b.ended, hook)
		}
		return ok
	})
	for _, i := range rng.Perm(len(b.hooks)) {
		if hook := b.hooks[i]; len(hooks) < most && kindOfHook(hook).stamps == stamp {
			hooks = append(hooks, hook)
		}
	}
	return hooks
}

// hookWriter writes config maps that hooks have a say in. One goroutine uses it.
type hookWriter struct {
	*caller
	run     *hookRun
	written int
	last    *HookWrite // whose config map is there
}

// work writes until ctx ends.
func (w *hookWriter) work(ctx context.Context) {
	for ctx.Err() == nil {
		hooks := w.run.board.some(w.rng, true, 1+w.rng.IntN(3))
		if w.rng.IntN(2) == 0 {
			hooks = append(hooks, w.run.board.some(w.rng, false, 1)...)
		}
		w.write(w.servers[w.rng.IntN(len(w.servers))], hooks)
		time.Sleep(time.Duration(w.rng.ExpFloat64() * float64(writePause)))
	}
}

// probe writes a config map for a hook through a server.
func (w *hookWriter) probe(server int, hook string) { w.write(server, []string{hook}) }

// write creates a config map for some hooks through a server, or updates one. Before admission, a
// creation asks etcd whether the namespace is there, and an update asks nothing. An update keeps
// the labels, because hooks also see the object before it, and drops the stamps.
func (w *hookWriter) write(server int, hooks []string) {
	op := &HookWrite{Verb: create, DryRun: w.rng.IntN(2) == 0, Hooks: hooks}
	q := request{method: "POST", query: url.Values{}, contentType: asJSON}
	if w.last != nil && len(w.last.Hooks) < 8 && w.rng.IntN(4) > 0 {
		op.Verb, op.Name = update, w.last.Name
		for _, hook := range w.last.Hooks {
			if !slices.Contains(hooks, hook) {
				op.Hooks = append(op.Hooks, hook)
			}
		}
		q.method, q.name = "PUT", op.Name
	} else {
		w.written++
		op.Name = fmt.Sprintf("m%d-%d", w.id, w.written)
	}
	if op.DryRun {
		q.query.Set("dryRun", "All")
	}
	labels := map[string]string{}
	for _, hook := range op.Hooks {
		labels[hook] = "yes"
	}
	q.body = tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": op.Name, "labels": labels},
		"data": tree{"v": strconv.Itoa(w.rng.Int())}}
	all := w.servers
	w.servers = []int{server}
	data := w.try(&op.Try, mapPath, q)
	w.servers = all
	switch {
	case op.Result == acked:
		w.answered(op, data)
	case op.Result == inDoubt && op.Verb == update && !op.DryRun: // nobody knows its labels
		w.last = nil
	case op.Result == refused || op.Result == invalid:
		op.By, op.Gen = refusal(op.Error)
	}
	w.run.keepWrite(op)
}

// answered notes the stamps of a config map that was written, and that the config map is there.
func (w *hookWriter) answered(op *HookWrite, data []byte) {
	var o struct{ Metadata meta }
	if err := json.Unmarshal(data, &o); err != nil {
		w.trouble("not a config map: %v: %.300q", err, data)
		return
	}
	op.Stamps = map[string]int{}
	for hook, text := range o.Metadata.Annotations {
		gen, err := strconv.Atoi(text)
		if err != nil {
			w.trouble("not a stamp: %s=%s on %v", hook, text, op)
		}
		op.Stamps[hook] = gen
	}
	if !op.DryRun {
		w.last = op
	}
}
