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

// exchange is everything that one request allocates on its way to the handler, in one allocation.
// It is not pooled: goroutines that outlive the request may still hold its context, and would see
// the values of another request in a reused one.
type exchange struct {
	request.Context
	info       request.Info
	response   response
	body       body
	compressor compressor
	rights     *rightsAuthorizer   // nil until authorized
	longSeries *series             // the long-running request is counted in it as being served; nil if it is short
	latency    time.Duration       // set by took
	auditID    [1]string           // the value of the Audit-ID header
	id         [meta.UUIDSize]byte // the generated audit id, if the client sent none
	seat       Seat                // what the request holds of a Gate; nil if nothing
}

// exchangeKey is the key of the exchange in the request's context.
type exchangeKey struct{}

// Value implements context.Context. It adds the exchange itself to the values of request.Context.
func (x *exchange) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return x
	}
	return x.Context.Value(key)
}

// exchangeOf returns the exchange that Begin made for r.
func exchangeOf(r *http.Request) *exchange {
	ctx := r.Context()
	if x, ok := ctx.(*exchange); ok {
		return x
	}
	return ctx.Value(exchangeKey{}).(*exchange)
}

// took returns how long the request took from its arrival to the first call of took, which filters
// make after the handler has returned. So all of them report the same latency.
func (x *exchange) took() time.Duration {
	if x.latency == 0 {
		x.latency = time.Since(x.info.Received)
	}
	return x.latency
}

// Begin makes the exchange of a request: its Info, its context and its ResponseWriter, which all
// other filters use. It sets the audit id, to the client's own if it sent one, and sends it back in
// Audit-ID. All responses and all panics leave the chain through Begin, so it also makes sure that
// net/http does not wait long for the rest of the request's body; see body.leave.
// Order: outermost. Cost: two allocations, for the exchange and the copied http.Request.
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

// The stack that a request needs on its way to the store and back, in bytes: readStack for a read,
// writeStack for a write, which is also decoded and validated. They are measured (stack_test.go).
const (
	readStack  = 5 << 10
	writeStack = 12 << 10
)

// grow makes the goroutine's stack large enough for the whole request. net/http serves each HTTP/2
// request in a new goroutine with a small stack. Growing it later, when many frames have to be
// copied and adjusted, costs several times as much as growing it here.
func grow(method string) {
	if method == http.MethodGet {
		growForRead(false)
	} else {
		growForWrite(false)
	}
}

// The runtime grows the stack when a function with a large frame is called, even if the function
// does not use the frame.

// growForRead has a frame of readStack bytes.
//
//go:noinline
func growForRead(touch bool) {
	if touch {
		var room [readStack]byte
		keepFrame(room[:])
	}
}

// growForWrite has a frame of writeStack bytes.
//
//go:noinline
func growForWrite(touch bool) {
	if touch {
		var room [writeStack]byte
		keepFrame(room[:])
	}
}

// keepFrame keeps the compiler from removing the frame's array.
//
//go:noinline
func keepFrame([]byte) {}

// newID makes a random UUID. math/rand/v2's generator is seeded by the operating system and its
// output cannot be predicted.
func newID(id *[meta.UUIDSize]byte) {
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(random[8:], rand.Uint64())
	meta.PutUUID(id, random)
}
