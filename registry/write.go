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
	"github.com/coracle-project/coracle/storage/cache"
)

// write is one create, update or deletion while it runs. All writes take the same steps, whether a
// client or the server itself makes them. The steps in their order, which is that of create.go:
//
//	decode     the client's object, or the patched current object, in the client's version (make)
//	default    set the fields that the object leaves out
//	convert    convert the object to the hub
//	own        record which manager owns which fields (own.go). An apply has one step in place of
//	           decode to own: it merges the configuration into the current object, completes the
//	           result and records its owners
//	identify   compare the UID and namespace of the object with those of the request
//	mutate     admission changes the object; a webhook's object gets defaults; repeated
//	           owner references are dropped, unreadable managedFields are restored
//	compare    the client's resourceVersion must be the current one (upToDate)
//	guard      the declaration may refuse the write because of who the user is
//	baptize    set the namespace, and the name and UID of a new object
//	reserve    the declaration takes something outside the object, such as an address
//	prepare    undo the changes that this door may not make; the strategy and the store set the
//	           fields that the server owns; metadata.generation is counted
//	validate   check metadata, declaration and strategy
//	admit      an update that changes only the times in managedFields gets the old times; a user
//	           whose update creates the object must have the right to create; the validators of
//	           admission run, then its reservers
//	encode     once: the same bytes are stored, answered and sent to watchers; an applied object
//	           is pruned first
//	put        store the bytes if the object is still in the state that the try started from, and
//	           the fence that a reserver asked for has not changed
//	settle     each settle function of the try is called with its fate
//
// begin runs the steps up to guard, finish those from baptize to encode. If another writer has
// changed the object since an update read it, the update runs all steps again over the new state:
// that is another try. If the fence has changed, an update does the same, and a create runs the
// reservers again, and the steps from put on. A deletion (delete.go) has the steps admit, decide,
// reserve, put and settle. A write belongs to one goroutine.
type write struct {
	s     *Store
	req   *request.Write
	r     *Request
	attrs *admission.Attributes
	// byUpdate is set for Update, which creates the object if it does not exist and the kind allows
	// that.
	byUpdate bool
	// disowned is set if the object was too large to be stored with its managedFields: it is stored
	// without them.
	disowned bool

	// The fields below are those of the present try.

	obj, old meta.Object // in the hub; old is nil on create
	form     uint32      // of the bytes to store, as reader.encode returns it
	lease    storage.LeaseID
	fate     admission.Fate // as far as it is known; see sends and ended
}

// newWrite makes the write for a request. op is what admission sees; Store.Update changes it to
// Create for an object that does not exist.
func (s *Store) newWrite(req *request.Write, op admission.Operation) *write {
	var own struct { // one allocation
		write
		request Request
		attrs   admission.Attributes
	}
	own.request = Request{User: req.User, Namespace: req.Namespace, Name: req.Name, DryRun: req.DryRun, warn: req.Warn}
	own.attrs = s.attributes(req, op)
	own.write = write{s: s, req: req, r: &own.request, attrs: &own.attrs}
	return &own.write
}

// attributes returns the description of a write that admission plugins get. Its Object and Old are
// set later.
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
	a.ListenRequest(req.AnnotateRequest)
	a.Tell(req.Story)
	return a
}

// mutated returns the object that the mutators left. It fails if a plugin has set a value that is
// not an object.
func mutated(a *admission.Attributes) (meta.Object, error) {
	obj, ok := a.Object.(meta.Object)
	if !ok {
		return nil, meta.NewInternalError(
			fmt.Errorf("an admission plugin has set a %T in the place of an object", a.Object),
		)
	}
	return obj, nil
}

// version returns the version in which the client addresses the resource.
func (w *write) version() string { return w.attrs.Resource.Version }

// toHub converts an object that a client wrote in a version to the version that strategies see for
// that version. For most kinds that is the internal hub. For a hubless kind (custom resources) it
// is the given version itself.
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

// admission returns the chain of plugins for the write: none if the write follows from one that
// admission has seen (request.Write.Admitted).
func (w *write) admission() admission.Chain {
	if w.req.Admitted {
		return nil
	}
	return w.s.cfg.Admission
}

// maxFencedTries is how often a write is tried while its fence changes (storage.Fenced).
const maxFencedTries = 8

// options returns how the cache stores the bytes of the present try.
func (w *write) options() cache.PutOptions {
	key, rev := w.attrs.Fenced()
	return cache.PutOptions{Form: w.form, Fence: storage.Fence{Key: key, Rev: storage.Revision(rev)}}
}

// sends is called right before the present try is sent to the store. From then until the store
// answers, its fate is InDoubt.
func (w *write) sends() {
	if !w.r.DryRun {
		w.fate = admission.InDoubt
	}
}

// ended sets the fate of the last try from err, which is the error of the store or of an earlier
// step.
func (w *write) ended(err error) {
	switch {
	case err == nil && !w.r.DryRun:
		w.fate = admission.Stored
	case storage.KindOf(err) != storage.InDoubt: // else the fate stays: InDoubt if the try was sent
		w.fate = admission.NotStored
	}
}

// settle calls all settle functions of the last try with its fate. It is deferred, so that it runs
// even if a step panics.
func (w *write) settle(ctx context.Context) {
	fate := w.fate
	w.fate = admission.NotStored
	w.attrs.Settle(ctx, fate)
}

// again settles a try that was not stored, before the next try begins: another writer was faster,
// or the fence has changed.
func (w *write) again(ctx context.Context) {
	w.fate = admission.NotStored
	w.settle(ctx)
}
