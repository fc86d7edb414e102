package filters

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Authorize asks whether the user may do what the request wants, and answers 403 if not, or 500 if that cannot be
// found out. It knows nothing of what exists, so a stranger cannot tell an unknown resource from a forbidden one.
// Order: last before the handler; a request that came to wait or to be changed is judged as it will be served. Cost:
// that of may, and no allocation. What a handler finds out to be another verb as well, such as an update that creates, it asks
// about by the Rights of the request's Info.
func Authorize(may request.Authorizer, metrics *Metrics, log *zap.Logger, fail ErrorWriter) Filter {
	j := &judge{may, log}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			x.judge, x.info.Rights = j, x
			began := time.Since(x.info.Received)
			decision, reason, err := may.Authorize(r.Context(), &x.info.Attributes)
			metrics.authorized(decision, err, time.Since(x.info.Received)-began)
			x.info.Judged(decision, reason, err)
			if err := x.judged(&x.info.Attributes, decision, reason, err); err != nil {
				fail(w, r, err)
				return
			}
			next(w, r)
		}
	}
}

// judge is what exchanges that are authorized share.
type judge struct {
	may request.Authorizer
	log *zap.Logger
}

// May implements request.Rights. The error is a 500 if it cannot be found out.
func (x *exchange) May(ctx context.Context, verb string) error {
	a := x.info.Attributes
	a.Verb = verb
	decision, reason, err := x.judge.may.Authorize(ctx, &a)
	return x.judged(&a, decision, reason, err)
}

// judged returns what the user is told of a decision; nil if it allows.
func (x *exchange) judged(a *request.Attributes, decision request.Decision, reason string, err error) error {
	switch {
	case decision == request.Allow:
		return nil
	case err != nil:
		x.judge.log.Warn("authorization failed", zap.Error(err), zap.String("audit-id", x.info.AuditID))
		return meta.NewInternalError(err)
	}
	x.response.Header()["X-Content-Type-Options"] = noSniff
	return Forbidden(a, reason)
}

// noSniff is shared by all answers, full, so that adding to it makes a copy.
var noSniff = []string{"nosniff"}

// Forbidden returns the error that tells a user what they may not do. reason may be empty.
func Forbidden(a *request.Attributes, reason string) error {
	var space [384]byte // more than the usual message
	gr := meta.GroupResource{Group: a.Group, Resource: a.Resource}
	text := meta.AppendForbidden(space[:0], gr, a.Name)
	begin := len(text)
	text = harmless(appendForbidden(text, a), begin)
	if reason != "" {
		text = append(append(text, ": "...), reason...)
	}
	return meta.NewForbiddenText(gr, a.Name, text)
}

// harmless takes from text, from begin on, the meaning that it has for browsers that take it for HTML.
func harmless(text []byte, begin int) []byte {
	i := bytes.IndexAny(text[begin:], "&<>")
	if i < 0 {
		return text
	}
	begin += i
	marked := string(text[begin:])
	text = text[:begin]
	for i := range len(marked) {
		switch c := marked[i]; c {
		case '&':
			text = append(text, "&amp;"...)
		case '<':
			text = append(text, "&lt;"...)
		case '>':
			text = append(text, "&gt;"...)
		default:
			text = append(text, c)
		}
	}
	return text
}

// appendForbidden appends the message before its markup is made harmless.
func appendForbidden(text []byte, a *request.Attributes) []byte {
	user := ""
	if a.User != nil {
		user = a.User.Name
	}
	text = appendQuoted(text, "User ", user)
	text = append(append(text, " cannot "...), meta.Excerpt(a.Verb)...)
	if !a.IsResource {
		return appendQuoted(text, " path ", a.Path)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource = meta.Excerpt(resource) + "/" + a.Subresource
	}
	text = appendQuoted(text, " resource ", resource)
	text = appendQuoted(text, " in API group ", a.Group)
	if a.Namespace == "" {
		return append(text, " at the cluster scope"...)
	}
	return appendQuoted(text, " in the namespace ", a.Namespace)
}

// appendQuoted appends a word and, in quotes, an excerpt of what the client has sent.
func appendQuoted(text []byte, word, sent string) []byte {
	text, sent = append(text, word...), meta.Excerpt(sent)
	for i := range len(sent) {
		if c := sent[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(text, sent)
		}
	}
	return append(append(append(text, '"'), sent...), '"') // as AppendQuote does, in less time
}
