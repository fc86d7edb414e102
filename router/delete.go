package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// delete deletes one object. The object may stay, marked as being deleted, until its finalizers are
// removed or its grace period ends.
func (e *endpoint) delete(out answer, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	opts, err := e.deleteOptions(r, info)
	if err != nil {
		return err
	}
	res, err := e.res.Deleter.Delete(r.Context(), e.deletionOf(r, info, opts), opts)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if !res.Done && opts.OrphanDependents != nil && !*opts.OrphanDependents {
		code = http.StatusAccepted
	}
	if res.Encoded != nil {
		return e.writeEncoded(out, r, code, res.Encoded, media)
	}
	out.object(code, statusFactory, res.Status, media)
	return nil
}

// deleteCollection deletes the objects that the selectors match and answers with the list of them.
func (e *endpoint) deleteCollection(out answer, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	req, _, err := e.listRequest(info)
	if err != nil {
		return err
	}
	opts, err := e.deleteOptions(r, info)
	if err != nil {
		return err
	}
	if opts.IgnoresReadErrors() { // unreadable objects can only be deleted one at a time (KEP-3926)
		return invalid("DeleteOptions", field.ErrorList{field.Invalid(field.NewPath(meta.IgnoreReadErrors), true,
			"is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	list, err := e.res.CollectionDeleter.DeleteCollection(r.Context(), req, e.deletionOf(r, info, opts), opts)
	if err != nil {
		return err
	}
	return e.writeList(out, r, list, media)
}

// deletionOf returns the Write of a deletion.
func (e *endpoint) deletionOf(r *http.Request, info *request.Info, opts *meta.DeleteOptions) *request.Write {
	req := e.write(r, info, opts)
	req.DryRun = len(opts.DryRun) > 0
	return req
}

// deleteOptions reads the options from the query and from the body. An option in both places has
// the value of the body. kube-apiserver ignores the query if there is a body: with dryRun in the
// query and a body, it deletes for real. Preconditions are read from the query only if there is no
// body: for deletecollection, resourceVersion in the query is an option of the list.
func (e *endpoint) deleteOptions(r *http.Request, info *request.Info) (*meta.DeleteOptions, error) {
	in, err := e.receive(r)
	if err != nil {
		return nil, err
	}
	opts := &meta.DeleteOptions{}
	p := params{Query: &info.Query}
	opts.GracePeriodSeconds = p.optionalInteger("gracePeriodSeconds")
	opts.OrphanDependents = p.optionalBoolean("orphanDependents")
	opts.IgnoreStoreReadErrorWithClusterBreakingPotential = p.optionalBoolean(meta.IgnoreReadErrors)
	opts.DryRun = p.All("dryRun")
	if v, ok := p.Lookup("propagationPolicy"); ok {
		policy := meta.DeletionPropagation(v)
		opts.PropagationPolicy = &policy
	}
	if p.err != nil {
		return nil, p.err
	}
	if len(in.body) == 0 {
		opts.Preconditions = p.preconditions()
	} else if err := e.mergeDeleteOptions(info, in, opts); err != nil {
		return nil, err
	}
	return opts, invalid("DeleteOptions", meta.ValidateDeleteOptions(opts))
}

// recordedOptions is the apiVersion of DeleteOptions in audit records, whatever version was sent.
// It is that of kube-apiserver's records.
const recordedOptions = "meta.k8s.io/__internal"

// mergeDeleteOptions decodes the DeleteOptions in the body and lets their fields override those in
// opts.
func (e *endpoint) mergeDeleteOptions(info *request.Info, body received, opts *meta.DeleteOptions) error {
	typ, err := codec.BodyType(body.media)
	if err != nil {
		return err
	}
	want := meta.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	decoded, err := e.cfg.Codecs.Decode(codec.DecodeRequest{Data: body.body, Type: typ, Default: want})
	// Every group version has DeleteOptions, and they are all alike.
	if err != nil && decoded.GVK.Kind == want.Kind && decoded.GVK != want {
		decoded, err = e.cfg.Codecs.Decode(codec.DecodeRequest{Data: body.body, Type: typ, As: want})
	}
	if err == nil {
		if _, ok := decoded.Object.(*meta.DeleteOptions); !ok {
			err = &scheme.NotRegisteredError{Scheme: "coracle", GVK: decoded.GVK}
		}
	}
	if err != nil {
		return meta.NewBadRequest(strings.TrimSpace(err.Error()))
	}
	in := decoded.Object.(*meta.DeleteOptions)
	if info.Record != nil && info.Record.Received {
		noted := *in
		noted.APIVersion = recordedOptions
		info.Record.ReceivedObject = noteOf(e.cfg.Codecs, &noted)
	}
	if in.GracePeriodSeconds != nil {
		opts.GracePeriodSeconds = in.GracePeriodSeconds
	}
	if in.Preconditions != nil {
		opts.Preconditions = in.Preconditions
	}
	if in.OrphanDependents != nil || in.PropagationPolicy != nil { // two names for one option: they override together
		opts.OrphanDependents, opts.PropagationPolicy = in.OrphanDependents, in.PropagationPolicy
	}
	if len(in.DryRun) > 0 {
		opts.DryRun = in.DryRun
	}
	if in.IgnoreStoreReadErrorWithClusterBreakingPotential != nil {
		opts.IgnoreStoreReadErrorWithClusterBreakingPotential = in.IgnoreStoreReadErrorWithClusterBreakingPotential
	}
	return nil
}
