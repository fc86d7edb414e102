package registry

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// write is one write under way: the pipeline that every one takes, whoever it comes from. Its
// steps, in this order, which is that of create.go:
//
//	decode     what the client sent, or the current object patched, in its version (make)
//	default    what it leaves out
//	convert    to the hub
//	own        record who owns which fields; what a client applies is put into the object, and
//	           owned, before all that (own.go)
//	identify   the object is for the place that it is written to
//	mutate     admission changes the object; what comes from outside gets defaults again; owners
//	           that repeat are dropped, unreadable entries of managedFields taken back
//	compare    what is changed is what the client has seen (upToDate)
//	guard      the declaration says whether the user may write this object
//	baptize    the object gets its namespace, and a new one its name and UID
//	reserve    the declaration takes from outside what completes the object
//	prepare    an update first loses the changes that this door may not make; then the strategy and
//	           the store fill in what the server owns, and the change is counted
//	validate   metadata, declaration, strategy
//	admit      an update that changes nothing gets the old times of managedFields; then admission
//	           approves, and its reservers take what is counted
//	encode     once: these bytes are stored, answered, and come back through the watch; what was
//	           applied is pruned now
//	put        these bytes, over the state that the write started from
//	settle     whoever has taken something is told what became of the try
//
// The steps up to guard are those of begin, those from baptize to encode those of finish. If the
// state that an update started from has been overtaken, it begins again, with the true old object.
// A deletion (delete.go) is admitted, decided, reserved and settled.
type write struct {
	s     *Store
	req   *request.Write
	r     *Request
	attrs *admission.Attributes
	// byUpdate: it may come upon an object, or create it.
	byUpdate bool
	// disowned: nobody owns the fields, as the object was too large with what says who does.
	disowned bool

	// Of the present try.

	obj, old meta.Object // of the hub; old is nil on create
	form     uint32      // of the bytes to store, as reader.encode says
	lease    storage.LeaseID
	fate     admission.Fate // as far as is known
}

func (s *Store) newWrite(req *request.Write, op admission.Operation) *write {
	var own struct { // made as one
		write
		request Request
		attrs   admission.Attributes
	}
	own.request = Request{User: req.User, Namespace: req.Namespace, Name: req.Name, DryRun: req.DryRun, warn: req.Warn}
	own.attrs = s.attributes(req, op)
	own.write = write{s: s, req: req, r: &own.request, attrs: &own.attrs}
	return &own.write
}

// attributes describes a write to the admission plugins.
func (s *Store) attributes(req *request.Write, op admission.Operation) admission.Attributes {
	version := cmp.Or(req.Version, s.reader.home.GVK.Version)
	gr := s.res.GroupResource
	a := admission.Attributes{
		Operation: op, Kind: s.shown(version), Type: s.kind,
		Resource:    meta.GroupVersionResource{Group: gr.Group, Version: version, Resource: gr.Resource},
		Subresource: s.subresource,
		Namespace:   req.Namespace, Name: req.Name,
		Options: req.Options, DryRun: req.DryRun, User: req.User,
	}
	a.Listen(req.Warn, req.Annotate)
	return a
}

// mutated returns the object that the mutators have left, or the error of a plugin that has set
// something else.
func mutated(a *admission.Attributes) (meta.Object, error) {
	obj, ok := a.Object.(meta.Object)
	if !ok {
		return nil, meta.NewInternalError(fmt.Errorf("an admission plugin has set a %T in the place of an object", a.Object))
	}
	return obj, nil
}

// version is the one in which the client addresses the resource.
func (w *write) version() string { return w.attrs.Resource.Version }

// toHub returns an object that clients write in a version as strategies see it.
func toHub(ctx context.Context, k kind.Kind, obj meta.Typed, version string) (meta.Object, error) {
	if hub := k.Hub(version); hub != scheme.InternalVersion && kind.In(k, hub) != nil {
		converted, err := k.Convert(ctx, obj, hub)
		if err != nil {
			return nil, err
		}
		return converted.(meta.Object), nil
	}
	return kind.ToHub(ctx, k, obj)
}

// admission is who is to be asked about the write.
func (w *write) admission() admission.Chain {
	if w.req.Admitted {
		return nil
	}
	return w.s.cfg.Admission
}

// sends says that the bytes of the present try go to the store now: from here on nobody knows what
// becomes of it, until the store answers.
func (w *write) sends() {
	if !w.r.DryRun {
		w.fate = admission.InDoubt
	}
}

// ended says how the last try has ended: err is the store's, or that of a step before.
func (w *write) ended(err error) {
	switch {
	case err == nil && !w.r.DryRun:
		w.fate = admission.Stored
	case storage.KindOf(err) != storage.InDoubt: // else it stays in doubt if anything has gone to the store
		w.fate = admission.NotStored
	}
}

// settle tells whoever has taken something for the last try what became of it, as far as is known.
// It is deferred, so that it comes even if something panics.
func (w *write) settle(ctx context.Context) {
	fate := w.fate
	w.fate = admission.NotStored
	w.attrs.Settle(ctx, fate)
}

// again settles a try that is not stored, before another: it was overtaken, or somebody else has
// done the same.
func (w *write) again(ctx context.Context) {
	w.fate = admission.NotStored
	w.settle(ctx)
}
