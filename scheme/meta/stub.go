package meta

import (
	"errors"
	"time"

	"github.com/coracle-project/coracle/scheme/field"
)

// UID is the identity of an object over its whole life.
type UID string

type Time struct{ time.Time }

func Now() Time                              { return Time{} }
func (t Time) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *Time) UnmarshalJSON(b []byte) error { return nil }
func (t Time) AppendProto(b []byte) []byte   { return b }
func (t *Time) ParseProto(b []byte) error    { return nil }

type MicroTime struct{ time.Time }

func NowMicro() MicroTime                         { return MicroTime{} }
func (t MicroTime) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *MicroTime) UnmarshalJSON(b []byte) error { return nil }
func (t MicroTime) AppendProto(b []byte) []byte   { return b }
func (t *MicroTime) ParseProto(b []byte) error    { return nil }

type Duration struct{ time.Duration }

func (t Duration) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *Duration) UnmarshalJSON(b []byte) error { return nil }
func (t Duration) AppendProto(b []byte) []byte   { return b }
func (t *Duration) ParseProto(b []byte) error    { return nil }

type FieldsV1 struct{ Raw []byte }

func (t FieldsV1) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *FieldsV1) UnmarshalJSON(b []byte) error { return nil }
func (t FieldsV1) AppendProto(b []byte) []byte   { return b }
func (t *FieldsV1) ParseProto(b []byte) error    { return nil }

type RawExtension struct{ Raw []byte }

func (t RawExtension) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *RawExtension) UnmarshalJSON(b []byte) error { return nil }
func (t RawExtension) AppendProto(b []byte) []byte   { return b }
func (t *RawExtension) ParseProto(b []byte) error    { return nil }

type IntOrStringType int64

const (
	IntType    IntOrStringType = 0
	StringType IntOrStringType = 1
)

type IntOrString struct {
	Type   IntOrStringType
	IntVal int32
	StrVal string
}

func FromInt32(v int32) IntOrString                 { return IntOrString{} }
func FromString(s string) IntOrString               { return IntOrString{} }
func (t IntOrString) String() string                { return "" }
func (t IntOrString) MarshalJSON() ([]byte, error)  { return nil, nil }
func (t *IntOrString) UnmarshalJSON(b []byte) error { return nil }
func (t IntOrString) AppendProto(b []byte) []byte   { return b }
func (t *IntOrString) ParseProto(b []byte) error    { return nil }

type Format uint8

const (
	DecimalSI Format = iota
	BinarySI
	DecimalExponent
)

type Quantity struct{ text string }

func ParseQuantity(s string) (Quantity, error)    { return Quantity{}, nil }
func MustParse(s string) Quantity                 { return Quantity{} }
func NewQuantity(v int64, f Format) Quantity      { return Quantity{} }
func NewMilliQuantity(v int64, f Format) Quantity { return Quantity{} }
func (q Quantity) String() string                 { return "" }
func (q Quantity) Cmp(o Quantity) int             { return 0 }
func (q Quantity) Sign() int                      { return 0 }
func (q Quantity) IsZero() bool                   { return true }
func (q Quantity) Add(o Quantity) Quantity        { return q }
func (q Quantity) Sub(o Quantity) Quantity        { return q }
func (q Quantity) Neg() Quantity                  { return q }
func (q Quantity) AsInt64() (int64, bool)         { return 0, false }
func (q Quantity) Value() int64                   { return 0 }
func (q Quantity) MilliValue() int64              { return 0 }
func (q Quantity) AsApproximateFloat64() float64  { return 0 }
func (q Quantity) Format() Format                 { return 0 }
func (q Quantity) MarshalJSON() ([]byte, error)   { return nil, nil }
func (q *Quantity) UnmarshalJSON(b []byte) error  { return nil }
func (q Quantity) AppendProto(b []byte) []byte    { return b }
func (q *Quantity) ParseProto(b []byte) error     { return nil }

// Lookup finds a label or field by name without allocating.
type Lookup interface {
	Get(key string) (string, bool)
}

// Set is a map of labels or fields.
type Set map[string]string

// Get returns the value at key.
func (s Set) Get(key string) (string, bool) { v, ok := s[key]; return v, ok }

type LabelRequirements []LabelRequirement
type LabelRequirement struct{ key string }

func ParseLabels(s string) (LabelRequirements, error)          { return nil, nil }
func SelectorFrom(s *LabelSelector) (LabelRequirements, error) { return nil, nil }
func (r LabelRequirements) Matches(l Lookup) bool              { return true }
func (r LabelRequirements) Empty() bool                        { return len(r) == 0 }
func (r LabelRequirements) String() string                     { return "" }

type FieldRequirements []FieldRequirement
type FieldRequirement struct{ key string }

func ParseFields(s string) (FieldRequirements, error)             { return nil, nil }
func (r FieldRequirements) Matches(l Lookup) bool                 { return true }
func (r FieldRequirements) Empty() bool                           { return len(r) == 0 }
func (r FieldRequirements) String() string                        { return "" }
func (r FieldRequirements) RequiresExact(f string) (string, bool) { return "", false }
func (r FieldRequirements) Transform(fn func(label, value string) (string, string, error)) (FieldRequirements, error) {
	return r, nil
}

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
