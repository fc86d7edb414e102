package meta

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/coracle-project/coracle/scheme/field"
)

// Errors with a Status: a constructor for each reason of Kubernetes; StatusOf, by which the router
// answers with an error; and the Is functions, by which callers tell errors apart. Messages and
// details are those of Kubernetes.

// StatusError is an error that carries the Status with which the server answers the client. Its
// constructors set the reason, code, details and message that Kubernetes clients expect.
type StatusError struct{ Status Status }

// Error returns the message of the Status.
func (e *StatusError) Error() string { return e.Status.Message }

// maxMessage bounds the message of a Status in bytes, because most messages quote what a client has
// sent.
const maxMessage = 128 << 10

// newStatusError returns a StatusError with a failed Status. It cuts the message.
func newStatusError(code int, reason StatusReason, message string, details *StatusDetails) *StatusError {
	return &StatusError{Status{
		TypeMeta: TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   StatusFailure,
		Code:     int32(code),
		Reason:   reason,
		Message:  field.Cut(message, maxMessage),
		Details:  details,
	}}
}

// newResourceError returns a StatusError about a resource or one of its objects. Error and details
// are one allocation, because the errors that servers return most often are of this form.
func newResourceError(code int, reason StatusReason, message string, gr GroupResource, name string) *StatusError {
	e := &struct {
		StatusError
		details StatusDetails
	}{
		*newStatusError(code, reason, message, nil),
		StatusDetails{Group: Excerpt(gr.Group), Kind: Excerpt(gr.Resource), Name: Excerpt(name)},
	}
	e.Status.Details = &e.details
	return &e.StatusError
}

// quotedName returns resource "name", which is how most messages name an object.
func quotedName(gr GroupResource, name string) string {
	return Excerpt(gr.String()) + " " + strconv.Quote(Excerpt(name))
}

// NewNotFound returns the 404 for an object that does not exist.
func NewNotFound(gr GroupResource, name string) *StatusError {
	return newResourceError(http.StatusNotFound, StatusReasonNotFound, quotedName(gr, name)+" not found", gr, name)
}

// NewAlreadyExists returns the 409 for a new object whose name is taken.
func NewAlreadyExists(gr GroupResource, name string) *StatusError {
	return newResourceError(http.StatusConflict, StatusReasonAlreadyExists,
		quotedName(gr, name)+" already exists", gr, name)
}

// NewGenerateNameConflict returns the 409 for an object with generateName for which no free name
// was found.
func NewGenerateNameConflict(gr GroupResource, name string, retrySeconds int) *StatusError {
	e := NewAlreadyExists(gr, name)
	e.Status.Message += ", the server was not able to generate a unique name for the object"
	e.Status.Details.RetryAfterSeconds = int32(retrySeconds)
	return e
}

// NewConflict returns the 409 for a request that expects another state of the object, such as
// another resourceVersion; err says which.
func NewConflict(gr GroupResource, name string, err error) *StatusError {
	message := fmt.Sprintf("Operation cannot be fulfilled on %s: %v", quotedName(gr, name), err)
	return newResourceError(http.StatusConflict, StatusReasonConflict, message, gr, name)
}

// NewApplyConflict returns the 409 for an apply of fields that other managers own, with one cause
// per field.
func NewApplyConflict(causes []StatusCause, message string) *StatusError {
	return newStatusError(http.StatusConflict, StatusReasonConflict, message, &StatusDetails{Causes: causes})
}

// NewInvalid returns the 422 for an object that fails validation, with one cause per wrong field.
// Long lists of errors are cut (field.ErrorList.Show).
func NewInvalid(gk GroupKind, name string, errs field.ErrorList) *StatusError {
	name = field.Cut(name, field.MaxText)
	details := &StatusDetails{Group: gk.Group, Kind: gk.Kind, Name: name}
	message := gk.String() + " " + strconv.Quote(name) + " is invalid"
	if len(errs) > 0 {
		single, text := errs.Show()
		message += ": " + text
		details.Causes = make([]StatusCause, len(single))
		for i, e := range single {
			details.Causes[i] = StatusCause{Type: CauseType(e.Type), Message: e.Body, Field: e.Field}
		}
	}
	return newStatusError(http.StatusUnprocessableEntity, StatusReasonInvalid, message, details)
}

// NewUnprocessable returns the 422 for a request that cannot be carried out although no object is
// wrong.
func NewUnprocessable(msg string) *StatusError {
	return newStatusError(http.StatusUnprocessableEntity, StatusReasonInvalid, msg, nil)
}

// NewForbidden returns the 403 for an action that the user may not take; err says why.
func NewForbidden(gr GroupResource, name string, err error) *StatusError {
	var space [256]byte
	return NewForbiddenText(gr, name, append(AppendForbidden(space[:0], gr, name), err.Error()...))
}

// NewForbiddenText returns the 403 with a message that AppendForbidden began. message is copied.
func NewForbiddenText(gr GroupResource, name string, message []byte) *StatusError {
	return newResourceError(http.StatusForbidden, StatusReasonForbidden, string(message), gr, name)
}

// AppendForbidden appends to text the message of NewForbidden up to the reason.
func AppendForbidden(text []byte, gr GroupResource, name string) []byte {
	if gr.Resource == "" && gr.Group == "" {
		return append(text, "forbidden: "...)
	}
	text = append(text, Excerpt(gr.String())...)
	if name != "" {
		text = strconv.AppendQuote(append(text, ' '), Excerpt(name))
	}
	return append(text, " is forbidden: "...)
}

// NewBadRequest returns the 400 for a request that the server does not understand.
func NewBadRequest(msg string) *StatusError {
	return newStatusError(http.StatusBadRequest, StatusReasonBadRequest, msg, nil)
}

// NewUnauthorized returns the 401 for a user that is not known. If msg is empty the message is "not
// authorized".
func NewUnauthorized(msg string) *StatusError {
	if msg == "" {
		msg = "not authorized"
	}
	return newStatusError(http.StatusUnauthorized, StatusReasonUnauthorized, msg, nil)
}

// NewMethodNotSupported returns the 405 for a verb that a resource does not have.
func NewMethodNotSupported(gr GroupResource, verb string) *StatusError {
	message := fmt.Sprintf("%s is not supported on resources of kind %q", verb, gr)
	return newResourceError(http.StatusMethodNotAllowed, StatusReasonMethodNotAllowed, message, gr, "")
}

// NewGone returns the 410 for something that existed before.
func NewGone(msg string) *StatusError {
	return newStatusError(http.StatusGone, StatusReasonGone, msg, nil)
}

// NewResourceExpired returns the 410 for a resourceVersion or continue token that is too old;
// clients list again.
func NewResourceExpired(msg string) *StatusError {
	return newStatusError(http.StatusGone, StatusReasonExpired, msg, nil)
}

// NewTimeout returns the 504 for a request that took too long. If retrySeconds is not 0, the client
// may try again after that time.
func NewTimeout(msg string, retrySeconds int) *StatusError {
	return newStatusError(http.StatusGatewayTimeout, StatusReasonTimeout, "Timeout: "+msg,
		&StatusDetails{RetryAfterSeconds: int32(retrySeconds)})
}

// NewTooLargeResourceVersion returns the 504 for a read at a resourceVersion that the server has
// not reached in time.
func NewTooLargeResourceVersion(requested, current uint64, retrySeconds int) *StatusError {
	e := NewTimeout(fmt.Sprintf("Too large resource version: %d, current: %d", requested, current), retrySeconds)
	e.Status.Details.Causes = []StatusCause{{
		Type: CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return e
}

// NewServerTimeout returns the 500 for work that the server could not finish in time. The client
// may try again after retrySeconds.
func NewServerTimeout(gr GroupResource, verb string, retrySeconds int) *StatusError {
	message := fmt.Sprintf(
		"The %s operation against %s could not be completed at this time, please try again.", verb, gr)
	// Kubernetes puts the verb where other errors have the name.
	e := newResourceError(http.StatusInternalServerError, StatusReasonServerTimeout, message, gr, verb)
	e.Status.Details.RetryAfterSeconds = int32(retrySeconds)
	return e
}

// NewTooManyRequests returns the 429 that tells the client to wait for retrySeconds.
func NewTooManyRequests(msg string, retrySeconds int) *StatusError {
	return newStatusError(http.StatusTooManyRequests, StatusReasonTooManyRequests, msg,
		&StatusDetails{RetryAfterSeconds: int32(retrySeconds)})
}

// NewInternalError returns the 500 for a failure of the server. The client sees the text of err.
func NewInternalError(err error) *StatusError {
	text := field.Cut(err.Error(), maxMessage)
	return newStatusError(http.StatusInternalServerError, StatusReasonInternalError, "Internal error occurred: "+text,
		&StatusDetails{Causes: []StatusCause{{Message: text}}})
}

// NewUnexplained returns a 500 without a reason, where Kubernetes passes a bare error through.
// StatusOf returns the same for an error of unknown type.
func NewUnexplained(msg string) *StatusError {
	return newStatusError(http.StatusInternalServerError, StatusReasonUnknown, msg, nil)
}

// NewStoreReadError returns the 500 for objects that cannot be read from the store; details name
// them.
func NewStoreReadError(msg string, details *StatusDetails) *StatusError {
	return newStatusError(http.StatusInternalServerError, StatusReasonStoreReadError, msg, details)
}

// NewServiceUnavailable returns the 503 for a part of the server that cannot answer at this time.
func NewServiceUnavailable(msg string) *StatusError {
	return newStatusError(http.StatusServiceUnavailable, StatusReasonServiceUnavailable, msg, nil)
}

// NewRequestEntityTooLarge returns the 413 for a body that exceeds a limit.
func NewRequestEntityTooLarge(msg string) *StatusError {
	return newStatusError(http.StatusRequestEntityTooLarge, StatusReasonRequestEntityTooLarge,
		"Request entity too large: "+msg, nil)
}

// NewUnsupportedMediaType returns the 415 for a body whose media type the server cannot read.
func NewUnsupportedMediaType(msg string) *StatusError {
	return newStatusError(http.StatusUnsupportedMediaType, StatusReasonUnsupportedMediaType, msg, nil)
}

// NewNotAcceptable returns the 406 for a client that accepts none of the media types that the
// server can write.
func NewNotAcceptable(msg string) *StatusError {
	return newStatusError(http.StatusNotAcceptable, StatusReasonNotAcceptable, msg, nil)
}

// StatusOf returns the Status with which the server answers an error: the one that the error
// carries, 504 for an expired deadline, and for any other error 500 with its text and no reason, as
// Kubernetes does. It returns nil for nil. The Status must not be changed.
func StatusOf(err error) *Status {
	if err == nil {
		return nil
	}
	// The usual case, without reflection.
	if e, ok := err.(*StatusError); ok {
		return &e.Status
	}
	if e := (*StatusError)(nil); errors.As(err, &e) {
		return &e.Status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &NewTimeout("request did not complete within requested timeout - context deadline exceeded", 0).Status
	}
	return &newStatusError(http.StatusInternalServerError, StatusReasonUnknown, err.Error(), nil).Status
}

// ReasonFor returns the reason of the Status that an error carries, StatusReasonUnknown if it
// carries none.
func ReasonFor(err error) StatusReason {
	if e := (*StatusError)(nil); errors.As(err, &e) {
		return e.Status.Reason
	}
	return StatusReasonUnknown
}

// is reports whether err carries the reason or, if it has no reason and code is not 0, the code.
func is(err error, reason StatusReason, code int) bool {
	e := (*StatusError)(nil)
	if !errors.As(err, &e) {
		return false
	}
	return e.Status.Reason == reason ||
		(e.Status.Reason == StatusReasonUnknown && code != 0 && e.Status.Code == int32(code))
}

// IsNotFound reports whether err is, or wraps, an error of NewNotFound, or a Status of its code
// without a reason.
func IsNotFound(err error) bool { return is(err, StatusReasonNotFound, http.StatusNotFound) }

// IsAlreadyExists reports whether err is, or wraps, an error of NewAlreadyExists.
func IsAlreadyExists(err error) bool { return is(err, StatusReasonAlreadyExists, 0) }

// IsConflict reports whether err is, or wraps, an error of NewConflict or NewApplyConflict.
func IsConflict(err error) bool { return is(err, StatusReasonConflict, http.StatusConflict) }

// IsInvalid reports whether err is, or wraps, an error of NewInvalid.
func IsInvalid(err error) bool { return is(err, StatusReasonInvalid, http.StatusUnprocessableEntity) }

// IsForbidden reports whether err is, or wraps, an error of NewForbidden.
func IsForbidden(err error) bool { return is(err, StatusReasonForbidden, http.StatusForbidden) }

// IsBadRequest reports whether err is, or wraps, an error of NewBadRequest.
func IsBadRequest(err error) bool { return is(err, StatusReasonBadRequest, http.StatusBadRequest) }

// IsUnauthorized reports whether err is, or wraps, an error of NewUnauthorized.
func IsUnauthorized(err error) bool {
	return is(err, StatusReasonUnauthorized, http.StatusUnauthorized)
}

// IsMethodNotSupported reports whether err is, or wraps, an error of NewMethodNotSupported.
func IsMethodNotSupported(err error) bool {
	return is(err, StatusReasonMethodNotAllowed, http.StatusMethodNotAllowed)
}

// IsGone reports whether err is, or wraps, an error of NewGone.
func IsGone(err error) bool { return is(err, StatusReasonGone, http.StatusGone) }

// IsResourceExpired reports whether err is, or wraps, an error of NewResourceExpired.
func IsResourceExpired(err error) bool { return is(err, StatusReasonExpired, 0) }

// IsTimeout reports whether err is, or wraps, an error of NewTimeout.
func IsTimeout(err error) bool { return is(err, StatusReasonTimeout, http.StatusGatewayTimeout) }

// IsServerTimeout reports whether err is, or wraps, an error of NewServerTimeout.
func IsServerTimeout(err error) bool { return is(err, StatusReasonServerTimeout, 0) }

// IsTooManyRequests reports whether err is, or wraps, an error of NewTooManyRequests.
func IsTooManyRequests(err error) bool {
	return is(err, StatusReasonTooManyRequests, http.StatusTooManyRequests)
}

// IsInternalError reports whether err is, or wraps, an error of NewInternalError.
func IsInternalError(err error) bool {
	return is(err, StatusReasonInternalError, http.StatusInternalServerError)
}

// IsServiceUnavailable reports whether err is, or wraps, an error of NewServiceUnavailable.
func IsServiceUnavailable(err error) bool {
	return is(err, StatusReasonServiceUnavailable, http.StatusServiceUnavailable)
}

// IsRequestEntityTooLarge reports whether err is, or wraps, an error of NewRequestEntityTooLarge.
func IsRequestEntityTooLarge(err error) bool {
	return is(err, StatusReasonRequestEntityTooLarge, http.StatusRequestEntityTooLarge)
}

// IsUnsupportedMediaType reports whether err is, or wraps, an error of NewUnsupportedMediaType.
func IsUnsupportedMediaType(err error) bool {
	return is(err, StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
}

// IsNotAcceptable reports whether err is, or wraps, an error of NewNotAcceptable.
func IsNotAcceptable(err error) bool {
	return is(err, StatusReasonNotAcceptable, http.StatusNotAcceptable)
}
