package webhooks

import (
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file writes reviews as JSON, with the fields of Kubernetes' type AdmissionReview in their
// order. It copies the encoded objects of the view.

const (
	reviewGroup = "admission.k8s.io"
	reviewKind  = "AdmissionReview"
	reviewV1    = "v1"
	reviewBeta  = "v1beta1" // has the same fields; less is checked in its answers
)

// reviewVersion returns the first version of AdmissionReview in a list that the server knows, or
// "".
func reviewVersion(list []string) string {
	if i := slices.IndexFunc(list, func(v string) bool { return v == reviewV1 || v == reviewBeta }); i >= 0 {
		return list[i]
	}
	return ""
}

// appendReview appends the review of the write a for a hook that sees it as the target t. v is the
// view for t and must be encoded. options are the options of the write as JSON.
func appendReview(
	b []byte, version string, uid meta.UID, a *admission.Attributes, t *matching.Target, v *view, options []byte,
) []byte {
	b = append(b, `{"kind":"AdmissionReview","apiVersion":"`+reviewGroup+`/`...)
	b = append(append(b, version...), `","request":{"uid":`...)
	b = quote(b, string(uid))
	b = appendKind(append(b, `,"kind":`...), t.Kind)
	b = appendResource(append(b, `,"resource":`...), t.Resource)
	b = appendText(b, "subResource", t.Subresource)
	b = appendKind(append(b, `,"requestKind":`...), a.Kind)
	b = appendResource(append(b, `,"requestResource":`...), a.Resource)
	b = appendText(b, "requestSubResource", a.Subresource)
	b = appendText(b, "name", a.Name)
	b = appendText(b, "namespace", a.ReviewedNamespace())
	b = appendText(b, "operation", string(a.Operation))
	b = appendUser(append(b, `,"userInfo":`...), a.User)
	b = append(append(b, `,"object":`...), v.json...)
	b = append(append(b, `,"oldObject":`...), v.oldJSON...)
	b = append(b, `,"dryRun":`...)
	if a.DryRun {
		b = append(b, "true"...)
	} else {
		b = append(b, "false"...)
	}
	b = append(append(b, `,"options":`...), options...)
	return append(b, "}}\n"...)
}

func quote(b []byte, s string) []byte { return jsontext.AppendString(b, s, jsontext.HTML) }

// appendText appends a member with a string, unless it is empty.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return quote(b, value)
}

func appendKind(b []byte, k meta.GroupVersionKind) []byte {
	b = quote(append(b, `{"group":`...), k.Group)
	b = quote(append(b, `,"version":`...), k.Version)
	return append(quote(append(b, `,"kind":`...), k.Kind), '}')
}

func appendResource(b []byte, r meta.GroupVersionResource) []byte {
	b = quote(append(b, `{"group":`...), r.Group)
	b = quote(append(b, `,"version":`...), r.Version)
	return append(quote(append(b, `,"resource":`...), r.Resource), '}')
}

// appendUser appends the userInfo of a review.
func appendUser(b []byte, u *request.User) []byte {
	if u == nil {
		return append(b, "{}"...)
	}
	start := len(b)
	b = appendText(b, "username", u.Name)
	b = appendText(b, "uid", u.UID)
	if len(u.Groups) > 0 {
		b = appendTexts(append(b, `,"groups":`...), u.Groups)
	}
	if len(u.Extra) > 0 {
		b = append(b, `,"extra":`...)
		separator := byte('{')
		for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
			b = append(quote(append(b, separator), key), ':')
			b = appendTexts(b, u.Extra[key])
			separator = ','
		}
		b = append(b, '}')
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{' // in the place of the first comma
	return append(b, '}')
}

// appendTexts appends a list of strings; a nil list is null.
func appendTexts(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, s)
	}
	return append(b, ']')
}

// encodeOptions returns the options of a write as JSON, with their apiVersion and kind.
func encodeOptions(a *admission.Attributes) ([]byte, error) {
	options := a.ReviewedOptions()
	if options == nil {
		return []byte("null"), nil
	}
	return codec.AppendJSON(nil, options)
}
