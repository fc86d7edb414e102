package webhooks

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decodes and checks the answers of hooks. Its error texts are kube-apiserver's.

// AdmissionReview has the fields of an answer that the server reads. The type has the name of
// Kubernetes' type, because errors about an answer that cannot be decoded contain it.
type AdmissionReview struct {
	meta.TypeMeta `json:",inline"`
	// Response is the hook's decision; nil is an error.
	Response *AdmissionResponse `json:"response,omitempty"`
}

// AdmissionResponse is the decision of a hook about a write. The type has the name of Kubernetes'
// type, because errors about an answer that cannot be decoded contain it.
type AdmissionResponse struct {
	// UID must be the UID of the review.
	UID meta.UID `json:"uid"`
	// Allowed says whether the write may pass.
	Allowed bool `json:"allowed"`
	// Result says why the write may not pass; nil: the hook gives no reason.
	Result *meta.Status `json:"status,omitempty"`
	// Patch is a JSON patch (RFC 6902) for the object. Only mutating hooks may return one.
	Patch []byte `json:"patch,omitempty"`
	// PatchType must be JSONPatch if there is a patch, and nil otherwise.
	PatchType *string `json:"patchType,omitempty"`
	// AuditAnnotations go into the audit record of the request. The server puts the hook's name
	// before each key.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	// Warnings are sent to the client.
	Warnings []string `json:"warnings,omitempty"`
}

// jsonPatch is the only type of patch that a hook may return.
const jsonPatch = "JSONPatch"

// decodeAnswer decodes the answer to a review of the version. The answer must be an AdmissionReview
// of the same version.
func decodeAnswer(data []byte, version string) (*AdmissionReview, error) {
	if len(data) == 0 {
		return nil, errors.New("0-length response with status code: 200 and content type: application/json")
	}
	want := meta.GroupVersionKind{Group: reviewGroup, Version: version, Kind: reviewKind}
	r := new(AdmissionReview)
	decodeErr := codec.DecodeJSON(data, r)
	if decodeErr == nil && r.GroupVersionKind() == want {
		return r, nil
	}
	// Interpret gives the errors of kube-apiserver, and takes several times as long.
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
	if decodeErr != nil {
		return nil, decodeErr
	}
	return r, nil
}

// verify checks that r answers the review with this version and UID, and returns its response.
// mutates says that the hook may return a patch. Only answers of v1 are checked; in an answer of
// v1beta1, verify sets PatchType.
func verify(r *AdmissionReview, version string, uid meta.UID, mutates bool) (*AdmissionResponse, error) {
	answer := r.Response
	if answer == nil {
		return nil, errors.New("webhook response was absent")
	}
	if version == reviewBeta { // Kubernetes checks nothing else in v1beta1
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

// maxCode is the largest HTTP status that net/http sends.
const maxCode = 999

// refusal returns the error for a write that a hook refuses. The error is the hook's Status with
// another message. A code below 400 becomes 400, and a code above maxCode becomes 500.
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
