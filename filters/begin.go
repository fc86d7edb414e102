package filters

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meta"
)

// exchange is what one request allocates on its way to the handler, in one piece. It is not pooled: contexts are
// kept by goroutines that outlive the request, and a reused one would tell them of a stranger's.
type exchange struct {
	request.Context
	info       request.Info
	response   response
	body       body
	compressor compressor
	judge      *judge              // nil until authorized
	running    *series             // counts the request among the long ones being served; nil if it is none
	latency    time.Duration       // see took
	auditID    [1]string           // the value of the Audit-ID header
	id         [meta.UUIDSize]byte // that value, if the client sent none
	seat       Seat                // lets the request run; nil if it has none
}

type exchangeKey struct{}

// Value adds the exchange itself to the values of the request's context.
func (x *exchange) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return x
	}
	return x.Context.Value(key)
}

// of returns the exchange that Begin made for r.
func of(r *http.Request) *exchange {
	ctx := r.Context()
	if x, ok := ctx.(*exchange); ok {
		return x
	}
	return ctx.Value(exchangeKey{}).(*exchange)
}

// took is how long a request that has been served took. The first who asks reads the clock.
func (x *exchange) took() time.Duration {
	if x.latency == 0 {
		x.latency = time.Since(x.info.Received)
	}
	return x.latency
}

// Begin opens the books on a request: it notes when it came and makes the Info, the context and the
// writer that all other filters use. The request gets an audit id, the client's own if it sent one,
// which goes back in the answer. It is also the one way out of the chain, for answers and for
// panics: behind it nobody waits long for the request's body; see body.leave. Order: outermost.
// Cost: two allocations, of exchange and request.
func Begin() Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				grow(r.Method)
			}
			x := new(exchange)
			x.info.Received = time.Now()
			x.info.UserAgent = request.Header(r.Header, "User-Agent")
			x.info.AuditID = request.Header(r.Header, "Audit-Id")
			if x.info.AuditID == "" {
				newID(&x.id)
				x.info.AuditID = alias.String(x.id[:])
			}
			x.auditID[0] = x.info.AuditID
			w.Header()["Audit-Id"] = x.auditID[:]
			x.Start(r.Context(), &x.info)
			defer x.End()
			r = r.WithContext(x)
			x.response.start(w, x)
			x.body.start(w, r)
			panicked := true
			defer func() { x.body.leave(&x.response, panicked) }()
			next(&x.response, r)
			panicked = false
		}
	}
}

var _ context.Context = (*exchange)(nil)

// How much stack a request takes on its way to the store and back, in bytes: one that reads, and one that writes, which is
// decoded and checked.
const (
	readStack  = 5 << 10
	writeStack = 12 << 10
)

// grow makes room on the stack for the whole of a request. By HTTP/2 each has a fresh goroutine with a small stack, and to
// let that grow later on, where all frames that are there have to be adjusted, costs several times as much as here.
func grow(method string) {
	if method == http.MethodGet {
		growToRead(false)
	} else {
		growToWrite(false)
	}
}

// The room for a function's frame is made when it is called. So nobody has to touch it.

//go:noinline
func growToRead(touch bool) {
	if touch {
		var room [readStack]byte
		use(room[:])
	}
}

//go:noinline
func growToWrite(touch bool) {
	if touch {
		var room [writeStack]byte
		use(room[:])
	}
}

//go:noinline
func use([]byte) {}

// newID makes a random UUID. The generator of math/rand/v2 is seeded by the system and cannot be predicted from its
// output.
func newID(id *[meta.UUIDSize]byte) {
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(random[8:], rand.Uint64())
	meta.PutUUID(id, random)
}
