package meta

// Status is the answer to a request that returns no object, above all to one that failed.
type Status struct {
	TypeMeta `json:",inline"`
	// ListMeta is the metadata of the answer.
	ListMeta `json:"metadata,omitempty" pb:"1"`
	// Status is Success or Failure.
	Status string `json:"status,omitempty" pb:"2"`
	// Message says for people what happened.
	Message string `json:"message,omitempty" pb:"3"`
	// Reason says for programs why the request failed. It refines the HTTP code and never
	// contradicts it. If empty, no more is known than the code.
	Reason StatusReason `json:"reason,omitempty" pb:"4"`
	// Details has more about the failure, depending on the reason.
	Details *StatusDetails `json:"details,omitempty" pb:"5"`
	// Code is the HTTP code, 0 if there is none to suggest.
	Code int32 `json:"code,omitempty" pb:"6"`
}

// StatusDetails says what a Status is about. Which fields are set depends on the reason.
type StatusDetails struct {
	// Name is the name of the object in question, where a single one is.
	Name string `json:"name,omitempty" pb:"1"`
	// Group is the API group of the object in question.
	Group string `json:"group,omitempty" pb:"2"`
	// Kind is the resource in question, or for some reasons the kind of the object.
	Kind string `json:"kind,omitempty" pb:"3"`
	// UID is the UID of the object in question, where a single one is.
	UID UID `json:"uid,omitempty" pb:"6"`
	// Causes are the single mistakes, where the reason allows for several.
	Causes []StatusCause `json:"causes,omitempty" pb:"4" list:"atomic"`
	// RetryAfterSeconds, if not 0, is how long to wait before trying again, in seconds.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty" pb:"5"`
}

// StatusCause is one of the mistakes that made a request fail.
type StatusCause struct {
	// Reason says for programs what is wrong. If empty, nothing is known.
	Type CauseType `json:"reason,omitempty" pb:"1"`
	// Message says for people what is wrong.
	Message string `json:"message,omitempty" pb:"2"`
	// Field is the path of the wrong field, in the form in which JSON would name it: "name",
	// "items[0].name". It may be a parent of the field, or empty.
	Field string `json:"field,omitempty" pb:"3"`
}

// Values of Status.Status.
const (
	StatusSuccess = "Success"
	StatusFailure = "Failure"
)

// StatusReason says why a request failed.
type StatusReason string

// The reasons of a Status. Each goes with one HTTP code; see the constructor of StatusError that
// uses it.
const (
	StatusReasonUnknown               StatusReason = ""
	StatusReasonUnauthorized          StatusReason = "Unauthorized"
	StatusReasonForbidden             StatusReason = "Forbidden"
	StatusReasonNotFound              StatusReason = "NotFound"
	StatusReasonAlreadyExists         StatusReason = "AlreadyExists"
	StatusReasonConflict              StatusReason = "Conflict"
	StatusReasonGone                  StatusReason = "Gone"
	StatusReasonInvalid               StatusReason = "Invalid"
	StatusReasonServerTimeout         StatusReason = "ServerTimeout"
	StatusReasonStoreReadError        StatusReason = "StorageReadError"
	StatusReasonTimeout               StatusReason = "Timeout"
	StatusReasonTooManyRequests       StatusReason = "TooManyRequests"
	StatusReasonBadRequest            StatusReason = "BadRequest"
	StatusReasonMethodNotAllowed      StatusReason = "MethodNotAllowed"
	StatusReasonNotAcceptable         StatusReason = "NotAcceptable"
	StatusReasonRequestEntityTooLarge StatusReason = "RequestEntityTooLarge"
	StatusReasonUnsupportedMediaType  StatusReason = "UnsupportedMediaType"
	StatusReasonInternalError         StatusReason = "InternalError"
	StatusReasonExpired               StatusReason = "Expired"
	StatusReasonServiceUnavailable    StatusReason = "ServiceUnavailable"
)

// CauseType says what is wrong with a field or a request.
type CauseType string

// The types of a StatusCause. Those of fields are the error types of package field.
const (
	CauseTypeFieldValueNotFound       CauseType = "FieldValueNotFound"
	CauseTypeFieldValueRequired       CauseType = "FieldValueRequired"
	CauseTypeFieldValueDuplicate      CauseType = "FieldValueDuplicate"
	CauseTypeFieldValueInvalid        CauseType = "FieldValueInvalid"
	CauseTypeFieldValueNotSupported   CauseType = "FieldValueNotSupported"
	CauseTypeForbidden                CauseType = "FieldValueForbidden"
	CauseTypeTooLong                  CauseType = "FieldValueTooLong"
	CauseTypeTooMany                  CauseType = "FieldValueTooMany"
	CauseTypeInternal                 CauseType = "InternalError"
	CauseTypeTypeInvalid              CauseType = "FieldValueTypeInvalid"
	CauseTypeUnexpectedServerResponse CauseType = "UnexpectedServerResponse"
	CauseTypeFieldManagerConflict     CauseType = "FieldManagerConflict"
	CauseTypeResourceVersionTooLarge  CauseType = "ResourceVersionTooLarge"
)

// Condition is one aspect of the state of an object. Objects keep conditions in a list by type.
type Condition struct {
	// Type names the aspect, in CamelCase or as example.com/CamelCase.
	Type string `json:"type" pb:"1"`
	// Status is True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// ObservedGeneration is the metadata.generation from which the condition was found. If it is
	// older than the current one, so is the condition.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"3"`
	// LastTransitionTime is when the status last changed, or if that is not known when the
	// condition was found.
	LastTransitionTime Time `json:"lastTransitionTime" pb:"4"`
	// Reason says for programs why the status is as it is, in one CamelCase word.
	Reason string `json:"reason" pb:"5"`
	// Message says for people why the status is as it is. It may be empty.
	Message string `json:"message" pb:"6"`
}

// ConditionStatus is the state of a Condition.
type ConditionStatus string

// The states of a Condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)
