package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/patch"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file serves PATCH. A JSON patch, merge patch or strategic merge patch is applied to the
// encoded current object in the served version, and the result is decoded; package scheme/patch has
// the algorithms. A server-side apply is only read here (apply.go), and package registry merges it.

// The media types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// patcher is one PATCH request other than an apply. The registry calls its change again whenever
// the object has been changed meanwhile; all calls share one budget of work.
type patcher struct {
	e          *endpoint
	info       *request.Info
	form       string // the media type of the patch
	body       []byte // the patch
	validation string
	typ        *typeinfo.Type // of the resource's version; nil for a kind without a Go type
	meter      *meter.Meter
	write      *request.Write // change sets its Invalid
	checked    bool           // check has run, so problems is complete
	problems   []string       // unknown and repeated fields in the patch itself
}

// patch changes an object by a patch in its served version. An apply creates the object if it does
// not exist; the other patches are then NotFound (change).
func (e *endpoint) patch(out answer, r *http.Request, info *request.Info) error {
	form, err := patchForm(r.Header.Get("Content-Type"), !e.res.Custom)
	if err != nil {
		return err
	}
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	in, err := e.receive(r)
	if err != nil {
		return err
	}
	p := params{Query: &info.Query}
	opts := &meta.PatchOptions{
		DryRun: p.All("dryRun"), Force: p.optionalBoolean("force"),
		FieldManager: p.Get("fieldManager"), FieldValidation: p.Get("fieldValidation"),
	}
	if err := invalid("PatchOptions", meta.ValidatePatchOptions(opts, form == applyPatch)); err != nil {
		return err
	}
	if info.Record != nil && info.Record.Received {
		info.Record.ReceivedObject = notePatch(r.Context(), form, in.body)
	}
	req := e.write(r, info, &meta.UpdateOptions{ // behind the router, a patch is an update
		DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation,
	})
	req.DryRun = len(opts.DryRun) > 0
	if opts.FieldManager != "" {
		req.Manager = opts.FieldManager
	}
	if form == applyPatch {
		req.ForceCreate = true
		if req.Apply, err = e.readApply(r.Context(), info, in.body, opts); err != nil {
			return err
		}
	} else {
		pt := e.patcher(r.Context(), info, form, in.body, opts)
		pt.write, req.Change = req, pt.change
	}
	enc, created, err := e.res.Updater.Update(r.Context(), req)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return e.writeEncoded(out, r, code, enc, media)
}

// notePatch returns a patch for a Record: as it was sent, or an apply in YAML as the same in JSON.
func notePatch(ctx context.Context, form string, body []byte) []byte {
	if form != applyPatch {
		return body
	}
	m := meter.ForSize(ctx, len(body))
	if s := jsontext.NewScanner(body, true, m); s.Skip() == nil && s.End() == nil {
		return body
	}
	if converted, _, err := codec.YAMLToJSON(body, false, m); err == nil {
		return converted
	}
	return body
}

// patchForm returns the media type of a patch. strategic says whether strategic merge patches are
// accepted.
func patchForm(contentType string, strategic bool) (string, error) {
	form, _, _ := strings.Cut(contentType, ";")
	switch {
	case form == jsonPatch || form == mergePatch || form == applyPatch || form == strategicPatch && strategic:
		return form, nil
	case !strategic:
		return "", codec.UnsupportedBody(jsonPatch, mergePatch, applyPatch)
	}
	// kube-apiserver checks the media type twice: its routes accept a list of types with spaces,
	// and the handler behind them wants exactly one type. The two refuse with different messages.
	for one := range strings.SplitSeq(contentType, ",") {
		base, _, _ := strings.Cut(one, ";")
		switch strings.TrimSpace(base) {
		case jsonPatch, mergePatch, strategicPatch, applyPatch:
			return "", codec.UnsupportedBody(jsonPatch, mergePatch, strategicPatch, applyPatch)
		}
	}
	return "", errPatchType()
}

// patcher makes the patcher of a request.
func (e *endpoint) patcher(
	ctx context.Context, info *request.Info, form string, body []byte, opts *meta.PatchOptions,
) *patcher {
	pt := &patcher{
		e: e, info: info, form: form, body: body, validation: opts.FieldValidation,
		meter: meter.WithBudget(ctx, patch.MaxWork),
	}
	if version := kind.In(e.res.Type, e.res.Kind.Version); version.Type != nil {
		pt.typ = version.Type()
	}
	return pt
}

// errPatchType is the 415 of kube-apiserver's routes for a media type that they do not list.
func errPatchType() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason:  meta.StatusReasonUnsupportedMediaType,
		Message: "415: Unsupported Media Type", Details: &meta.StatusDetails{},
	}}
}

// change is the request.ChangeFunc of a patch: it applies the patch to the current object.
func (p *patcher) change(ctx context.Context, cur request.Current) (meta.Typed, error) {
	if cur.Encoded == nil {
		return nil, meta.NewNotFound(p.e.gr, p.info.Name)
	}
	doc, err := p.e.encoded(ctx, cur.Encoded, codec.Media{})
	if err != nil {
		return nil, err
	}
	patched, err := p.merge(doc)
	if err != nil {
		return nil, patchError(err)
	}
	decoded, err := p.decode(patched)
	if over := p.meter.Err(); over != nil {
		return nil, patchError(over)
	}
	if err != nil {
		return nil, p.invalid(doc, patched, err)
	}
	m := metaOf(decoded.Object)
	if err := p.e.checkNamespace(m, p.info); err != nil {
		return nil, err
	}
	return decoded.Object, checkName(m, p.info)
}

// merge applies the patch to the encoded object. The first call checks the fields of the patch
// itself.
func (p *patcher) merge(doc []byte) ([]byte, error) {
	if p.validation != validateIgnore && !p.checked {
		if err := p.check(); err != nil {
			return nil, err
		}
		p.checked = true
	}
	switch p.form {
	case jsonPatch:
		return patch.JSON(doc, p.body, p.meter)
	case mergePatch:
		return patch.Merge(doc, p.body, p.meter)
	}
	return patch.Strategic(doc, p.body, p.typ, p.meter)
}

// check finds the unknown and repeated fields of the patch itself, which the patched object would
// not show.
func (p *patcher) check() (err error) {
	switch p.form {
	case jsonPatch:
		p.problems, err = patch.CheckJSON(p.body, p.meter)
	case mergePatch:
		p.problems, err = patch.CheckMerge(p.body, p.meter)
	default:
		p.problems = patch.CheckStrategic(p.body, p.meter)
	}
	return err
}

// decode turns the patched JSON into an object. Field validation reports the problems of the patch
// before those of the object.
//
// What a kind or apiVersion that is not that of the resource means depends on the form and the
// type. A strategic merge patch ignores both. Without an apiVersion, an object of a built-in kind
// goes to decodeVersionless, and a custom resource is refused. If a custom resource has another
// kind or apiVersion, decode returns the object as if it were of the resource's kind and leaves the
// error in write.Invalid, because other errors of the write pipeline come first. Any other mismatch
// is a ConversionError.
func (p *patcher) decode(patched []byte) (codec.Decoded, error) {
	want := p.e.res.Kind
	req := codec.DecodeRequest{
		Data: patched, Default: want, Strict: p.validation != validateIgnore, Shared: true, Meter: p.meter,
	}
	if p.form == strategicPatch { // here kube-apiserver fills a struct and ignores the kind in the object
		req.As = want
	}
	if req.As.Kind == "" && p.typ != nil && !p.e.res.Custom {
		if called, is := lacksVersion(patched); is {
			return p.decodeVersionless(patched, called)
		}
	}
	p.write.Invalid = nil
	decoded, err := p.e.res.Type.Decode(req)
	if err == nil && p.e.res.Custom && p.typ == nil && decoded.GVK != want && decoded.GVK.Version != "" {
		p.write.Invalid = p.e.misnamed(decoded)
		req.As = want
		decoded, err = p.e.res.Type.Decode(req)
	}
	if p.form == strategicPatch && (err != nil || len(decoded.Strict) > 0) {
		var misfit string
		if decoded.Strict, misfit = patch.CheckStrategicResult(patched, p.typ, p.meter); misfit != "" {
			err = errors.New(misfit)
		}
	}
	switch {
	case err != nil:
		return decoded, err
	case p.e.res.Custom && p.typ == nil && decoded.GVK.Version == "":
		return decoded, versionless(patched)
	case decoded.GVK.GroupKind() != want.GroupKind() ||
		decoded.GVK.Version != want.Version && !slices.Contains(p.e.res.Also, decoded.GVK.Version):
		return decoded, &scheme.ConversionError{From: decoded.GVK, To: hubOf(want)}
	}
	return decoded, p.report(decoded.Strict)
}

// versionless returns the error for a custom resource without an apiVersion. As in kube-apiserver,
// the message for null differs from that for "" or a missing field.
func versionless(object []byte) error {
	members, _ := jsontext.RawOf(object).Members(0, nil)
	for _, m := range members {
		if m.Key == "apiVersion" && m.Value.IsNull() {
			return errors.New(".apiVersion accessor error: <nil> is of the type <nil>, expected string")
		}
	}
	//lint:ignore ST1005 clients know kube-apiserver's wording
	return errors.New("Object 'apiVersion' is missing in 'object has no apiVersion field'")
}

// report hands the problems of the patch, followed by those of the result, to field validation.
func (p *patcher) report(strict []string) error {
	if len(p.problems) > 0 {
		strict = slices.Concat(p.problems, strict)
	}
	return p.e.reportStrict(p.info, strict, p.validation)
}

// lacksVersion reports whether an object has no apiVersion, and returns its kind in that case. If
// kind or apiVersion is neither a string nor null, it reports false.
func lacksVersion(object []byte) (called string, is bool) {
	const usual = `{"apiVersion":"`
	if len(object) > len(usual) && string(object[:len(usual)]) == usual && object[len(usual)] != '"' {
		return "", false
	}
	var space [8]jsontext.Member
	members, ok := jsontext.RawOf(object).Members(0, space[:0])
	if !ok {
		return "", false
	}
	for _, m := range members {
		if m.Key != "kind" && m.Key != "apiVersion" {
			continue
		}
		text, isText := m.Value.Str()
		switch {
		case !isText && !m.Value.IsNull() || m.Key == "apiVersion" && text != "":
			return "", false
		case m.Key == "kind":
			called = text
		}
	}
	return called, true
}

// decodeVersionless is decode for an object of a built-in kind without an apiVersion. called is the
// kind in the object, "" if there is none. kube-apiserver decodes such an object into the internal
// version, whose fields have no JSON names, so every field is unknown, the name included.
func (p *patcher) decodeVersionless(patched []byte, called string) (codec.Decoded, error) {
	want := p.e.res.Kind
	if called != "" && called != want.Kind {
		other := hubOf(want.GroupVersion().WithKind(called))
		decoded, err := p.e.res.Type.Decode(codec.DecodeRequest{Data: []byte("{}"), As: other})
		if err == nil {
			err = &scheme.ConversionError{From: other, To: hubOf(want)}
		}
		return decoded, err
	}
	var unknown []string
	members, _ := jsontext.RawOf(patched).Members(0, nil)
	for _, m := range members {
		if m.Key != "kind" && m.Key != "apiVersion" {
			unknown = append(unknown, fmt.Sprintf("unknown field %q", m.Key))
		}
	}
	decoded, err := p.e.res.Type.Decode(codec.DecodeRequest{Data: []byte("{}"), As: want})
	if err != nil {
		return decoded, err
	}
	return decoded, p.report(unknown)
}

// invalid returns the error for a patch whose result is not an object of the kind: a 422 without a
// kind that shows the result, or, for a strategic merge, the patch.
func (p *patcher) invalid(doc, patched []byte, err error) error {
	shown := string(patched)
	if p.form == strategicPatch {
		shown = patch.StrategicText(doc, p.body, p.typ, p.meter)
	} else if p.typ == nil { // an untyped object is shown with sorted keys
		if tree, err := jsontext.Decode(patched, p.meter); err == nil {
			if sorted, err := jsontext.AppendTree(nil, tree, jsontext.Plain); err == nil {
				shown = string(sorted)
			}
		}
	}
	return meta.NewInvalid(
		meta.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, err.Error())},
	)
}

// patchError returns the Status of an error of package patch. Other errors, such as the end of the
// request, are returned as they are.
func patchError(err error) error {
	var e *patch.Error
	switch {
	case errors.Is(err, meter.ErrSpent):
		return meta.NewRequestEntityTooLarge("the patch takes too much work")
	case !errors.As(err, &e): // the request has ended
		return err
	}
	switch e.Kind {
	case patch.Malformed:
		return meta.NewBadRequest(e.Message)
	case patch.TooLarge:
		return meta.NewRequestEntityTooLarge(e.Message)
	case patch.Inapplicable, patch.Untrue:
		return &meta.StatusError{Status: meta.Status{
			Status: meta.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: meta.StatusReasonInvalid,
			Message: "the server rejected our request due to an error in our request", Details: &meta.StatusDetails{},
		}}
	default:
		return meta.NewUnprocessable(e.Message)
	}
}
