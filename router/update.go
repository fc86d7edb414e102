package router

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// update replaces an object by the one in the body, and creates it if the strategy allows that. An
// object with a wrong kind may still go to the pipeline, with the error in Invalid (readObject).
func (e *endpoint) update(out answer, r *http.Request, info *request.Info) error {
	media, in, err := e.receiveObject(r)
	if err != nil {
		return err
	}
	opts := &meta.UpdateOptions{}
	if q := &info.Query; !q.Empty() {
		opts.DryRun, opts.FieldManager, opts.FieldValidation = q.All("dryRun"), q.Get("fieldManager"),
			q.Get("fieldValidation")
		if err := invalid("UpdateOptions", meta.ValidateUpdateOptions(opts)); err != nil {
			return err
		}
	}
	obj, refused := e.readObject(r.Context(), info, in, opts.FieldValidation)
	if obj == nil {
		return refused
	}
	e.noteObject(r.Context(), info, obj)
	m := metaOf(obj)
	if err := e.checkNamespace(m, info); err != nil {
		return err
	}
	if err := checkName(m, info); err != nil {
		return err
	}
	calls := 0
	req := e.write(r, info, opts)
	req.DryRun, req.UID, req.Invalid = len(opts.DryRun) > 0, m.UID, refused
	if opts.FieldManager != "" {
		req.Manager = opts.FieldManager
	}
	req.Change = func(ctx context.Context, _ request.Current) (meta.Typed, error) {
		if calls++; calls == 1 {
			return obj, nil
		}
		// The first call has changed obj: admission and strategy completed it against a state that
		// is out of date. So later calls decode the body again.
		again, err := e.readObject(ctx, info, in, validateIgnore)
		if again == nil {
			return nil, err
		}
		return again, nil // an error about its kind is in req.Invalid since the first time
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

// checkNamespace gives an object without a namespace the namespace of the path, and refuses an
// object with another namespace. It removes the namespace from an object of a cluster-scoped kind.
func (e *endpoint) checkNamespace(m *meta.ObjectMeta, info *request.Info) error {
	if !e.res.Namespaced {
		m.Namespace = ""
		return nil
	}
	if m.Namespace == "" {
		m.Namespace = info.Namespace
	}
	if m.Namespace != info.Namespace {
		return meta.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request",
		)
	}
	return nil
}

// metaOf returns the metadata of an object of a served kind.
func metaOf(obj meta.Typed) *meta.ObjectMeta { return obj.(meta.Object).GetObjectMeta() }
