package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/patch"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The media types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// patcher is one PATCH request. It turns the current object into the new one as often as that changes meanwhile, within
// one budget.
type patcher struct {
	e          *endpoint
	info       *request.Info
	form       string // media type
	body       []byte
	validation string
	typ        *typeinfo.Type // nil: there is no Go type
	meter      *meter.Meter
	slips      []string // what field validation has to say about the patch itself
}

// patch changes an object by a patch in its served version, or creates it if what is applied does not exist.
func (e *endpoint) patch(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	form := codec.MediaType(r.Header.Get("Content-Type"))
	typed := kind.In(e.res.Type, e.res.Kind.Version).Type != nil
	switch {
	case form == jsonPatch || form == mergePatch || form == applyPatch || form == strategicPatch && typed:
	case !typed:
		return codec.UnsupportedBody(jsonPatch, mergePatch, applyPatch)
	default:
		return errPatchType()
	}
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	body, err := readBody(r, e.cfg.MaxBody)
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
	req := e.write(r, info, &meta.UpdateOptions{ // to everybody behind, a patch is an update
		DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation,
	})
	req.DryRun = len(opts.DryRun) > 0
	if opts.FieldManager != "" {
		req.Manager = opts.FieldManager
	}
	if form == applyPatch {
		req.ForceCreate = true
		if req.Apply, err = e.applied(r.Context(), info, body, opts); err != nil {
			return err
		}
	} else {
		req.Change = e.patcher(r.Context(), info, form, body, opts).change
	}
	enc, created, err := e.res.Updater.Update(r.Context(), req)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return e.writeEncoded(w, r, code, enc, media)
}

func (e *endpoint) patcher(ctx context.Context, info *request.Info, form string, body []byte, opts *meta.PatchOptions) *patcher {
	pt := &patcher{
		e: e, info: info, form: form, body: body, validation: opts.FieldValidation, meter: meter.WithBudget(ctx, patch.MaxWork),
	}
	if version := kind.In(e.res.Type, e.res.Kind.Version); version.Type != nil {
		pt.typ = version.Type()
	}
	return pt
}

// errPatchType is the answer to a media type of which kube-apiserver's router knows nothing either.
func errPatchType() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: meta.StatusReasonUnsupportedMediaType,
		Message: "415: Unsupported Media Type", Details: &meta.StatusDetails{},
	}}
}

// change applies the patch to the current object.
func (p *patcher) change(ctx context.Context, cur request.Current) (meta.Typed, error) {
	if cur.Encoded == nil {
		return nil, meta.NewNotFound(p.e.gr, p.info.Name)
	}
	doc, err := p.e.encoded(ctx, cur.Encoded, codec.Media{})
	if err != nil {
		return nil, err
	}
	var patched []byte
	switch p.form {
	case jsonPatch:
		patched, err = patch.JSON(doc, p.body, p.meter)
	case mergePatch:
		patched, err = patch.Merge(doc, p.body, p.meter)
	default:
		patched, err = patch.Strategic(doc, p.body, p.typ, p.meter)
	}
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

// decode turns the result into an object. Field validation is told of the patch's own slips first.
func (p *patcher) decode(patched []byte) (codec.Decoded, error) {
	req := codec.DecodeRequest{Data: patched, Default: p.e.res.Kind, Strict: p.validation != validateIgnore, Shared: true, Meter: p.meter}
	if p.form == strategicPatch { // kube-apiserver fills a struct here, and looks at no kind
		req.As = p.e.res.Kind
	}
	decoded, err := p.e.res.Type.Decode(req)
	if err != nil {
		if p.form == strategicPatch {
			if why := patch.Misfit(patched, p.typ); why != "" {
				err = errors.New(why)
			}
		}
		return decoded, err
	}
	if req.Strict {
		decoded.Strict = slices.Concat(p.findSlips(), decoded.Strict)
	}
	if err := p.e.reportStrict(p.info, decoded.Strict, p.validation); err != nil {
		return decoded, err
	}
	if decoded.GVK != p.e.res.Kind {
		return decoded, fmt.Errorf("the patched object is a %s", decoded.GVK)
	}
	return decoded, nil
}

// findSlips returns the unknown and repeated fields of the patch itself.
func (p *patcher) findSlips() []string {
	switch {
	case p.slips != nil:
	case p.form == jsonPatch:
		p.slips = append([]string{}, patch.CheckJSON(p.body, p.meter)...)
	default:
		p.slips = append([]string{}, patch.CheckMerge(p.body, p.meter)...)
	}
	return p.slips
}

// invalid is the answer to a patch whose result is no object of the kind: a 422 that names no kind and shows the
// result, or for strategic merges the patch.
func (p *patcher) invalid(doc, patched []byte, err error) error {
	shown := string(patched)
	if p.form == strategicPatch {
		shown = patch.StrategicText(doc, p.body, p.typ, p.meter)
	}
	return meta.NewInvalid(meta.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, err.Error())})
}

// patchError turns an error of package patch into its Status.
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
	case patch.Inapplicable:
		return &meta.StatusError{Status: meta.Status{
			Status: meta.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: meta.StatusReasonInvalid,
			Message: "the server rejected our request due to an error in our request", Details: &meta.StatusDetails{},
		}}
	default:
		return meta.NewUnprocessable(e.Message)
	}
}
