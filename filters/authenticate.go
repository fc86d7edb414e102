package filters

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authenticate finds out who sends a request and turns away those that nobody knows with 401. The reason is logged and
// not told. metrics may be nil. The credentials are taken off the request, so that nobody behind can pass them on.
// Order: before everything that depends on the user. Cost: that of who, two readings of the clock, and no
// allocation.
func Authenticate(who request.Authenticator, metrics *Metrics, log *zap.Logger, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			began := time.Since(x.info.Received)
			user, err := who.Authenticate(r)
			metrics.authenticated(user, err, time.Since(x.info.Received)-began)
			if err != nil || user == nil {
				logStranger(log, r, err)
				fail(w, r, meta.NewUnauthorized("Unauthorized"))
				return
			}
			x.info.User = user
			delete(r.Header, "Authorization")
			next(w, r)
		}
	}
}

// logStranger says why nobody knows who sends r. It is a function of its own for the sake of the filter's frame, as are
// the rare cases of other filters.
func logStranger(log *zap.Logger, r *http.Request, err error) {
	if line := log.Check(zap.DebugLevel, "request not authenticated"); line != nil {
		line.Write(zap.Error(err), zap.String("source", r.RemoteAddr), zap.String("audit-id", of(r).info.AuditID))
	}
}
