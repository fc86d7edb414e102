package webhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file calls one hook: it sends the review, checks the answer, and reports the call to the
// client, the audit record and the metrics. mutate.go and validate.go call ask, tell and observe in
// this order.

// failure says that a hook could not be called or gave no proper answer. The failure policy of the
// hook then decides whether the write passes.
type failure struct {
	hook     string
	reason   error
	code     int  // the HTTP status of the failure, for metrics
	canceled bool // the client has gone
}

// Error returns the text that kube-apiserver uses.
func (f *failure) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", f.hook, f.reason)
}

// Unwrap returns the reason.
func (f *failure) Unwrap() error { return f.reason }

func (h *hook) failed(code int, format string, args ...any) *failure {
	return &failure{hook: h.name, code: code, reason: fmt.Errorf(format, args...)}
}

// question is a write as one hook sees it. view must be encoded, and options are the options of the
// write as JSON.
type question struct {
	a       *admission.Attributes
	target  matching.Target
	view    *view
	options []byte
}

// span begins the span of a call of a hook, with Kubernetes' name and attributes.
func (c *caller) span(ctx context.Context, h *hook, a *admission.Attributes) (context.Context, request.Span) {
	kind, name := request.SpanMutatingWebhook, "Call mutating webhook"
	if c.validates {
		kind, name = request.SpanValidatingWebhook, "Call validating webhook"
	}
	ctx, span := request.Begin(ctx, kind, name)
	span.Note("webhook", h.name)
	span.Note("configuration", h.configuration)
	span.Note("resource", a.Resource.Resource)
	span.Note("subresource", a.Subresource)
	span.Note("operation", string(a.Operation))
	return ctx, span
}

// ask asks a hook and returns its answer, which may be a refusal. The error is a *failure, or a
// *meta.StatusError if the hook cannot be asked about a dry run.
func (c *caller) ask(ctx context.Context, h *hook, q *question) (*AdmissionResponse, error) {
	if q.a.DryRun {
		if err := h.checkDryRun(); err != nil {
			return nil, err
		}
	}
	if h.review == "" {
		return nil, h.failed(http.StatusBadRequest, "could not create admission objects: "+
			"webhook does not accept known AdmissionReview versions (v1, v1beta1)")
	}
	if h.clientErr != nil {
		return nil, h.failed(http.StatusInternalServerError, "could not get REST client: %w", h.clientErr)
	}
	if h.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.timeout)
		defer cancel()
	}
	uid := registry.NewUID()
	room := make([]byte, 0, len(q.view.json)+len(q.view.oldJSON)+len(q.options)+1024)
	data, err := h.client.Post(ctx, appendReview(room, h.review, uid, q.a, &q.target, q.view, q.options))
	if err != nil {
		return nil, h.unanswered(err)
	}
	review, err := decodeAnswer(data, h.review)
	if err != nil {
		return nil, h.failed(http.StatusServiceUnavailable, "failed to call webhook: %w", err)
	}
	answer, err := verify(review, h.review, uid, !c.validates)
	if err != nil {
		return nil, h.failed(http.StatusServiceUnavailable, "received invalid webhook response: %w", err)
	}
	return answer, nil
}

// checkDryRun returns the error for a dry run if the hook may have side effects.
func (h *hook) checkDryRun() error {
	switch {
	case h.sideEffects == nil:
		return h.failed(http.StatusBadRequest, "%w", errSideEffects)
	case *h.sideEffects == v1.SideEffectClassNone || *h.sideEffects == v1.SideEffectClassNoneOnDryRun:
		return nil
	}
	return meta.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.name))
}

//lint:ignore ST1005 clients know kube-apiserver's wording
var errSideEffects = errors.New("Webhook SideEffects is nil")

// unanswered returns the failure of a hook whose client returned err.
func (h *hook) unanswered(err error) *failure {
	f := h.failed(http.StatusServiceUnavailable, "failed to call webhook: %w", err)
	if e := (*callout.Error)(nil); errors.As(err, &e) {
		f = h.failed(http.StatusServiceUnavailable, "failed to call webhook: %s", e.Wording())
		f.canceled = e.Kind == callout.Canceled
		if e.Kind == callout.Refused {
			f.code = e.Status
		}
	}
	return f
}

// tell passes the warnings of an answer to the client, and its audit annotations to the audit
// record. It drops annotations whose keys are invalid.
func (h *hook) tell(a *admission.Attributes, answer *AdmissionResponse) {
	for _, key := range slices.Sorted(maps.Keys(answer.AuditAnnotations)) {
		full := h.name + "/" + key
		if strings.Count(full, "/") == 1 && len(names.IsQualifiedName(full)) == 0 {
			a.Annotate(full, answer.AuditAnnotations[key])
		}
	}
	for _, text := range answer.Warnings {
		a.Warn(text)
	}
}

// observe reports a call to the Observer. refused says that err is the hook's refusal.
func (c *caller) observe(h *hook, op admission.Operation, took time.Duration, err error, refused bool) {
	if c.means.Observer.Called == nil {
		return
	}
	call := Call{Webhook: h.name, Validates: c.validates, Operation: op, Took: took, Code: http.StatusOK, Err: err}
	f := (*failure)(nil)
	switch {
	case err == nil:
	case refused:
		call.Outcome, call.Code = Refused, int(meta.StatusOf(err).Code)
	case errors.As(err, &f):
		call.Outcome, call.Code, call.Canceled = FailedClose, f.code, f.canceled
		if h.failsOpen {
			call.Outcome = FailedOpen
		}
	default:
		call.Outcome, call.Code = Broken, 0
	}
	c.means.Observer.Called(call)
}
