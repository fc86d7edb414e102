package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// scenario is one kind of operation.
type scenario struct {
	name string
	run  func(ctx context.Context, p plan, t *target) (*result, error)
}

// scenarios in the order in which they run: create first, delete last.
var scenarios = []scenario{
	{"create", each(func(t *target, i int, p plan) request {
		return request{method: "POST", path: t.objects(), body: p.kind.object(i, p.size, "0"), want: http.StatusCreated}
	})},
	{"version", timed(func(*target, int, plan) request { return get("/version") })},
	{"notfound", timed(func(t *target, _ int, _ plan) request {
		return request{method: "GET", path: t.objects() + "/none", want: http.StatusNotFound}
	})},
	{"get", timed(func(t *target, i int, p plan) request { return get(t.object(i % p.objects)) })},
	{"get-rv0", timed(func(t *target, i int, p plan) request { return get(t.object(i%p.objects) + "?resourceVersion=0") })},
	{"list", timed(func(t *target, _ int, _ plan) request { return get(t.objects()) })},
	{"list-rv0", timed(func(t *target, _ int, _ plan) request { return get(t.objects() + "?resourceVersion=0") })},
	{"page", pages},
	{"update", timed(func(t *target, i int, p plan) request {
		return t.update(i%p.objects, p, fmt.Sprint(i))
	})},
	{"patch", timed(func(t *target, i int, p plan) request {
		return request{method: "PATCH", path: t.object(i % p.objects), contentType: "application/merge-patch+json",
			body: fmt.Appendf(nil, p.kind.patch, fmt.Sprintf("p%d", i)), want: http.StatusOK}
	})},
	{"watch", watch},
	{"apply", applies(func(i int, p plan) []byte { return p.kind.object(i%p.objects, p.size, fmt.Sprintf("a%d", i)) })},
	{"apply-yaml", applies(func(i int, p plan) []byte { return whole(p.kind.yaml, i%p.objects, p.size, fmt.Sprintf("y%d", i)) })},
	{"apply-field", applies(func(i int, p plan) []byte {
		return fmt.Appendf(nil, p.kind.field, objectName(i%p.objects), fmt.Sprintf("a%d", i))
	})},
	{"apply-field-yaml", applies(func(i int, p plan) []byte {
		return fmt.Appendf(nil, p.kind.inYAML, objectName(i%p.objects), fmt.Sprintf("y%d", i))
	})},
	{"delete", each(func(t *target, i int, _ plan) request {
		return request{method: "DELETE", path: t.object(i), want: http.StatusOK}
	})},
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

func get(path string) request { return request{method: "GET", path: path, want: http.StatusOK} }

// applies makes server-side applies. Their manager is not the one of create and update, so they use
// force to take over its fields.
func applies(body func(i int, p plan) []byte) func(context.Context, plan, *target) (*result, error) {
	return timed(func(t *target, i int, p plan) request {
		return request{method: "PATCH", path: t.object(i%p.objects) + "?fieldManager=applier&force=true",
			contentType: "application/apply-patch+yaml", body: body(i, p), want: http.StatusOK}
	})
}

// strip removes the managedFields of the objects. After that only an apply adds owners again. A
// create cannot make an object without managedFields.
var strip = each(func(t *target, i int, _ plan) request {
	return request{method: "PATCH", path: t.object(i), contentType: "application/merge-patch+json",
		body: []byte(`{"metadata":{"managedFields":[{}]}}`), want: http.StatusOK}
})

// call makes the request of the i-th operation.
type call func(t *target, i int, p plan) request

// each makes one call for each object.
func each(c call) func(context.Context, plan, *target) (*result, error) {
	return func(ctx context.Context, p plan, t *target) (*result, error) {
		return workers(ctx, p, t, func(w *worker, i int) (bool, error) {
			if i >= p.objects {
				return false, nil
			}
			return true, w.do(ctx, c(t, i, p))
		})
	}
}

// timed makes calls for the duration of the plan.
func timed(c call) func(context.Context, plan, *target) (*result, error) {
	return func(ctx context.Context, p plan, t *target) (*result, error) {
		end := time.Now().Add(p.duration)
		return workers(ctx, p, t, func(w *worker, i int) (bool, error) {
			if time.Now().After(end) {
				return false, nil
			}
			return true, w.do(ctx, c(t, i, p))
		})
	}
}

// pages lists all objects repeatedly, in pages of pageSize. A page is an operation.
func pages(ctx context.Context, p plan, t *target) (*result, error) {
	const pageSize = 500
	end := time.Now().Add(p.duration)
	return workers(ctx, p, t, func(w *worker, _ int) (bool, error) {
		if time.Now().After(end) {
			return false, nil
		}
		path := fmt.Sprintf("%s?limit=%d", t.objects(), pageSize)
		if w.token != "" {
			path += "&continue=" + url.QueryEscape(w.token)
		}
		err := w.do(ctx, get(path))
		w.token = metaOf(w.buf.Bytes(), "continue")
		return true, err
	})
}

// metaOf returns a string field of the metadata of a list or an object, or "". Servers write
// metadata within the first bytes.
func metaOf(list []byte, field string) string {
	head := list[:min(len(list), 4096)]
	if i := bytes.Index(head, []byte(`"items"`)); i >= 0 {
		head = head[:i]
	}
	_, rest, ok := bytes.Cut(head, []byte(`"`+field+`":"`))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// worker is one client.
type worker struct {
	t       *target
	buf     bytes.Buffer
	token   string // of the next page
	bytes   int64
	latency []time.Duration
}

func (w *worker) do(ctx context.Context, q request) error {
	begin := time.Now()
	if err := w.t.do(ctx, q, &w.buf); err != nil {
		return err
	}
	w.latency = append(w.latency, time.Since(begin))
	w.bytes += int64(w.buf.Len())
	if q.body != nil {
		w.t.remember(w.buf.Bytes())
	}
	return nil
}

// workers runs op with increasing numbers on all clients of the plan until it returns false, and
// measures. The first error ends it.
func workers(ctx context.Context, p plan, t *target, op func(w *worker, i int) (bool, error)) (*result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var count atomic.Int64
	all := make([]worker, p.clients)
	cpu, begin := cpuOf(t.pids), time.Now()
	var wg sync.WaitGroup
	for n := range all {
		w := &all[n]
		w.t = t
		wg.Go(func() {
			for ctx.Err() == nil {
				more, err := op(w, int(count.Add(1))-1)
				if err != nil {
					cancel(err)
				}
				if !more || err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	r := &result{wall: time.Since(begin), cpu: cpuOf(t.pids) - cpu}
	for i := range all {
		r.ops += len(all[i].latency)
		r.bytes += all[i].bytes
		r.latency = append(r.latency, all[i].latency...)
	}
	return r, context.Cause(ctx)
}
