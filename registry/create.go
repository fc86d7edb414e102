package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// maxGenerateTries is how often a generated name that exists already is replaced by another.
const maxGenerateTries = 8

// Create stores a new object. See router.Creater.
func (s *Store) Create(ctx context.Context, req *request.Write) (request.Encoded, error) {
	w := s.newWrite(req, admission.Create)
	if err := w.begin(ctx, nil); err != nil {
		return nil, s.apiError(err, req.Name)
	}
	m := w.obj.GetObjectMeta()
	generates := m.GenerateName != "" // perhaps for nothing: the error is the same
	enc, err := w.createNamed(ctx, generates && m.Name == "")
	if w.mayDisown(err) {
		w.obj.GetObjectMeta().ManagedFields = nil
		enc, err = w.create(ctx)
	}
	w.settleWith(ctx, err)
	name := w.obj.GetObjectMeta().Name
	if errors.Is(err, storage.Exists) {
		return nil, s.existsError(ctx, req.Namespace, name, generates)
	}
	if err != nil {
		return nil, s.apiError(err, name)
	}
	return enc, nil
}

// createNamed is create, which it tries again while generated names exist already. Strategies make use of the name: each try
// starts from what the client sent.
func (w *write) createNamed(ctx context.Context, generated bool) (request.Encoded, error) {
	if !generated {
		return w.create(ctx)
	}
	unnamed := w.obj
	for try := 1; ; try++ {
		w.obj = scheme.Copy(unnamed).(meta.Object)
		enc, err := w.create(ctx)
		if try == maxGenerateTries || !errors.Is(err, storage.Exists) {
			return enc, err
		}
	}
}

// create finishes and writes the object under one name. One that has been stored somewhere is refused by the store and not before, as
// in Kubernetes: what else is wrong with it is said first, and a dry run does not come so far.
func (w *write) create(ctx context.Context) (request.Encoded, error) {
	seen, _ := parseRevision(w.obj.GetObjectMeta().ResourceVersion) // what is no revision at all counts as none here
	value, err := w.finish(ctx)
	if err != nil {
		return nil, err
	}
	m := w.obj.GetObjectMeta()
	key, err := w.s.key(m.Namespace, m.Name)
	if err != nil {
		return nil, err
	}
	if w.r.DryRun {
		return w.s.dryCreate(ctx, key, value)
	}
	if seen != 0 {
		return nil, meta.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	for try := 1; ; try++ {
		enc, err := w.s.objects.CreateAs(ctx, key, value, w.form, w.lease)
		if !errors.Is(err, storage.NoLease) || try == maxLeaseTries {
			return enc, err
		}
		w.s.cfg.Leases.Forget(w.lease)
		if w.lease, err = w.s.lease(ctx, w.obj); err != nil {
			return nil, err
		}
	}
}

// baptize gives the object its identity, by which what is reserved for it can name it: its namespace, and if it is new a name and a
// UID. It refuses what admission has moved away from the place that the client may write to.
func (w *write) baptize() error {
	m := w.obj.GetObjectMeta()
	if w.old == nil && w.byUpdate && m.Name != w.req.Name {
		return meta.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			meta.Excerpt(m.Name), meta.Excerpt(w.req.Name)))
	}
	if err := fixNamespace(w.s.res.Namespaced, w.r.Namespace, m); err != nil || w.old != nil {
		return err
	}
	m.UID = NewUID()
	if m.GenerateName != "" && m.Name == "" {
		m.Name = generateName(m.GenerateName)
	}
	return nil
}

// beforeCreate fills in what the server owns and validates the object.
func (w *write) beforeCreate(ctx context.Context) error {
	s, m := w.s, w.obj.GetObjectMeta()
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
	if s.empty != nil {
		s.empty(w.obj)
	}
	if s.differ != nil {
		m.Generation = 1
	}
	m.CreationTimestamp = &meta.Time{Time: w.r.Now}
	m.ResourceVersion, m.SelfLink = "", ""
	if s.strategy.Prepare != nil {
		s.strategy.Prepare(w.r, w.obj, nil)
	}
	path := field.NewPath("metadata")
	errs := meta.ValidateObjectMeta(m, s.res.Namespaced, s.res.Strategy.ValidateName, path)
	if s.strategy.Metadata.has(MetaFinalizers) {
		errs = append(errs, meta.ValidateFinalizerNames(m.Finalizers, path.Child("finalizers"))...)
	}
	errs = append(errs, s.kind.Check(w.r.Context, w.obj, nil, w.version())...)
	errs = append(errs, w.validate(errs)...)
	if err := w.invalid(errs); err != nil {
		return err
	}
	w.warn()
	if s.strategy.Canonicalize != nil {
		s.strategy.Canonicalize(w.obj)
	}
	return nil
}

// dryCreate answers as Create would, without writing.
func (s *Store) dryCreate(ctx context.Context, key string, value []byte) (request.Encoded, error) {
	rev, err := s.objects.Exists(ctx, key)
	if err != nil {
		return nil, err
	}
	if rev != 0 {
		return nil, &storage.Error{Op: "create", Key: key, Kind: storage.Exists, Rev: rev}
	}
	return s.objects.Preview(key, value)
}

// existsError tells a name that is taken from one whose object is still going away.
func (s *Store) existsError(ctx context.Context, namespace, name string, generates bool) error {
	if generates {
		return meta.NewGenerateNameConflict(s.res.GroupResource, name, 1)
	}
	err := meta.NewAlreadyExists(s.res.GroupResource, name)
	enc, getErr := s.Get(ctx, namespace, name, "")
	if getErr != nil {
		return err
	}
	if obj, decodeErr := s.Decode(ctx, enc); decodeErr == nil && obj.GetObjectMeta().DeletionTimestamp != nil {
		err.Status.Message = "object is being deleted: " + err.Status.Message
	}
	return err
}

// NewUID returns an identity that nobody can guess.
func NewUID() meta.UID {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return meta.UID(meta.UUID(random))
}

// generateName appends five random characters to base, which is cut so that the name stays a label. The
// alphabet has no vowels and no look-alikes.
func generateName(base string) string {
	const alphabet, suffix, maxLength = "bcdfghjklmnpqrstvwxz2456789", 5, 63
	if len(base) > maxLength-suffix {
		base = base[:maxLength-suffix]
	}
	var r [suffix]byte
	rand.Read(r[:])
	for i := range r {
		r[i] = alphabet[int(r[i])%len(alphabet)]
	}
	return base + string(r[:])
}
