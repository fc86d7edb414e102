package meta

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/coracle-project/coracle/scheme/field"
)

// StatusError is an error whose answer to the client is known. Its constructors give each failure the reason, code,
// details and message that Kubernetes clients expect.
type StatusError struct{ Status Status }

// Error returns the message of the Status.
func (e *StatusError) Error() string { return e.Status.Message }

// maxMessage bounds the message of a Status, in bytes. Most messages quote what a client has sent.
const maxMessage = 128 << 10

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

// newResourceError is newStatusError about a resource or one of its objects. Error and details are one piece of memory: most
// errors that many clients get at a time are of this sort.
func newResourceError(code int, reason StatusReason, message string, gr GroupResource, name string) *StatusError {
	e := &struct {
		StatusError
		details StatusDetails
	}{*newStatusError(code, reason, message, nil), StatusDetails{Group: Excerpt(gr.Group), Kind: Excerpt(gr.Resource), Name: Excerpt(name)}}
	e.Status.Details = &e.details
	return &e.StatusError
}

// quotedName returns resource "name", the form in which most messages name an object.
func quotedName(gr GroupResource, name string) string {
	return Excerpt(gr.String()) + " " + strconv.Quote(Excerpt(name))
}

// NewNotFound says that an object does not exist.
func NewNotFound(gr GroupResource, name string) *StatusError {
	return newResourceError(http.StatusNotFound, StatusReasonNotFound, quotedName(gr, name)+" not found", gr, name)
}

// NewAlreadyExists says that the name of a new object is taken.
func NewAlreadyExists(gr GroupResource, name string) *StatusError {
	return newResourceError(http.StatusConflict, StatusReasonAlreadyExists, quotedName(gr, name)+" already exists", gr, name)
}

// NewGenerateNameConflict says that no free name was found for a generateName.
func NewGenerateNameConflict(gr GroupResource, name string, retrySeconds int) *StatusError {
	e := NewAlreadyExists(gr, name)
	e.Status.Message += ", the server was not able to generate a unique name for the object"
	e.Status.Details.RetryAfterSeconds = int32(retrySeconds)
	return e
}

// NewConflict says that the object is not in the state that the request expects; err says in which way.
func NewConflict(gr GroupResource, name string, err error) *StatusError {
	message := fmt.Sprintf("Operation cannot be fulfilled on %s: %v", quotedName(gr, name), err)
	return newResourceError(http.StatusConflict, StatusReasonConflict, message, gr, name)
}

// NewApplyConflict says that an apply touches fields of other managers, one cause for each.
func NewApplyConflict(causes []StatusCause, message string) *StatusError {
	return newStatusError(http.StatusConflict, StatusReasonConflict, message, &StatusDetails{Causes: causes})
}

// NewInvalid says that an object was understood and refused, with a cause for each wrong field, as far as they are shown.
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

// NewUnprocessable says that a request was understood and cannot be carried out, where there is no object to blame.
func NewUnprocessable(msg string) *StatusError {
	return newStatusError(http.StatusUnprocessableEntity, StatusReasonInvalid, msg, nil)
}

// NewForbidden says that the user may not do this; err says why.
func NewForbidden(gr GroupResource, name string, err error) *StatusError {
	var space [256]byte
	return NewForbiddenText(gr, name, append(AppendForbidden(space[:0], gr, name), err.Error()...))
}

// NewForbiddenText is NewForbidden with a message that AppendForbidden has begun. The text is copied.
func NewForbiddenText(gr GroupResource, name string, message []byte) *StatusError {
	return newResourceError(http.StatusForbidden, StatusReasonForbidden, string(message), gr, name)
}

// AppendForbidden appends the message of NewForbidden as far as it goes before the reason.
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

// NewBadRequest says that a request was not understood.
func NewBadRequest(msg string) *StatusError {
	return newStatusError(http.StatusBadRequest, StatusReasonBadRequest, msg, nil)
}

// NewUnauthorized says that the user is not known. Without a message there is a general one.
func NewUnauthorized(msg string) *StatusError {
	if msg == "" {
		msg = "not authorized"
	}
	return newStatusError(http.StatusUnauthorized, StatusReasonUnauthorized, msg, nil)
}

// NewMethodNotSupported says that a resource does not have a verb.
func NewMethodNotSupported(gr GroupResource, verb string) *StatusError {
	message := fmt.Sprintf("%s is not supported on resources of kind %q", verb, gr)
	return newResourceError(http.StatusMethodNotAllowed, StatusReasonMethodNotAllowed, message, gr, "")
}

// NewGone says that something was here once.
func NewGone(msg string) *StatusError {
	return newStatusError(http.StatusGone, StatusReasonGone, msg, nil)
}

// NewResourceExpired says that a revision or continue token is too old; the client lists anew.
func NewResourceExpired(msg string) *StatusError {
	return newStatusError(http.StatusGone, StatusReasonExpired, msg, nil)
}

// NewTimeout says that the request took too long. After retrySeconds, if not 0, the client may try again.
func NewTimeout(msg string, retrySeconds int) *StatusError {
	return newStatusError(http.StatusGatewayTimeout, StatusReasonTimeout, "Timeout: "+msg,
		&StatusDetails{RetryAfterSeconds: int32(retrySeconds)})
}

// NewTooLargeResourceVersion says that a read asks for a revision that the server has not seen in time.
func NewTooLargeResourceVersion(requested, current uint64, retrySeconds int) *StatusError {
	e := NewTimeout(fmt.Sprintf("Too large resource version: %d, current: %d", requested, current), retrySeconds)
	e.Status.Details.Causes = []StatusCause{{Type: CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return e
}

// NewServerTimeout says that the server could not do its work in time; the client may try again after retrySeconds.
func NewServerTimeout(gr GroupResource, verb string, retrySeconds int) *StatusError {
	message := fmt.Sprintf("The %s operation against %s could not be completed at this time, please try again.", verb, gr)
	// The verb stands where the name belongs: clients know it there.
	e := newResourceError(http.StatusInternalServerError, StatusReasonServerTimeout, message, gr, verb)
	e.Status.Details.RetryAfterSeconds = int32(retrySeconds)
	return e
}

// NewTooManyRequests says that the client must wait for retrySeconds.
func NewTooManyRequests(msg string, retrySeconds int) *StatusError {
	return newStatusError(http.StatusTooManyRequests, StatusReasonTooManyRequests, msg,
		&StatusDetails{RetryAfterSeconds: int32(retrySeconds)})
}

// NewInternalError says that the server failed through no fault of the client. The text of err is shown to it.
func NewInternalError(err error) *StatusError {
	text := field.Cut(err.Error(), maxMessage)
	return newStatusError(http.StatusInternalServerError, StatusReasonInternalError, "Internal error occurred: "+text,
		&StatusDetails{Causes: []StatusCause{{Message: text}}})
}

// NewUnexplained says that something failed, with no more than a text, as StatusOf has it: where Kubernetes lets a bare error
// through.
func NewUnexplained(msg string) *StatusError {
	return newStatusError(http.StatusInternalServerError, StatusReasonUnknown, msg, nil)
}

// NewStoreReadError says that objects cannot be read from the store, which details name.
func NewStoreReadError(msg string, details *StatusDetails) *StatusError {
	return newStatusError(http.StatusInternalServerError, StatusReasonStoreReadError, msg, details)
}

// NewServiceUnavailable says that a part of the server cannot answer now.
func NewServiceUnavailable(msg string) *StatusError {
	return newStatusError(http.StatusServiceUnavailable, StatusReasonServiceUnavailable, msg, nil)
}

// NewRequestEntityTooLarge says that a body exceeds a limit.
func NewRequestEntityTooLarge(msg string) *StatusError {
	return newStatusError(http.StatusRequestEntityTooLarge, StatusReasonRequestEntityTooLarge, "Request entity too large: "+msg, nil)
}

// NewUnsupportedMediaType says that the server cannot read the media type of a body.
func NewUnsupportedMediaType(msg string) *StatusError {
	return newStatusError(http.StatusUnsupportedMediaType, StatusReasonUnsupportedMediaType, msg, nil)
}

// NewNotAcceptable says that the server cannot write any media type that the client accepts.
func NewNotAcceptable(msg string) *StatusError {
	return newStatusError(http.StatusNotAcceptable, StatusReasonNotAcceptable, msg, nil)
}

// StatusOf returns the answer for an error: the Status it carries, 504 for an expired deadline, and for any other error
// 500 with its text and no reason, as Kubernetes does. For nil it returns nil. The Status must not be changed.
func StatusOf(err error) *Status {
	if err == nil {
		return nil
	}
	if e, ok := err.(*StatusError); ok { // mostly
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

// ReasonFor returns the reason of the Status that an error carries, else StatusReasonUnknown.
func ReasonFor(err error) StatusReason {
	if e := (*StatusError)(nil); errors.As(err, &e) {
		return e.Status.Reason
	}
	return StatusReasonUnknown
}

// is reports whether err carries reason, or no reason at all and code.
func is(err error, reason StatusReason, code int) bool {
	e := (*StatusError)(nil)
	if !errors.As(err, &e) {
		return false
	}
	return e.Status.Reason == reason || (e.Status.Reason == StatusReasonUnknown && code != 0 && e.Status.Code == int32(code))
}

// IsNotFound reports whether err is of this kind, as do the functions below. They see through wrapping.
func IsNotFound(err error) bool { return is(err, StatusReasonNotFound, http.StatusNotFound) }

// IsAlreadyExists is about NewAlreadyExists.
func IsAlreadyExists(err error) bool { return is(err, StatusReasonAlreadyExists, 0) }

// IsConflict is about NewConflict and NewApplyConflict.
func IsConflict(err error) bool { return is(err, StatusReasonConflict, http.StatusConflict) }

// IsInvalid is about NewInvalid.
func IsInvalid(err error) bool { return is(err, StatusReasonInvalid, http.StatusUnprocessableEntity) }

// IsForbidden is about NewForbidden.
func IsForbidden(err error) bool { return is(err, StatusReasonForbidden, http.StatusForbidden) }

// IsBadRequest is about NewBadRequest.
func IsBadRequest(err error) bool { return is(err, StatusReasonBadRequest, http.StatusBadRequest) }

// IsUnauthorized is about NewUnauthorized.
func IsUnauthorized(err error) bool {
	return is(err, StatusReasonUnauthorized, http.StatusUnauthorized)
}

// IsMethodNotSupported is about NewMethodNotSupported.
func IsMethodNotSupported(err error) bool {
	return is(err, StatusReasonMethodNotAllowed, http.StatusMethodNotAllowed)
}

// IsGone is about NewGone.
func IsGone(err error) bool { return is(err, StatusReasonGone, http.StatusGone) }

// IsResourceExpired is about NewResourceExpired.
func IsResourceExpired(err error) bool { return is(err, StatusReasonExpired, 0) }

// IsTimeout is about NewTimeout.
func IsTimeout(err error) bool { return is(err, StatusReasonTimeout, http.StatusGatewayTimeout) }

// IsServerTimeout is about NewServerTimeout.
func IsServerTimeout(err error) bool { return is(err, StatusReasonServerTimeout, 0) }

// IsTooManyRequests is about NewTooManyRequests.
func IsTooManyRequests(err error) bool {
	return is(err, StatusReasonTooManyRequests, http.StatusTooManyRequests)
}

// IsInternalError is about NewInternalError.
func IsInternalError(err error) bool {
	return is(err, StatusReasonInternalError, http.StatusInternalServerError)
}

// IsServiceUnavailable is about NewServiceUnavailable.
func IsServiceUnavailable(err error) bool {
	return is(err, StatusReasonServiceUnavailable, http.StatusServiceUnavailable)
}

// IsRequestEntityTooLarge is about NewRequestEntityTooLarge.
func IsRequestEntityTooLarge(err error) bool {
	return is(err, StatusReasonRequestEntityTooLarge, http.StatusRequestEntityTooLarge)
}

// IsUnsupportedMediaType is about NewUnsupportedMediaType.
func IsUnsupportedMediaType(err error) bool {
	return is(err, StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
}

// IsNotAcceptable is about NewNotAcceptable.
func IsNotAcceptable(err error) bool {
	return is(err, StatusReasonNotAcceptable, http.StatusNotAcceptable)
}
