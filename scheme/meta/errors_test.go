package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/field"
)

func TestStatusErrors(t *testing.T) {
	deployments := GroupResource{"apps", "deployments"}
	configmaps := GroupResource{"", "configmaps"}
	p := field.NewPath("spec")
	for _, tt := range []struct {
		err  *StatusError
		want string // without kind, apiVersion, metadata and status
	}{
		{NewNotFound(deployments, "a"), `{"message":"deployments.apps \"a\" not found","reason":"NotFound","details":{"name":"a","group":"apps","kind":"deployments"},"code":404}`},
		{NewAlreadyExists(configmaps, "a"), `{"message":"configmaps \"a\" already exists","reason":"AlreadyExists","details":{"name":"a","kind":"configmaps"},"code":409}`},
		{NewGenerateNameConflict(configmaps, "a", 1), `{"message":"configmaps \"a\" already exists, the server was not able to generate a unique name for the object","reason":"AlreadyExists","details":{"name":"a","kind":"configmaps","retryAfterSeconds":1},"code":409}`},
		{NewConflict(configmaps, "a", errors.New("x")), `{"message":"Operation cannot be fulfilled on configmaps \"a\": x","reason":"Conflict","details":{"name":"a","kind":"configmaps"},"code":409}`},
		{NewInvalid(GroupKind{"apps", "Deployment"}, "n", field.ErrorList{field.Required(p, ""), field.Required(p, ""), field.Invalid(p, 1, "b")}),
			`{"message":"Deployment.apps \"n\" is invalid: [spec: Required value, spec: Invalid value: 1: b]","reason":"Invalid","details":{"name":"n","group":"apps","kind":"Deployment","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec"},{"reason":"FieldValueRequired","message":"Required value","field":"spec"},{"reason":"FieldValueInvalid","message":"Invalid value: 1: b","field":"spec"}]},"code":422}`},
		{NewInvalid(GroupKind{}, "", field.ErrorList{field.Required(nil, "")}), `{"message":" \"\" is invalid: \u003cnil\u003e: Required value","reason":"Invalid","details":{"causes":[{"reason":"FieldValueRequired","message":"Required value","field":"\u003cnil\u003e"}]},"code":422}`},
		{NewForbidden(deployments, "a", errors.New("no")), `{"message":"deployments.apps \"a\" is forbidden: no","reason":"Forbidden","details":{"name":"a","group":"apps","kind":"deployments"},"code":403}`},
		{NewForbidden(deployments, "", errors.New("no")), `{"message":"deployments.apps is forbidden: no","reason":"Forbidden","details":{"group":"apps","kind":"deployments"},"code":403}`},
		{NewForbidden(GroupResource{}, "", errors.New("no")), `{"message":"forbidden: no","reason":"Forbidden","details":{},"code":403}`},
		{NewBadRequest("m"), `{"message":"m","reason":"BadRequest","code":400}`},
		{NewUnauthorized(""), `{"message":"not authorized","reason":"Unauthorized","code":401}`},
		{NewMethodNotSupported(configmaps, "get"), `{"message":"get is not supported on resources of kind \"configmaps\"","reason":"MethodNotAllowed","details":{"kind":"configmaps"},"code":405}`},
		{NewGone("m"), `{"message":"m","reason":"Gone","code":410}`},
		{NewResourceExpired("m"), `{"message":"m","reason":"Expired","code":410}`},
		{NewTimeout("m", 3), `{"message":"Timeout: m","reason":"Timeout","details":{"retryAfterSeconds":3},"code":504}`},
		{NewTooLargeResourceVersion(9, 5, 1), `{"message":"Timeout: Too large resource version: 9, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`},
		{NewServerTimeout(configmaps, "get", 2), `{"message":"The get operation against configmaps could not be completed at this time, please try again.","reason":"ServerTimeout","details":{"name":"get","kind":"configmaps","retryAfterSeconds":2},"code":500}`},
		{NewTooManyRequests("m", 4), `{"message":"m","reason":"TooManyRequests","details":{"retryAfterSeconds":4},"code":429}`},
		{NewInternalError(errors.New("x")), `{"message":"Internal error occurred: x","reason":"InternalError","details":{"causes":[{"message":"x"}]},"code":500}`},
		{NewServiceUnavailable("m"), `{"message":"m","reason":"ServiceUnavailable","code":503}`},
		{NewRequestEntityTooLarge("m"), `{"message":"Request entity too large: m","reason":"RequestEntityTooLarge","code":413}`},
		{NewUnsupportedMediaType("m"), `{"message":"m","reason":"UnsupportedMediaType","code":415}`},
		{NewNotAcceptable("m"), `{"message":"m","reason":"NotAcceptable","code":406}`},
		{NewApplyConflict(nil, "m"), `{"message":"m","reason":"Conflict","details":{},"code":409}`},
	} {
		s := tt.err.Status
		got, err := json.Marshal(struct {
			Message string         `json:"message"`
			Reason  StatusReason   `json:"reason,omitempty"`
			Details *StatusDetails `json:"details,omitempty"`
			Code    int32          `json:"code"`
		}{s.Message, s.Reason, s.Details, s.Code})
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
		if s.Kind != "Status" || s.APIVersion != "v1" || s.Status != StatusFailure {
			t.Errorf("%s: got kind %q, version %q, status %q", s.Message, s.Kind, s.APIVersion, s.Status)
		}
		if tt.err.Error() != s.Message || ReasonFor(tt.err) != s.Reason {
			t.Errorf("%s: error or reason differs from the status", s.Message)
		}
	}
}

func TestStatusOf(t *testing.T) {
	wrapped := fmt.Errorf("while reading: %w", NewNotFound(GroupResource{"", "pods"}, "a"))
	for _, tt := range []struct {
		err     error
		code    int32
		reason  StatusReason
		message string
	}{
		{wrapped, 404, StatusReasonNotFound, `pods "a" not found`},
		{errors.New("x"), 500, StatusReasonUnknown, "x"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), 504, StatusReasonTimeout,
			"Timeout: request did not complete within requested timeout - context deadline exceeded"},
	} {
		got := StatusOf(tt.err)
		if got.Code != tt.code || got.Reason != tt.reason || got.Message != tt.message {
			t.Errorf("StatusOf(%v): got %d %s %q, want %d %s %q", tt.err, got.Code, got.Reason, got.Message, tt.code, tt.reason, tt.message)
		}
	}
	if got := StatusOf(nil); got != nil {
		t.Errorf("StatusOf(nil): got %v", got)
	}
}

func TestPredicates(t *testing.T) {
	gr := GroupResource{"", "pods"}
	x := errors.New("x")
	predicates := map[string]func(error) bool{
		"NotFound": IsNotFound, "AlreadyExists": IsAlreadyExists, "Conflict": IsConflict, "Invalid": IsInvalid,
		"Forbidden": IsForbidden, "BadRequest": IsBadRequest, "Unauthorized": IsUnauthorized, "MethodNotAllowed": IsMethodNotSupported,
		"Gone": IsGone, "Expired": IsResourceExpired, "Timeout": IsTimeout, "ServerTimeout": IsServerTimeout,
		"TooManyRequests": IsTooManyRequests, "InternalError": IsInternalError, "ServiceUnavailable": IsServiceUnavailable,
		"RequestEntityTooLarge": IsRequestEntityTooLarge, "UnsupportedMediaType": IsUnsupportedMediaType, "NotAcceptable": IsNotAcceptable,
	}
	for _, e := range []*StatusError{
		NewNotFound(gr, "a"), NewAlreadyExists(gr, "a"), NewConflict(gr, "a", x), NewInvalid(GroupKind{}, "", nil), NewForbidden(gr, "a", x),
		NewBadRequest(""), NewUnauthorized(""), NewMethodNotSupported(gr, "get"), NewGone(""), NewResourceExpired(""), NewTimeout("", 0),
		NewServerTimeout(gr, "get", 0), NewTooManyRequests("", 0), NewInternalError(x), NewServiceUnavailable(""),
		NewRequestEntityTooLarge(""), NewUnsupportedMediaType(""), NewNotAcceptable(""),
	} {
		for reason, is := range predicates {
			if got, want := is(fmt.Errorf("wrapped: %w", e)), string(e.Status.Reason) == reason; got != want {
				t.Errorf("Is%s of %s: got %v, want %v", reason, e.Status.Reason, got, want)
			}
		}
	}
	if IsNotFound(nil) || IsNotFound(x) {
		t.Error("IsNotFound holds for an error without a status")
	}
	if !IsNotFound(&StatusError{Status{Code: 404}}) {
		t.Error("IsNotFound does not look at the code where there is no reason")
	}
}
