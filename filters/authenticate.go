package filters

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authenticate finds out who sends a request and turns away those that nobody knows with 401. The reason is logged and
// not told. The credentials are taken off the request, so that nobody behind can pass them on.
// Order: before everything that depends on the user. Cost: that of who, and no allocation.
func Authenticate(who request.Authenticator, log *zap.Logger, fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			user, err := who.Authenticate(r)
			if err != nil || user == nil {
				if line := log.Check(zap.DebugLevel, "request not authenticated"); line != nil {
					line.Write(zap.Error(err), zap.String("source", r.RemoteAddr), zap.String("audit-id", x.info.AuditID))
				}
				fail(w, r, meta.NewUnauthorized("Unauthorized"))
				return
			}
			x.info.User = user
			delete(r.Header, "Authorization")
			next.ServeHTTP(w, r)
		})
	}
}
