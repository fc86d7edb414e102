package filters

import (
	"errors"
	"net/http"
	"strconv"
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
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			x.attributes.From(&x.info)
			decision, reason, err := may.Authorize(r.Context(), &x.attributes)
			if decision == request.Allow {
				next(w, r)
				return
			}
			fail(w, r, refusal(x, w, log, reason, err))
		}
	}
}

// refusal is the error of what is not allowed; err says why that could not be found out.
func refusal(x *exchange, w http.ResponseWriter, log *zap.Logger, reason string, err error) error {
	if err != nil {
		log.Warn("authorization failed", zap.Error(err), zap.String("audit-id", x.info.AuditID))
		return meta.NewInternalError(err)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return Forbidden(&x.attributes, reason)
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

// forbiddenText is the message before its markup is made harmless.
func forbiddenText(a *request.Attributes) string {
	user := ""
	if a.User != nil {
		user = a.User.Name
	}
	text := appendQuoted(make([]byte, 0, 192), "User ", user)
	text = append(append(text, " cannot "...), meta.Excerpt(a.Verb)...)
	if !a.IsResource {
		return string(appendQuoted(text, " path ", a.Path))
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource = meta.Excerpt(resource) + "/" + a.Subresource
	}
	text = appendQuoted(text, " resource ", resource)
	text = appendQuoted(text, " in API group ", a.Group)
	if a.Namespace == "" {
		return string(append(text, " at the cluster scope"...))
	}
	return string(appendQuoted(text, " in the namespace ", a.Namespace))
}

// appendQuoted appends a word and, in quotes, an excerpt of what the client has sent.
func appendQuoted(text []byte, word, sent string) []byte {
	return strconv.AppendQuote(append(text, word...), meta.Excerpt(sent))
}
