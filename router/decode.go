package router

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// The values of the fieldValidation parameter.
const (
	validateIgnore = "Ignore"
	validateStrict = "Strict"
)

// readObject decodes the object in the body of a create or update, in the served version.
// validation is the value of fieldValidation. The object may share memory with the body.
//
// Usually either the object or the error is nil. One mistake gives both: the object has no Go type,
// and it has the served apiVersion but another kind. The object is then decoded as if it were of
// the served kind, because the write pipeline may have to report another error first (see
// request.Write.Invalid). Any other kind or apiVersion that is not served here gives the error
// alone.
func (e *endpoint) readObject(
	ctx context.Context, info *request.Info, in received, validation string,
) (meta.Typed, error) {
	typ, err := codec.BodyType(in.media)
	if err != nil {
		return nil, err
	}
	body := in.body
	ctx, span := request.BeginSized(ctx, request.SpanOther, "decode body", len(body))
	defer span.End()
	m := meter.ForSize(ctx, len(body))
	req := codec.DecodeRequest{
		Data: body, Type: typ, Default: e.res.Kind, Strict: validation != validateIgnore, Shared: true, Meter: m,
	}
	decoded, err := e.res.Type.Decode(req)
	if over := m.Err(); over != nil {
		return nil, over
	}
	if err != nil {
		return nil, codec.BodyError(err, decoded.GVK, e.res.Kind.Kind, body)
	}
	wrong := decoded.GVK.GroupKind() != e.res.Kind.GroupKind()
	if wrong && !e.res.Custom {
		return nil, e.wrongKind(decoded, body)
	}
	if err := e.reportStrict(info, decoded.Strict, validation); err != nil {
		return nil, codec.BodyError(err, decoded.GVK, e.res.Kind.Kind, body)
	}
	if v := decoded.GVK.Version; wrong || v != e.res.Kind.Version && !slices.Contains(e.res.Also, v) {
		err := e.wrongKind(decoded, body)
		if !meta.IsInvalid(err) {
			return nil, err
		}
		req.As = e.res.Kind
		served, broken := e.res.Type.Decode(req)
		if broken != nil {
			return nil, err
		}
		e.noteSent(ctx, info, served.Object, decoded.GVK)
		return served.Object, err
	}
	if obj, ok := decoded.Object.(meta.Object); ok {
		if warning := meta.DropRepeatedOwners(obj.GetObjectMeta(), false); warning != "" {
			info.Warn(warning)
		}
	}
	return decoded.Object, nil
}

// wrongKind returns the error for an object of a kind that exists but is not served here. For a
// kind without a Go type, only group and version decide whether that is a bad request; a wrong kind
// in the right version is an invalid object.
func (e *endpoint) wrongKind(decoded codec.Decoded, body []byte) error {
	got := decoded.GVK
	typed := kind.In(e.res.Type, e.res.Kind.Version).Type != nil
	obj, _ := decoded.Object.(meta.Object)
	switch {
	case !typed && got.GroupVersion() == e.gv && obj != nil:
		return e.misnamed(decoded)
	case got.GroupKind() == e.res.Kind.GroupKind() || !typed:
		return meta.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)",
			meta.Excerpt(got.GroupVersion().String()), e.gv))
	}
	return codec.BodyError(&scheme.ConversionError{From: got, To: hubOf(e.res.Kind)}, got, e.res.Kind.Kind, body)
}

// misnamed returns the 422 for an object whose kind or apiVersion is not that of the resource,
// which has no Go type.
func (e *endpoint) misnamed(decoded codec.Decoded) error {
	var errs field.ErrorList
	got, gv := decoded.GVK, decoded.GVK.GroupVersion()
	if got.Kind != e.res.Kind.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), got.Kind, "must be "+e.res.Kind.Kind))
	}
	if gv != e.gv {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), gv.String(), "must be "+e.gv.String()))
	}
	return meta.NewInvalid(got.GroupKind(), metaOf(decoded.Object).Name, errs)
}

// reportStrict handles the unknown and repeated fields found by strict decoding as fieldValidation
// says: Strict makes them an error, Warn (the default) makes them warnings.
func (e *endpoint) reportStrict(info *request.Info, strict []string, validation string) error {
	switch validation {
	case validateIgnore:
		return nil
	case validateStrict:
		return codec.StrictError(strict)
	}
	for _, w := range codec.Warnings(strict) {
		info.Warn(w)
	}
	return nil
}

// checkName returns an error unless the object has the name in the path.
func checkName(m *meta.ObjectMeta, info *request.Info) error {
	switch {
	case m.Name == "":
		return meta.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided",
			meta.Excerpt(info.Name)))
	case m.Name != info.Name:
		return meta.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			meta.Excerpt(m.Name), meta.Excerpt(info.Name)))
	}
	return nil
}
