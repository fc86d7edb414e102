package router

import (
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// create stores the object in the body and answers with it as stored.
func (e *endpoint) create(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	if _, err := codec.BodyType(r.Header.Get("Content-Type")); err != nil {
		return err
	}
	body, err := readBody(r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	opts := &meta.CreateOptions{}
	if p := newParams(r); p.values != nil {
		opts.DryRun, opts.FieldManager, opts.FieldValidation = p.list("dryRun"), p.text("fieldManager"), p.text("fieldValidation")
		if err := invalid("CreateOptions", meta.ValidateCreateOptions(opts)); err != nil {
			return err
		}
	}
	obj, err := e.readObject(r, info, body, opts.FieldValidation)
	if err != nil {
		return err
	}
	enc, err := e.res.Creater.Create(r.Context(), info.Namespace, info.Name, obj, opts)
	if err != nil {
		return err
	}
	return e.writeEncoded(w, r, http.StatusCreated, enc, media)
}
