package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// lastResort is the end of the delegation chain. Of several servers on one store, one may be asked for a resource that another
// has told of, and that it does not know yet: it looks once more when it has seen all that the store knows.
type lastResort struct {
	*definitions
	core  *generic.Server
	again *router.Director // of the extensions server, without what comes behind it
	ask   *pacedQuestion   // nil: there is no other server
}

// endChain puts the last resort behind the extensions server. shared: there may be other servers.
func (d *definitions) endChain(core *generic.Server, shared bool) {
	l := &lastResort{definitions: d, core: core}
	if shared {
		l.ask = &pacedQuestion{ask: d.Backends().Main().Cache.Revision, work: d.work}
	}
	l.again = &router.Director{REST: d.on.REST, Discovery: d.on.Discovery, Prefix: d.on.Paths, Next: http.HandlerFunc(l.none)}
	d.on.Then(l)
	core.Then(&unreadGuard{&d.unread, d.on})
}

// ServeHTTP implements http.Handler.
func (l *lastResort) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	looks := l.ask != nil && l.store != nil // without a store there are no definitions
	if looks && info != nil && info.IsResource && strings.Contains(info.Group, ".") && l.defined(r.Context(), info) {
		l.again.ServeHTTP(w, r)
		return
	}
	l.none(w, r)
}

// none answers what no server of the chain knows: with a Status inside of the groups of the server's own, else with a plain 404.
func (l *lastResort) none(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	group, known := l.core.Discovery.GroupOf(r.URL.Path, info)
	if own := l.core.REST.Serves(group) || group == apiServices.Group || group == customResourceDefinitions.Group; known && own {
		router.WriteError(w, r, router.ErrNotFound())
		return
	}
	router.NotFound(w, r)
}

// longestLook is how long a request for what is not known waits for what the store knows.
const longestLook = 3 * time.Second

// defined reports whether the store knew, at some time after the call, a definition of the resource that a request is for. What it
// defines is served by then, if it is to be.
func (l *lastResort) defined(ctx context.Context, info *request.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	rev, err := l.ask.answer(ctx)
	if err != nil {
		return false
	}
	objects := l.store.Objects()
	key := objects.Prefix() + info.Resource + "." + info.Group
	obj, err := objects.Get(ctx, key, cache.Want{Rev: rev, Match: cache.NotOlderThan})
	return err == nil && l.seen.Wait(ctx, obj.Rev) == nil
}

// pacedQuestion asks the store for its current revision, for all who want to know at a time, and not again soon: whoever asks for
// what does not exist, however often, costs no more than that.
type pacedQuestion struct {
	ask  func(ctx context.Context) (storage.Revision, error)
	work *generic.Work

	mu   sync.Mutex
	next *futureAnswer // to the question that has not been asked yet; nil: nobody waits
	last time.Time     // when the last one was asked
}

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
		q.work.Run(func(ctx context.Context) { q.put(ctx, a, pause) })
	}
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.rev, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// put asks the question that a is the answer to, after a pause.
func (q *pacedQuestion) put(ctx context.Context, a *futureAnswer, pause time.Duration) {
	defer close(a.done)
	if pause > 0 {
		time.Sleep(pause)
	}
	q.mu.Lock()
	q.next, q.last = nil, time.Now()
	q.mu.Unlock()
	a.rev, a.err = q.ask(ctx)
}
