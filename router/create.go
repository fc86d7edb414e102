package router

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// create stores the object in the body and answers with the stored object. If readObject returns an
// object and an error, the write pipeline gets both.
func (e *endpoint) create(out answer, r *http.Request, info *request.Info) error {
	media, in, err := e.receiveObject(r)
	if err != nil {
		return err
	}
	opts := &meta.CreateOptions{}
	if q := &info.Query; !q.Empty() {
		opts.DryRun, opts.FieldManager, opts.FieldValidation = q.All("dryRun"), q.Get("fieldManager"),
			q.Get("fieldValidation")
		if err := invalid("CreateOptions", meta.ValidateCreateOptions(opts)); err != nil {
			return err
		}
	}
	obj, refused := e.readObject(r.Context(), info, in, opts.FieldValidation)
	if obj == nil {
		return refused
	}
	e.noteObject(r.Context(), info, obj)
	req := e.write(r, info, opts)
	if e.res.Custom {
		req.Name = "" // kube-apiserver ignores a name in the path of a custom resource's create
	}
	req.DryRun, req.Invalid = len(opts.DryRun) > 0, refused
	if opts.FieldManager != "" {
		req.Manager = opts.FieldManager
	}
	req.Change = func(context.Context, request.Current) (meta.Typed, error) { return obj, nil }
	enc, err := e.res.Creater.Create(r.Context(), req)
	if err != nil {
		return err
	}
	return e.writeEncoded(out, r, http.StatusCreated, enc, media)
}
