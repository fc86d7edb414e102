package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/patch"
)

// patch applies the patch in an answer to the object as the hook saw it, and makes the result the
// object of the write. changed says that the patched object differs from the object before, when no
// defaults are set in it yet. A changed name or namespace is not an error here: later steps of the
// write check them.
func (m *mutation) patch(ctx context.Context, h indexedHook, answer *AdmissionResponse) (changed bool, err error) {
	n, err := patch.Length(answer.Patch)
	switch {
	case err != nil:
		return false, h.failed(http.StatusServiceUnavailable, "received undecodable patch in webhook response: %w", err)
	case n == 0:
		return false, nil
	case m.view.obj == nil:
		return false, meta.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", h.name,
		))
	case *answer.PatchType != jsonPatch:
		code := int(refusal(h.name, answer.Result).Status.Code)
		return false, h.failed(code, "unsupported patch type %q", meta.Excerpt(*answer.PatchType))
	}
	patched, err := patch.JSON(m.view.json, answer.Patch, meter.WithBudget(ctx, patch.MaxWork))
	if err != nil {
		return false, internalOrEnd(ctx, err)
	}
	decoded, err := m.view.typ.Decode(codec.DecodeRequest{Data: patched, Default: m.view.gvk, Shared: true})
	if err != nil {
		return false, internalOrEnd(ctx, err)
	}
	if decoded.GVK.GroupKind() != m.view.gvk.GroupKind() {
		err := fmt.Errorf("converting (%v) to (%v): unknown conversion", decoded.GVK, m.view.gvk)
		return false, meta.NewInternalError(err)
	}
	changed = !scheme.EqualObjects(m.view.obj, decoded.Object)
	m.annotatePatch(h, answer.Patch)
	if err := m.replace(ctx, decoded.Object); err != nil {
		return changed, internalOrEnd(ctx, err)
	}
	next := &view{form: m.view.form, obj: decoded.Object, old: m.view.old, oldJSON: m.view.oldJSON}
	if m.told != nil {
		made := &view{form: form{m.view.typ, decoded.GVK}}
		if data, err := made.append(decoded.Object); err == nil {
			m.told.Changed(m.view.json, data)
		}
	}
	if m.view = next; decoded.GVK != next.gvk {
		m.view = nil // the hook answered in another version
	}
	return changed, nil
}

// replace makes obj, which is in the version of the view, the object of the write: it sets defaults
// in obj and converts it to the hub.
func (m *mutation) replace(ctx context.Context, obj meta.Typed) error {
	a := m.a
	if a.Operation == admission.Connect {
		a.Object = obj
		return nil
	}
	if err := m.view.typ.Default(ctx, obj); err != nil {
		return err
	}
	version := a.Type.Hub(a.Kind.Version) // a kind without a hub stays in the version of the client
	if version != scheme.InternalVersion && kind.In(a.Type, version) == nil {
		version = scheme.InternalVersion
	}
	hub, err := a.Type.Convert(ctx, obj, version)
	if err != nil {
		return err
	}
	a.Object = hub
	return nil
}

// internalOrEnd returns err as a Status: an internal error, unless err is a Status itself or says
// that the request has ended.
func internalOrEnd(ctx context.Context, err error) error {
	if e, ok := err.(*meta.StatusError); ok {
		return e
	}
	if ctx.Err() != nil {
		return errTooLate()
	}
	return meta.NewInternalError(err)
}

// annotatePatch adds the patch to the audit record, if that record has the body of the request.
func (m *mutation) annotatePatch(h indexedHook, patch []byte) {
	note := &patchNote{Configuration: h.configuration, Webhook: h.name, PatchType: jsonPatch}
	if err := json.Unmarshal(patch, &note.Patch); err != nil {
		return // deeper than encoding/json reads
	}
	m.annotate(m.a.AnnotateRequest, patchAnnotation+m.key(h), note)
}
