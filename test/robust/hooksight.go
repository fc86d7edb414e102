package robust

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// hookWatcher looks what hooks a server shows, and writes through the same server as soon as it
// shows something new. One goroutine uses it.
type hookWatcher struct {
	*hookWriter
	server int
}

// list lists the hooks of random kinds until ctx ends. Some lists may be of the past, from memory,
// and some are pages, which etcd answers while the server loads its objects.
func (w *hookWatcher) list(ctx context.Context) {
	for ctx.Err() == nil {
		q := request{method: "GET", query: url.Values{}}
		switch w.rng.IntN(3) {
		case 0:
			q.query.Set("resourceVersion", "0")
		case 1:
			q.query.Set("limit", "500")
		}
		kind := hookKinds[kindsOfHooks[w.rng.IntN(len(kindsOfHooks))]]
		if s := w.look(kind, q); s != nil {
			newest, most := "", 0
			for hook, gen := range s.Shown {
				if gen > most {
					newest, most = hook, gen
				}
			}
			if newest != "" {
				w.probe(w.server, newest)
			}
		}
		time.Sleep(time.Duration(w.rng.ExpFloat64() * float64(lookPause)))
	}
}

// look lists the hooks of a kind once. It returns nil if there is no answer.
func (w *hookWatcher) look(kind *hookKind, q request) *Sight {
	t := Try{}
	data := w.try(&t, hookPath+kind.resource, q)
	if t.Result != acked {
		return nil
	}
	a := &answer{}
	if err := json.Unmarshal(data, a); err != nil || a.Metadata.Continue != "" {
		return nil
	}
	s := &Sight{Server: w.server, At: t.Return, Whole: kind.resource, RV: a.Metadata.revision(), Shown: map[string]int{}}
	for _, item := range a.Items {
		gen, m, err := decodeHook(item)
		if err != nil {
			w.trouble("not a hook: %v: %.300q", err, item)
			return nil
		}
		if kindOfHook(m.Name) == kind { // else it is a helper
			s.Shown[m.Name] = gen
		}
	}
	w.run.keepSight(s)
	return s
}

// watch follows the hooks of a kind until ctx ends. After a watch has ended it lists first.
func (w *hookWatcher) watch(ctx context.Context, kind *hookKind) {
	for ctx.Err() == nil {
		if s := w.look(kind, request{method: "GET"}); s != nil {
			w.follow(ctx, kind, s.RV)
		}
	}
}

// follow makes one watch request and reads it to its end.
func (w *hookWatcher) follow(ctx context.Context, kind *hookKind, rv int64) {
	resp, err := w.http.Do(newRequest(ctx, w.cluster.urls[w.server]+hookPath+kind.resource,
		request{method: "GET", query: url.Values{"watch": {"1"}, "resourceVersion": {strconv.FormatInt(rv, 10)}}}))
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	for dec := json.NewDecoder(resp.Body); ; {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if dec.Decode(&frame) != nil || frame.Type == failed {
			return
		}
		at := w.now()
		gen, m, err := decodeHook(frame.Object)
		if err != nil {
			w.trouble("not a hook: %v: %.300q", err, frame.Object)
			return
		}
		if kindOfHook(m.Name) != kind {
			continue
		}
		if frame.Type == deleted {
			gen = gone
		}
		w.run.keepSight(&Sight{Server: w.server, At: at, RV: m.revision(), Shown: map[string]int{m.Name: gen}})
		w.probe(w.server, m.Name)
	}
}
