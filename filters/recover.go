package filters

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Recover answers a panicking request with 500 and logs the panic with its stack. If the response
// has begun, it aborts the connection instead, so that the client does not take half a response for
// a whole one. http.ErrAbortHandler passes, because handlers panic with it on purpose.
// Order: outside everything that can fail, inside the log, which then sees the 500. Cost: one
// defer.
func Recover(log *zap.Logger, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				reason := recover()
				if reason == nil {
					return
				}
				if reason == http.ErrAbortHandler {
					panic(reason)
				}
				x := exchangeOf(r)
				log.Error("request panicked", zap.String("panic", fmt.Sprint(reason)), zap.String("method", r.Method),
					zap.String("path", r.URL.Path),
					zap.String("audit-id", x.info.AuditID), zap.ByteString("stack", debug.Stack()))
				if x.response.begun {
					panic(http.ErrAbortHandler)
				}
				fail(w, r, &meta.StatusError{Status: meta.Status{
					Status:  "Failure",
					Code:    http.StatusInternalServerError,
					Reason:  "InternalError",
					Message: "This request caused apiserver to panic. Look in the logs for details.",
				}})
			}()
			next(w, r)
		}
	}
}
