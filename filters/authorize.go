package filters

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authorize asks whether the user may do what the request wants, and answers 403 if not, or 500 if that cannot be
// found out. It knows nothing of what exists, so a stranger cannot tell an unknown resource from a forbidden one.
// Order: last before the handler; a request that came to wait or to be changed is judged as it will be served. Cost:
// that of may, and no allocation.
func Authorize(may request.Authorizer, log *zap.Logger, fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			x.attributes.From(&x.info)
			decision, reason, err := may.Authorize(r.Context(), &x.attributes)
			switch {
			case decision == request.Allow:
				next.ServeHTTP(w, r)
			case err != nil:
				log.Warn("authorization failed", zap.Error(err), zap.String("audit-id", x.info.AuditID))
				fail(w, r, meta.NewInternalError(err))
			default:
				w.Header().Set("X-Content-Type-Options", "nosniff")
				fail(w, r, Forbidden(&x.attributes, reason))
			}
		})
	}
}

// Forbidden returns the error that tells a user what they may not do. reason may be empty.
func Forbidden(a *request.Attributes, reason string) error {
	text := markup.Replace(forbiddenText(a))
	if reason != "" {
		text += ": " + reason
	}
	return meta.NewForbidden(meta.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(text))
}

// markup makes text harmless for browsers that take it for HTML.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func forbiddenText(a *request.Attributes) string {
	user := ""
	if a.User != nil {
		user = meta.Excerpt(a.User.Name)
	}
	verb := meta.Excerpt(a.Verb)
	if !a.IsResource {
		return fmt.Sprintf("User %q cannot %s path %q", user, verb, meta.Excerpt(a.Path))
	}
	resource, group := meta.Excerpt(a.Resource), meta.Excerpt(a.Group)
	if a.Subresource != "" {
		resource += "/" + meta.Excerpt(a.Subresource)
	}
	if a.Namespace != "" {
		return fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q", user, verb, resource, group, meta.Excerpt(a.Namespace))
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q at the cluster scope", user, verb, resource, group)
}
