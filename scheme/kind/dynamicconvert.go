package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// Converter converts objects into a version. It returns the results in the order of objs. An error
// about one of them is an *ObjectError. The Kind returns a *meta.StatusError with its own text, and
// any other error behind the names of both versions.
type Converter func(ctx context.Context, objs []*scheme.Unstructured, version string) ([]*scheme.Unstructured, error)

// Each returns a Converter that calls convert for one object after the other.
func Each(convert func(ctx context.Context, obj *scheme.Unstructured, version string) (*scheme.Unstructured,
	error)) Converter {
	return func(ctx context.Context, objs []*scheme.Unstructured, version string) ([]*scheme.Unstructured, error) {
		out := make([]*scheme.Unstructured, len(objs))
		for i, u := range objs {
			var err error
			if out[i], err = convert(ctx, u, version); err != nil {
				return nil, &ObjectError{i, err}
			}
		}
		return out, nil
	}
}

// ObjectError is an error about one of the objects that were to be converted together. Index is its
// index among them.
type ObjectError struct {
	Index int
	Err   error
}

func (e *ObjectError) Error() string { return e.Err.Error() }
func (e *ObjectError) Unwrap() error { return e.Err }

// Convert implements Kind. For a hubless kind the hub is the version that the object is in.
func (k *dynamic) Convert(ctx context.Context, obj meta.Typed, version string) (meta.Typed, error) {
	if version == scheme.InternalVersion {
		version = k.hub
		if gvk := obj.GetTypeMeta().GroupVersionKind(); k.hubless && gvk.GroupKind() == k.gk {
			version = gvk.Version
		}
	}
	out, err := k.convertAll(ctx, []meta.Typed{obj}, version)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Renames reports whether a conversion between versions of k only sets the apiVersion and prunes,
// because k is dynamic and has no Converter.
func Renames(k Kind) bool {
	d, ok := k.(*dynamic)
	return ok && d.convert == nil
}

// Batch implements Kind. It returns nil for a kind without a Converter.
func (k *dynamic) Batch() func(context.Context, []meta.Typed, string) ([]meta.Typed, error) {
	if k.convert == nil {
		return nil
	}
	return k.convertAll
}

// convertAll returns objs in a version. It converts copies of the objects that are not in that
// version yet.
func (k *dynamic) convertAll(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error) {
	to := meta.GroupVersionKind{Group: k.gk.Group, Version: version, Kind: k.gk.Kind}
	out := slices.Clone(objs)
	var asked []*scheme.Unstructured
	var indexes []int
	for i, obj := range objs {
		u := obj.(*scheme.Unstructured)
		if err := k.checkConvertible(u, to); err != nil {
			return nil, &ObjectError{i, err}
		}
		if u.GroupVersionKind() != to {
			asked, indexes = append(asked, u.DeepCopy()), append(indexes, i)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	made, err := asked, error(nil)
	if k.convert == nil {
		setKinds(asked, to)
	} else if made, err = k.convert(ctx, asked, version); err == nil && len(made) != len(asked) {
		err = fmt.Errorf("there are %d results for %d objects", len(made), len(asked))
	}
	m := meter.NewValue(ctx)
	for i := 0; i < len(asked) && err == nil; i++ {
		if err = k.checkConverted(&m, made[i], to); err != nil {
			err = &ObjectError{i, err}
		}
		out[indexes[i]] = made[i]
	}
	if err == nil {
		return out, nil
	}
	about, objectErr := indexes[0], (*ObjectError)(nil)
	if errors.As(err, &objectErr) {
		about = indexes[objectErr.Index]
	}
	if status := (*meta.StatusError)(nil); !errors.As(err, &status) {
		from := objs[about].GetTypeMeta().GroupVersionKind().GroupVersion()
		err = fmt.Errorf("conversion from %s to %s: %w", from, to.GroupVersion(), err)
	}
	if objectErr != nil || len(objs) == 1 {
		err = &ObjectError{about, err}
	}
	return nil, err
}

// setKinds sets the apiVersion and kind of objects.
func setKinds(objs []*scheme.Unstructured, to meta.GroupVersionKind) {
	for _, u := range objs {
		u.SetGroupVersionKind(to)
	}
}

// checkConvertible returns an error if u cannot be converted to version to of the kind.
func (k *dynamic) checkConvertible(u *scheme.Unstructured, to meta.GroupVersionKind) error {
	from := u.GroupVersionKind()
	switch {
	case k.hubless && from.GroupKind() == k.gk && In(k, from.Version) == nil: // stored before the version was removed
		err := fmt.Errorf("request to convert CR from an invalid group/version: %s", from.GroupVersion())
		return &meta.StatusError{Status: *meta.StatusOf(err)}
	case In(k, to.Version) == nil:
		return k.notRegistered(to)
	case from != to && (from.GroupKind() != k.gk || In(k, from.Version) == nil):
		return &scheme.ConversionError{From: from, To: to}
	}
	return nil
}

// checkConverted checks an object that a converter has returned, and prunes it.
func (k *dynamic) checkConverted(m *meter.Meter, u *scheme.Unstructured, to meta.GroupVersionKind) error {
	switch {
	case u == nil:
		return errors.New("the result is null")
	case u.GroupVersionKind() != to:
		return fmt.Errorf("the result is a %s", u.GroupVersionKind())
	}
	In(k, to.Version).rules().Prune(m, u.Content)
	return m.Err()
}
