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

// Of several servers on one store, one may be asked for a resource whose definition another server
// has told of, and which it does not know yet. The end of the delegation chain then waits until
// this server knows what the store knows, and looks once more.

// chainEnd is the end of the delegation chain, behind the server of definitions.
type chainEnd struct {
	*Definitions
	before Before
	again  *router.Director // of the server of definitions, with the method none behind it
	ask    *pacedQuestion   // nil: there is no other server
}

// ServeHTTP implements http.Handler.
func (e *chainEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	looks := e.ask != nil && e.host.Store(customResourceDefinitions) != nil
	if looks && info != nil && info.IsResource && strings.Contains(info.Group, ".") && e.defined(r.Context(), info) {
		e.again.ServeHTTP(w, r)
		return
	}
	e.none(w, r)
}

// none answers a request that no link of the chain knows: with a Status inside the groups of the
// links before, and in that of definitions, else with a plain 404.
func (e *chainEnd) none(w http.ResponseWriter, r *http.Request) {
	group, known := e.on.Discovery.GroupOf(r.URL.Path, request.From(r.Context()))
	if known && (e.before(group) || group == customResourceDefinitions.Group) {
		router.WriteError(w, r, router.ErrNotFound())
		return
	}
	router.NotFound(w, r)
}

// longestLook is how long a request for an unknown resource waits for what the store knows.
const longestLook = 3 * time.Second

// defined reports whether the store had a definition of the resource of a request at some time
// after the call. The resource is served by then, if it is to be served at all.
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

// pacedQuestion asks the store for its current revision: once for all who want to know it at the
// same time, and never more often than every askEvery. This bounds what requests cost for resources
// that do not exist.
type pacedQuestion struct {
	ask  func(ctx context.Context) (storage.Revision, error)
	host generic.Host

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
		q.host.Go(func(ctx context.Context) { q.put(ctx, a, pause) })
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
