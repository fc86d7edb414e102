package webhooks

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides whether a hook is called, and makes the views of a write.

// form is the kind and version in which a view has its objects.
type form struct {
	typ kind.Kind
	gvk meta.GroupVersionKind
}

// view is the object and the old object of a write in one version. Either may be nil. json and
// oldJSON are their encodings; they are nil until encode has made them.
type view struct {
	form
	obj, old      meta.Typed
	json, oldJSON []byte
}

// newView returns the view of a write for a target.
func newView(ctx context.Context, a *admission.Attributes, t *matching.Target) (*view, error) {
	v := &view{form: form{t.Type, t.Kind}}
	var err error
	if v.old, err = t.Old(ctx, a); err != nil {
		return nil, err
	}
	if v.obj, err = t.Object(ctx, a); err != nil {
		return nil, err
	}
	return v, nil
}

// encode encodes the objects that have not been encoded yet.
func (v *view) encode() (err error) {
	if v.json == nil {
		if v.json, err = v.append(v.obj); err != nil {
			return err
		}
	}
	if v.oldJSON == nil {
		v.oldJSON, err = v.append(v.old)
	}
	return err
}

// append returns the encoding of an object of the view.
func (v *view) append(obj meta.Typed) ([]byte, error) {
	switch {
	case obj == nil:
		return []byte("null"), nil
	case obj.GetTypeMeta().GroupVersionKind() == v.gvk:
		return v.typ.Append(nil, obj, codec.Media{})
	}
	named := scheme.Copy(obj) // the options of a connect do not say their kind
	named.GetTypeMeta().SetGroupVersionKind(v.gvk)
	return codec.AppendJSON(nil, named)
}

// caller is the part that both plugins share.
type caller struct {
	source    Source
	files     *files // nil: there are none
	means     *Means
	validates bool
}

// Handles is true for all operations.
func (*caller) Handles(admission.Operation) bool { return true }

// hooksFor returns the current Hooks. It returns nil if there are no hooks, and for a write that no
// hook may see (see ExemptFromWebhooks).
func (c *caller) hooksFor(ctx context.Context, a *admission.Attributes) (*Hooks, error) {
	var hooks *Hooks
	switch exempt := matching.ExemptFromWebhooks(a); {
	case exempt && c.files == nil:
		a.TellReason("no webhook sees this kind")
		return nil, nil
	case exempt:
		hooks = c.files.now()
	default:
		var err error
		if hooks, err = c.source(ctx); err != nil {
			return nil, err
		}
		if c.files != nil {
			hooks = c.files.before(hooks)
		}
	}
	if hooks.index.Len() == 0 {
		return nil, nil
	}
	return hooks, nil
}

// wants reports whether a hook is to be called for a write, and as which target the hook sees the
// write. wants calls viewOf only if the hook has match conditions.
func (c *caller) wants(
	ctx context.Context, a *admission.Attributes, h *hook, viewOf func(*matching.Target) (*view, error),
) (matching.Target, bool, error) {
	t, matched, err := h.matcher.Match(ctx, a, c.means.World)
	if a.Told() && !matched {
		h.tellUncalled(a, err, h.matcher.Why(a, c.means.World))
	}
	if err != nil || !matched || h.conditions == nil {
		return t, matched, err
	}
	v, err := viewOf(&t)
	if err != nil {
		return t, false, meta.NewInternalError(err)
	}
	conditions, began := h.conditions(), time.Now()
	m := conditions.Match(ctx, c.inputs(ctx, a, v))
	if evaluated := c.means.Observer.Evaluated; evaluated != nil {
		evaluated(Evaluation{
			Webhook: h.name, Validates: c.validates, Operation: a.Operation, Took: time.Since(began),
			Failures: m.Failures, Excluded: !m.Matched && m.Err == nil,
		})
	}
	if m.Err != nil {
		err = meta.NewForbidden(a.Resource.GroupResource(), a.Name, m.Err)
	}
	if a.Told() && !m.Matched {
		h.tellUncalled(a, err, m.Why())
	}
	return t, m.Matched && err == nil, err
}

// inputs returns what match conditions see. The resource is that of the request, even if a rule
// names an equivalent one.
func (c *caller) inputs(ctx context.Context, a *admission.Attributes, v *view) *policies.Inputs {
	in := &policies.Inputs{Object: v.obj, OldObject: v.old, Request: a.Reviewed(v.gvk, a.Resource)}
	if c.means.Authorizer != nil {
		in.Authorizer = c.means.Authorizer(ctx, a.User)
	}
	return in
}
