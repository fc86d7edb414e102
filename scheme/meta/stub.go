package meta

import (
	"errors"

	"github.com/coracle-project/coracle/scheme/field"
)

type StatusError struct{ Status Status }

func (e *StatusError) Error() string { return e.Status.Message }

func NewNotFound(gr GroupResource, name string) *StatusError                  { return &StatusError{} }
func NewAlreadyExists(gr GroupResource, name string) *StatusError             { return &StatusError{} }
func NewConflict(gr GroupResource, name string, err error) *StatusError       { return &StatusError{} }
func NewInvalid(gk GroupKind, name string, errs field.ErrorList) *StatusError { return &StatusError{} }
func NewForbidden(gr GroupResource, name string, err error) *StatusError      { return &StatusError{} }
func NewBadRequest(msg string) *StatusError                                   { return &StatusError{} }
func NewUnauthorized(msg string) *StatusError                                 { return &StatusError{} }
func NewMethodNotSupported(gr GroupResource, verb string) *StatusError        { return &StatusError{} }
func NewGone(msg string) *StatusError                                         { return &StatusError{} }
func NewResourceExpired(msg string) *StatusError                              { return &StatusError{} }
func NewTimeout(msg string, retrySeconds int) *StatusError                    { return &StatusError{} }
func NewServerTimeout(gr GroupResource, verb string, retrySeconds int) *StatusError {
	return &StatusError{}
}
func NewTooManyRequests(msg string, retrySeconds int) *StatusError { return &StatusError{} }
func NewInternalError(err error) *StatusError                      { return &StatusError{} }
func NewServiceUnavailable(msg string) *StatusError                { return &StatusError{} }
func NewRequestEntityTooLarge(msg string) *StatusError             { return &StatusError{} }
func NewUnsupportedMediaType(msg string) *StatusError              { return &StatusError{} }
func NewNotAcceptable(msg string) *StatusError                     { return &StatusError{} }
func NewGenericServerResponse(code int, verb string, gr GroupResource, name, serverMessage string, retrySeconds int) *StatusError {
	return &StatusError{}
}
func ReasonFor(err error) StatusReason {
	if s := (*StatusError)(nil); errors.As(err, &s) {
		return s.Status.Reason
	}
	return ""
}
func StatusOf(err error) *Status { return &Status{} }

func IsNotFound(err error) bool              { return false }
func IsAlreadyExists(err error) bool         { return false }
func IsConflict(err error) bool              { return false }
func IsInvalid(err error) bool               { return false }
func IsForbidden(err error) bool             { return false }
func IsBadRequest(err error) bool            { return false }
func IsUnauthorized(err error) bool          { return false }
func IsMethodNotSupported(err error) bool    { return false }
func IsGone(err error) bool                  { return false }
func IsResourceExpired(err error) bool       { return false }
func IsTimeout(err error) bool               { return false }
func IsServerTimeout(err error) bool         { return false }
func IsTooManyRequests(err error) bool       { return false }
func IsInternalError(err error) bool         { return false }
func IsServiceUnavailable(err error) bool    { return false }
func IsRequestEntityTooLarge(err error) bool { return false }
func IsUnsupportedMediaType(err error) bool  { return false }
func IsNotAcceptable(err error) bool         { return false }

func ValidateObjectMeta(m *ObjectMeta, requiresNamespace bool, nameFn func(name string, prefix bool) []string, path *field.Path) field.ErrorList {
	return nil
}
func ValidateObjectMetaUpdate(new, old *ObjectMeta, path *field.Path) field.ErrorList     { return nil }
func ValidateLabels(labels map[string]string, path *field.Path) field.ErrorList           { return nil }
func ValidateAnnotations(annotations map[string]string, path *field.Path) field.ErrorList { return nil }
func ValidateFinalizers(finalizers []string, path *field.Path) field.ErrorList            { return nil }
func ValidateOwnerReferences(refs []OwnerReference, path *field.Path) field.ErrorList     { return nil }
func ValidateLabelSelector(s *LabelSelector, path *field.Path) field.ErrorList            { return nil }
func ValidateListOptions(o *ListOptions) field.ErrorList                                  { return nil }
func ValidateDeleteOptions(o *DeleteOptions) field.ErrorList                              { return nil }
func ValidateCreateOptions(o *CreateOptions) field.ErrorList                              { return nil }
func ValidateUpdateOptions(o *UpdateOptions) field.ErrorList                              { return nil }
func ValidatePatchOptions(o *PatchOptions, apply bool) field.ErrorList                    { return nil }
func ValidateTableOptions(o *TableOptions) field.ErrorList                                { return nil }
