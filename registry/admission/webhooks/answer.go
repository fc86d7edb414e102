package webhooks

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file reads the answers of hooks. The texts of errors are those of kube-apiserver.

// AdmissionReview has the fields of an answer that the server reads. Its name is part of the texts
// of errors.
type AdmissionReview struct {
	meta.TypeMeta `json:",inline"`
	// Response is what the hook answers.
	Response *AdmissionResponse `json:"response,omitempty"`
}

// AdmissionResponse is what a hook answers. Its name is part of the texts of errors.
type AdmissionResponse struct {
	// UID is that of the review.
	UID meta.UID `json:"uid"`
	// Allowed says whether the write may pass.
	Allowed bool `json:"allowed"`
	// Result says why not.
	Result *meta.Status `json:"status,omitempty"`
	// Patch is how the hook changes the object.
	Patch []byte `json:"patch,omitempty"`
	// PatchType is JSONPatch.
	PatchType *string `json:"patchType,omitempty"`
	// AuditAnnotations are for the audit record of the request.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	// Warnings are for the client.
	Warnings []string `json:"warnings,omitempty"`
}

// jsonPatch is the only type of patches.
const jsonPatch = "JSONPatch"

// decodeAnswer decodes an answer to a review of a version.
func decodeAnswer(data []byte, version string) (*AdmissionReview, error) {
	if len(data) == 0 {
		return nil, errors.New("0-length response with status code: 200 and content type: application/json")
	}
	want := meta.GroupVersionKind{Group: reviewGroup, Version: version, Kind: reviewKind}
	switch got, err := codec.Interpret(data, data, want); {
	case err != nil:
		return nil, err
	case got == want:
	case got.Group == reviewGroup && got.Kind == reviewKind && (got.Version == reviewV1 || got.Version == reviewBeta):
		return nil, fmt.Errorf("converting (%s.AdmissionReview) to (%s.AdmissionReview): unknown conversion",
			got.Version, version)
	case got == meta.GroupVersionKind{Version: "v1", Kind: "Status"}: // a kind that every group has
		return nil, fmt.Errorf("converting (v1.Status) to (%s.AdmissionReview): unknown conversion", version)
	default:
		return nil, fmt.Errorf("no kind %q is registered for version %q", meta.Excerpt(got.Kind),
			meta.Excerpt(got.GroupVersion().String()))
	}
	r := new(AdmissionReview)
	if err := codec.DecodeJSON(data, r); err != nil {
		return nil, err
	}
	return r, nil
}

// verify checks an answer as a whole, and sets its PatchType if there is a patch. mutates says that
// the hook may patch.
func verify(r *AdmissionReview, version string, uid meta.UID, mutates bool) (*AdmissionResponse, error) {
	answer := r.Response
	if answer == nil {
		return nil, errors.New("webhook response was absent")
	}
	if version == reviewBeta { // hooks of the old version have never been held to more
		if answer.PatchType = nil; len(answer.Patch) > 0 {
			answer.PatchType = new(string(jsonPatch))
		}
		return answer, nil
	}
	want := meta.GroupVersionKind{Group: reviewGroup, Version: version, Kind: reviewKind}
	patched, typed := len(answer.Patch) > 0, answer.PatchType != nil
	switch {
	case answer.UID != uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, meta.Excerpt(string(answer.UID)))
	case r.GroupVersionKind() != want:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, r.GroupVersionKind())
	case !mutates && patched:
		return nil, errors.New("validating webhook may not return response.patch")
	case !mutates && typed:
		return nil, errors.New("validating webhook may not return response.patchType")
	case patched && !typed:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case !patched && typed:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	case typed && *answer.PatchType == "":
		return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", "")
	}
	return answer, nil
}

// maxCode is the largest HTTP status that can be sent.
const maxCode = 999

// refusal returns the error for a write that a hook refuses. It has the code, reason and details of
// the hook, unless they say that nothing is wrong.
func refusal(hook string, result *meta.Status) *meta.StatusError {
	s := meta.Status{}
	if result != nil {
		s = *result
	}
	switch {
	case s.Code < http.StatusBadRequest:
		s.Code = http.StatusBadRequest
	case s.Code > maxCode:
		s.Code = http.StatusInternalServerError
	}
	if s.Status == "" || s.Status == meta.StatusSuccess {
		s.Status = meta.StatusFailure
	}
	why := cmp.Or(s.Message, string(s.Reason))
	s.Message = fmt.Sprintf("admission webhook %q denied the request", hook)
	if why == "" {
		s.Message += " without explanation"
	} else {
		s.Message += ": " + why
	}
	return &meta.StatusError{Status: s}
}

// appendAs returns the JSON of an object with a kind that its type meta does not say.
func appendAs(obj meta.Typed, gvk meta.GroupVersionKind) ([]byte, error) {
	named := scheme.Copy(obj)
	named.GetTypeMeta().SetGroupVersionKind(gvk)
	return codec.AppendJSON(nil, named)
}
