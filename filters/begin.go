package filters

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/router/request"
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
	attributes request.Attributes
	auditID    [1]string     // the value of the Audit-ID header
	place      *atomic.Int64 // counts the request among those in flight; nil while it has no place
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

// Begin opens the books on a request: it notes when it came and makes the Info, the context and the writer that all
// other filters use. The request gets an audit id, the client's own if it sent one, which goes back in the answer. A
// handler that leaves without an answer has its body settled here; see body.
// Order: outermost. Cost: three allocations, of exchange, request and id.
func Begin() Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				grow()
			}
			x := new(exchange)
			x.info.Received = time.Now()
			x.info.UserAgent = r.UserAgent()
			x.info.AuditID = r.Header.Get("Audit-Id")
			if x.info.AuditID == "" {
				x.info.AuditID = newID()
			}
			x.auditID[0] = x.info.AuditID
			w.Header()["Audit-Id"] = x.auditID[:]
			x.Start(r.Context(), &x.info)
			defer x.End()
			r = r.WithContext(x)
			x.response.start(w, x)
			x.body.start(w, r)
			next.ServeHTTP(&x.response, r)
			if !x.response.begun {
				x.body.settle()
			}
		})
	}
}

var _ context.Context = (*exchange)(nil)

// chainStack is about how much stack a request takes on its way through the chain, in bytes.
const chainStack = 5 << 10

// grow makes room on the stack for the whole chain. By HTTP/2 each request has a fresh goroutine with a small stack, and to
// let that grow down in the chain, where all frames have to be adjusted, costs several times as much as here.
//
//go:noinline
func grow() {
	var room [chainStack]byte
	use(&room)
}

// use keeps what it is given from being left out.
//
//go:noinline
func use(*[chainStack]byte) {}

// newID returns a random UUID. The generator of math/rand/v2 is seeded by the system and cannot be predicted from its
// output.
func newID() string {
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(random[8:], rand.Uint64())
	return meta.UUID(random)
}
