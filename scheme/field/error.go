// Package field describes validation errors of single fields of an object, in the words that
// Kubernetes clients know.
//
// Words: a Path names a field, an Error says what is wrong with it, and an ErrorList collects the
// errors of one object, so that a user learns of all mistakes at once.
//
// Laws:
//   - Messages are part of the API: tools and people match on them. They are those of
//     kube-apiserver's field errors.
//   - A client may send an object with a million mistakes, or one in a value of megabytes. So the
//     number of errors that are collected and shown is bounded, and the text of each (bounds.go).
//     An object that a person wrote stays below the bounds.
//
// All functions may be called at once. A list belongs to its caller.
//
// Not here: which values are valid (names, meta and the kinds decide that), and how a list of
// errors becomes a Status (meta.NewInvalid).
//
// Read: path.go, error.go, bounds.go.
package field

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// ErrorType is the class of an error: the reason of a cause in a Status.
type ErrorType string

// The error types.
const (
	ErrorTypeNotFound     ErrorType = "FieldValueNotFound"
	ErrorTypeRequired     ErrorType = "FieldValueRequired"
	ErrorTypeDuplicate    ErrorType = "FieldValueDuplicate"
	ErrorTypeInvalid      ErrorType = "FieldValueInvalid"
	ErrorTypeNotSupported ErrorType = "FieldValueNotSupported"
	ErrorTypeForbidden    ErrorType = "FieldValueForbidden"
	ErrorTypeTooLong      ErrorType = "FieldValueTooLong"
	ErrorTypeTooMany      ErrorType = "FieldValueTooMany"
	ErrorTypeInternal     ErrorType = "InternalError"
	ErrorTypeTypeInvalid  ErrorType = "FieldValueTypeInvalid"
)

// typeText has the words with which messages of each type begin.
var typeText = map[ErrorType]string{
	ErrorTypeNotFound:     "Not found",
	ErrorTypeRequired:     "Required value",
	ErrorTypeDuplicate:    "Duplicate value",
	ErrorTypeInvalid:      "Invalid value",
	ErrorTypeNotSupported: "Unsupported value",
	ErrorTypeForbidden:    "Forbidden",
	ErrorTypeTooLong:      "Too long",
	ErrorTypeTooMany:      "Too many",
	ErrorTypeInternal:     "Internal error",
	ErrorTypeTypeInvalid:  "Invalid value",
}

// String returns the words that open a message of this type.
func (t ErrorType) String() string {
	if s, ok := typeText[t]; ok {
		return s
	}
	return fmt.Sprintf("<unknown error %q>", string(t))
}

// Error is one mistake in one field.
type Error struct {
	Type  ErrorType
	Field string // the text of the path
	// BadValue is the wrong value, or Omit if the message must not show it.
	BadValue any
	Detail   string
}

// valueOmitted stands for a value that is too long to be shown.
const valueOmitted = "<value omitted>"

// Omit as a BadValue leaves the value out of the message.
type Omit struct{}

// Error returns the path and the message: "spec.replicas: Invalid value: -1: must be ...".
func (e *Error) Error() string { return e.Field + ": " + e.Body() }

// Body returns the message without the path; it is what a cause in a Status carries. Long values
// and details are cut.
func (e *Error) Body() string {
	var b strings.Builder
	b.WriteString(e.Type.String())
	switch e.Type {
	case ErrorTypeRequired, ErrorTypeForbidden, ErrorTypeTooLong, ErrorTypeInternal:
		// These never show the value.
	default:
		if _, omit := e.BadValue.(Omit); !omit {
			b.WriteString(": ")
			b.WriteString(valueText(e.BadValue))
		}
	}
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(Cut(e.Detail, MaxText))
	}
	return b.String()
}

// valueText returns a value as messages show it: a string quoted by Go's rules, a number or boolean
// plain, any other value as JSON. The JSON of a string behind a pointer escapes other characters
// than Go does. A value that JSON cannot express is formatted by %#v. A long string is cut. Any
// other value that is too long, or refuses to be encoded, is replaced by valueOmitted.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(Cut(v, MaxText))
	case bool, int32, int64, float32, float64:
		return fmt.Sprint(v)
	case *string:
		if v != nil {
			return jsonText(Cut(*v, MaxText))
		}
	}
	if room := MaxText; !fits(reflect.ValueOf(v), &room) {
		return valueOmitted
	}
	return jsonText(v)
}

// jsonText returns a value as JSON, see valueText.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if refused := (*json.MarshalerError)(nil); errors.As(err, &refused) {
		return valueOmitted
	}
	if err != nil {
		return fmt.Sprintf("%#v", v)
	}
	return string(text)
}

// Required says that a field must not be empty.
func Required(p *Path, detail string) *Error {
	return &Error{ErrorTypeRequired, p.String(), "", detail}
}

// Invalid says that a value is malformed.
func Invalid(p *Path, value any, detail string) *Error {
	return &Error{ErrorTypeInvalid, p.String(), value, detail}
}

// TypeInvalid says that a value has the wrong type.
func TypeInvalid(p *Path, value any, detail string) *Error {
	return &Error{ErrorTypeTypeInvalid, p.String(), value, detail}
}

// NotSupported says that a value is not in the closed set valid. The message lists valid in its
// order; callers sort it if it has no order of its own. An empty set adds no detail.
func NotSupported[V ~string](p *Path, value any, valid []V) *Error {
	detail := ""
	if len(valid) > 0 {
		quoted := make([]string, len(valid))
		for i, v := range valid {
			quoted[i] = strconv.Quote(string(v))
		}
		detail = "supported values: " + strings.Join(quoted, ", ")
	}
	return &Error{ErrorTypeNotSupported, p.String(), value, detail}
}

// Duplicate says that a value must be unique and is not.
func Duplicate(p *Path, value any) *Error {
	return &Error{ErrorTypeDuplicate, p.String(), value, ""}
}

// Forbidden says that a field may not be set or changed here.
func Forbidden(p *Path, detail string) *Error {
	return &Error{ErrorTypeForbidden, p.String(), "", detail}
}

// TooLong says that a value has more than limit bytes. The message does not show the value. A
// negative limit is left out.
func TooLong(p *Path, _ any, limit int) *Error {
	detail := "value is too long"
	if limit >= 0 {
		unit := "bytes"
		if limit == 1 {
			unit = "byte"
		}
		detail = fmt.Sprintf("may not be more than %d %s", limit, unit)
	}
	return &Error{ErrorTypeTooLong, p.String(), valueOmitted, detail}
}

// TooMany says that a list or map has got elements, which is more than limit. A negative limit or
// got is left out.
func TooMany(p *Path, got, limit int) *Error {
	detail := "has too many items"
	if limit >= 0 {
		unit := "items"
		if limit == 1 {
			unit = "item"
		}
		detail = fmt.Sprintf("must have at most %d %s", limit, unit)
	}
	var value any = Omit{}
	if got >= 0 {
		value = got
	}
	return &Error{ErrorTypeTooMany, p.String(), value, detail}
}

// NotFound says that the thing to which the value refers does not exist.
func NotFound(p *Path, value any) *Error {
	return &Error{ErrorTypeNotFound, p.String(), value, ""}
}

// InternalError says that the check of the field failed, and the user did not cause that.
func InternalError(p *Path, err error) *Error {
	return &Error{ErrorTypeInternal, p.String(), err, err.Error()}
}

// ErrorList holds the errors of one object, in the order in which they were found.
type ErrorList []*Error

// Shown is an error as a Status shows it, in a cause.
type Shown struct {
	Type  ErrorType
	Field string
	Body  string
}

// Show returns the list as a Status shows it: single for its causes, and text for its message, in
// which each message occurs once. If the list is longer than the bounds allow, the last entry says
// how many more errors there are at least.
func (l ErrorList) Show() (single []Shown, text string) {
	single = make([]Shown, 0, min(len(l), MaxErrors+1))
	seen := make(map[string]bool, cap(single))
	var texts []string
	size := 0
	for i, e := range l {
		if i == MaxErrors || size > maxList {
			more := fmt.Sprintf("and at least %d more", len(l)-i)
			single, texts = append(single, Shown{Body: more}), append(texts, more)
			break
		}
		s := Shown{e.Type, e.Field, e.Body()}
		single = append(single, s)
		size += len(s.Field) + len(s.Body)
		if t := s.Field + ": " + s.Body; !seen[t] {
			seen[t] = true
			texts = append(texts, t)
		}
	}
	if len(texts) == 1 {
		return single, texts[0]
	}
	return single, "[" + strings.Join(texts, ", ") + "]"
}

// ToAggregate returns the list as one error, nil if it is empty. errors.Is and errors.As see each
// *Error in it.
func (l ErrorList) ToAggregate() error {
	if len(l) == 0 {
		return nil
	}
	return aggregate(l)
}

// Filter returns the errors for which drop does not report true.
func (l ErrorList) Filter(drop func(*Error) bool) ErrorList {
	var kept ErrorList
	for _, e := range l {
		if !drop(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// aggregate is an ErrorList as an error.
type aggregate ErrorList

// Error returns a single message as it is, several messages in brackets.
func (a aggregate) Error() string {
	_, text := ErrorList(a).Show()
	return text
}

// Unwrap returns the single errors.
func (a aggregate) Unwrap() []error {
	errs := make([]error, len(a))
	for i, e := range a {
		errs[i] = e
	}
	return errs
}
