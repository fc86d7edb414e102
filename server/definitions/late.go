package definitions

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// This file is for several servers on one store. A client may see on one server that a definition
// is established, and then ask another server, which has not followed the definition yet. The end
// of the delegation chain therefore waits until this server has followed the definitions up to the
// store's present revision, and tries the request again. New makes the chainEnd.

// chainEnd is the last handler of the delegation chain: it gets the requests that the server of
// definitions does not serve.
type chainEnd struct {
	*Definitions
	before ServedEarlier
	again  *router.Director // tries the link of the definitions again; none answers if that fails, too
	ask    *pacedQuestion   // nil: no other server uses the store
}

// ServeHTTP implements http.Handler. Only requests for resources in a group with a dot may cause a
// question to the store, because the group of a definition always has one.
func (e *chainEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	mayAsk := e.ask != nil && e.host.Store(customResourceDefinitions) != nil
	if mayAsk && info != nil && info.IsResource && strings.Contains(info.Group, ".") && e.defined(r.Context(), info) {
		e.again.ServeHTTP(w, r)
		return
	}
	e.none(w, r)
}

// none answers a request that no link of the chain serves. kube-apiserver answers with a Status in
// the groups that are built in, including apiextensions.k8s.io, and with a plain 404 elsewhere.
func (e *chainEnd) none(w http.ResponseWriter, r *http.Request) {
	group, ok := e.on.Discovery.GroupOf(r.URL.Path, request.From(r.Context()))
	if ok && (e.before(group) || group == customResourceDefinitions.Group) {
		router.WriteError(w, r, router.ErrNotFound())
		return
	}
	router.NotFound(w, r)
}

// longestLook bounds how long a request for an unknown resource waits for the store and the loop.
const longestLook = 3 * time.Second

// defined reports whether the store had a definition of the requested resource at some time after
// the call. If so, the loop has dealt with that definition when defined returns. The result is
// false if the answer takes longer than longestLook.
func (e *chainEnd) defined(ctx context.Context, info *request.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	rev, err := e.ask.answer(ctx)
	if err != nil {
		return false
	}
	store := e.host.Store(customResourceDefinitions)
	if store == nil {
		return false
	}
	def, err := store.Get(ctx, "", info.Resource+"."+info.Group, strconv.FormatUint(uint64(rev), 10))
	return err == nil && e.seen.Wait(ctx, storage.Revision(def.Revision())) == nil
}

// pacedQuestion asks the store for its current revision: once for all callers that wait at the same
// time, and at most once per askEvery. This bounds the load that requests for resources which do
// not exist put on the store.
type pacedQuestion struct {
	ask  func(ctx context.Context) (storage.Revision, error)
	host generic.Host

	mu   sync.Mutex
	next *futureAnswer // to the question that has not been asked yet; nil: nobody waits
	last time.Time     // when the last question was asked
}

// futureAnswer is the answer to a question. rev and err are set when done is closed.
type futureAnswer struct {
	done chan struct{}
	rev  storage.Revision
	err  error
}

// askEvery is the least time between two questions.
const askEvery = 5 * time.Millisecond

// answer returns a revision that the store had after the call.
func (q *pacedQuestion) answer(ctx context.Context) (storage.Revision, error) {
	q.mu.Lock()
	a := q.next
	if a == nil {
		a = &futureAnswer{done: make(chan struct{})}
		q.next = a
		pause := askEvery - time.Since(q.last)
		q.host.Go(func(ctx context.Context) { q.askAfter(ctx, a, pause) })
	}
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.rev, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// askAfter waits for pause, asks the store, and sets a. It clears next before it asks, so that a
// caller who comes later gets a later question and not an answer that may be older than its call.
func (q *pacedQuestion) askAfter(ctx context.Context, a *futureAnswer, pause time.Duration) {
	defer close(a.done)
	if pause > 0 {
		time.Sleep(pause)
	}
	q.mu.Lock()
	q.next, q.last = nil, time.Now()
	q.mu.Unlock()
	a.rev, a.err = q.ask(ctx)
}
