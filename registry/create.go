package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// maxGenerateTries is how often a generated name that exists already is replaced by another.
const maxGenerateTries = 8

// Create stores a new object. See router.Creater.
//
// Steps: admission changes it, the strategy prepares it, the server's metadata is filled in, it is validated,
// admission approves, it is encoded once and written.
func (s *Store) Create(ctx context.Context, namespace, name string, obj meta.Object, opts *meta.CreateOptions) (request.Encoded, error) {
	m := obj.GetObjectMeta()
	if rv := m.ResourceVersion; rv != "" && rv != "0" {
		return nil, meta.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := s.fixNamespace(namespace, m); err != nil {
		return nil, err
	}
	attrs := s.attributes(ctx, admission.Create, namespace, firstNonEmpty(name, m.Name))
	attrs.Object, attrs.Options, attrs.DryRun = obj, opts, len(opts.DryRun) > 0
	if err := s.cfg.Admission.Mutate(ctx, attrs); err != nil {
		return nil, err
	}
	generated := m.Name == "" && m.GenerateName != ""
	for try := 1; ; try++ {
		enc, err := s.createOnce(ctx, obj, attrs)
		if generated && try < maxGenerateTries && errors.Is(err, storage.Exists) {
			m.Name = ""
			continue
		}
		if errors.Is(err, storage.Exists) {
			return nil, s.existsError(ctx, namespace, m.Name, generated)
		}
		return enc, s.apiError(err, m.Name)
	}
}

// createOnce prepares, validates and writes obj under one name.
func (s *Store) createOnce(ctx context.Context, obj meta.Object, attrs *admission.Attributes) (request.Encoded, error) {
	m := obj.GetObjectMeta()
	r := s.strategyRequest(ctx, attrs.Namespace, nil)
	r.DryRun = attrs.DryRun
	if err := s.beforeCreate(ctx, r, obj); err != nil {
		return nil, err
	}
	attrs.Name = m.Name
	if err := s.cfg.Admission.Validate(ctx, attrs); err != nil {
		return nil, err
	}
	key, err := s.key(m.Namespace, m.Name)
	if err != nil {
		return nil, err
	}
	value, lease, err := s.encode(ctx, obj, r.DryRun)
	if err != nil {
		return nil, err
	}
	if r.DryRun {
		return s.dryCreate(ctx, key, value)
	}
	for try := 1; ; try++ {
		enc, err := s.objects.Create(ctx, key, value, lease)
		if !errors.Is(err, storage.NoLease) || try == maxLeaseTries {
			return enc, err
		}
		if lease, err = s.anotherLease(ctx, obj, lease); err != nil {
			return nil, err
		}
	}
}

// beforeCreate fills in what the server owns and validates the object.
func (s *Store) beforeCreate(ctx context.Context, r *Request, obj meta.Object) error {
	m := obj.GetObjectMeta()
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
	if s.strategy.Prepare != nil {
		s.strategy.Prepare(r, obj)
	}
	m.CreationTimestamp = &meta.Time{Time: r.Now}
	m.UID = newUID()
	m.ResourceVersion, m.SelfLink, m.ManagedFields = "", "", nil
	if m.GenerateName != "" && m.Name == "" {
		m.Name = generateName(m.GenerateName)
	}
	path := field.NewPath("metadata")
	errs := meta.ValidateObjectMeta(m, s.res.Namespaced, s.res.Strategy.ValidateName, path)
	if s.strategy.Metadata == MetaWhole {
		errs = append(errs, meta.ValidateFinalizerNames(m.Finalizers, path.Child("finalizers"))...)
	}
	errs = append(errs, s.cfg.Scheme.Check(obj, nil)...)
	if s.strategy.Validate != nil {
		errs = append(errs, s.strategy.Validate(r, obj)...)
	}
	if len(errs) > 0 {
		return meta.NewInvalid(s.storageGVK.GroupKind(), m.Name, errs)
	}
	s.warn(ctx, r, obj, nil)
	if s.strategy.Canonicalize != nil {
		s.strategy.Canonicalize(obj)
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
func (s *Store) existsError(ctx context.Context, namespace, name string, generated bool) error {
	if generated {
		return meta.NewGenerateNameConflict(s.res.GroupResource, name, 1)
	}
	err := meta.NewAlreadyExists(s.res.GroupResource, name)
	enc, getErr := s.Get(ctx, namespace, name, "")
	if getErr != nil {
		return err
	}
	if obj, decodeErr := s.Decode(enc); decodeErr == nil && obj.GetObjectMeta().DeletionTimestamp != nil {
		err.Status.Message = "object is being deleted: " + err.Status.Message
	}
	return err
}

// fixNamespace lets an object take the namespace of its path, and refuses another.
func (s *Store) fixNamespace(namespace string, m *meta.ObjectMeta) error {
	if !s.res.Namespaced {
		if m.Namespace != "" {
			return meta.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		return nil
	}
	if m.Namespace == "" {
		m.Namespace = namespace
	}
	if m.Namespace != namespace {
		return meta.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// attributes describes a write to the admission plugins.
func (s *Store) attributes(ctx context.Context, op admission.Operation, namespace, name string) *admission.Attributes {
	a := &admission.Attributes{
		Operation:   op,
		Resource:    s.storageGVK.GroupVersion().WithResource(s.res.GroupResource.Resource),
		Kind:        s.storageGVK,
		Subresource: s.subresource,
		Namespace:   namespace,
		Name:        name,
		Warn:        func(string) {},
	}
	if info := request.From(ctx); info != nil {
		a.User, a.Warn = info.User, info.Warn
		if info.APIVersion != "" && info.APIGroup == s.storageGVK.Group {
			a.Resource.Version, a.Kind.Version = info.APIVersion, info.APIVersion
		}
	}
	return a
}

// warn hands the strategy's warnings to the client.
func (s *Store) warn(ctx context.Context, r *Request, obj, old meta.Object) {
	info := request.From(ctx)
	if s.strategy.Warnings == nil || info == nil {
		return
	}
	for _, text := range s.strategy.Warnings(r, obj, old) {
		info.Warn(text)
	}
}

// encode makes the stored bytes of obj, and its lease if the kind has a TTL.
func (s *Store) encode(ctx context.Context, obj meta.Object, dryRun bool) ([]byte, storage.LeaseID, error) {
	value, err := s.reader.encode(obj)
	if err != nil {
		return nil, 0, fmt.Errorf("encode %s %q: %w", s.res.GroupResource, obj.GetObjectMeta().Name, err)
	}
	if dryRun {
		return value, 0, nil
	}
	lease, err := s.lease(ctx, obj)
	return value, lease, err
}

// lease returns a lease for obj, 0 if its kind lives on.
func (s *Store) lease(ctx context.Context, obj meta.Object) (storage.LeaseID, error) {
	if s.res.TTL == nil {
		return 0, nil
	}
	ttl := s.res.TTL(obj)
	if ttl <= 0 {
		return 0, nil
	}
	return s.cfg.Leases.Get(ctx, ttl)
}

// maxLeaseTries is how often a write is tried whose lease the store has lost.
const maxLeaseTries = 3

// anotherLease returns a lease in place of one that the store has lost, which nobody gets any more.
func (s *Store) anotherLease(ctx context.Context, obj meta.Object, lost storage.LeaseID) (storage.LeaseID, error) {
	s.cfg.Leases.Forget(lost)
	return s.lease(ctx, obj)
}

// newUID makes a random (version 4) UUID.
func newUID() meta.UID {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	const hex = "0123456789abcdef"
	var b [36]byte
	for i, j := 0, 0; i < 16; i++ {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[j] = '-'
			j++
		}
		b[j], b[j+1] = hex[u[i]>>4], hex[u[i]&15]
		j += 2
	}
	return meta.UID(b[:])
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

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
