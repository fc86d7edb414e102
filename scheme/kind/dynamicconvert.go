package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

func (k *dynamic) Convert(ctx context.Context, obj meta.Typed, version string) (meta.Typed, error) {
	u := obj.(*scheme.Unstructured)
	if version == scheme.InternalVersion {
		if version = k.hub; k.hubless && u.GroupVersionKind().GroupKind() == k.gk {
			version = u.GroupVersionKind().Version
		}
	}
	if k.convertAll != nil {
		out, err := k.batch(ctx, []meta.Typed{obj}, version)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	to, err := k.converts(u, version)
	if err != nil {
		return nil, err
	}
	if u.GroupVersionKind() == to {
		return u, nil
	}
	own := u.DeepCopy()
	if k.convert == nil {
		own.SetGroupVersionKind(to)
		In(k, version).rules().Prune(own.Content)
		return own, nil
	}
	from := u.GroupVersionKind().GroupVersion()
	out, err := k.convert(ctx, own, version)
	if err == nil {
		err = k.converted(out, to)
	}
	if err != nil {
		return nil, notConverted(from, to, err)
	}
	return out, nil
}

// Renames reports whether the versions of a kind differ in nothing but what they know: a conversion sets the apiVersion, and prunes.
func Renames(k Kind) bool {
	d, ok := k.(*dynamic)
	return ok && d.convert == nil && d.convertAll == nil
}

func (k *dynamic) Batch() func(context.Context, []meta.Typed, string) ([]meta.Typed, error) {
	if k.convertAll == nil {
		return nil
	}
	return k.batch
}

// batch converts by convertAll.
func (k *dynamic) batch(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error) {
	var from meta.GroupVersion
	var asked []*scheme.Unstructured
	var places []int
	to := meta.GroupVersionKind{}
	for i, obj := range objs {
		u := obj.(*scheme.Unstructured)
		var err error
		if to, err = k.converts(u, version); err != nil {
			return nil, err
		}
		if u.GroupVersionKind() != to {
			from, asked, places = u.GroupVersionKind().GroupVersion(), append(asked, u.DeepCopy()), append(places, i)
		}
	}
	out := slices.Clone(objs)
	if len(asked) == 0 {
		return out, nil
	}
	converted, err := k.convertAll(ctx, asked, version)
	if err == nil && len(converted) != len(asked) {
		err = fmt.Errorf("there are %d results for %d objects", len(converted), len(asked))
	}
	for i := 0; i < len(asked) && err == nil; i++ {
		out[places[i]], err = converted[i], k.converted(converted[i], to)
	}
	if err != nil {
		return nil, notConverted(from, to, err)
	}
	return out, nil
}

// converts returns what u is in a version, or that there is no way there.
func (k *dynamic) converts(u *scheme.Unstructured, version string) (meta.GroupVersionKind, error) {
	from, to := u.GroupVersionKind(), meta.GroupVersionKind{Group: k.gk.Group, Version: version, Kind: k.gk.Kind}
	switch {
	case k.hubless && from.GroupKind() == k.gk && In(k, from.Version) == nil: // it was stored before the version went
		return to, &meta.StatusError{Status: *meta.StatusOf(fmt.Errorf("request to convert CR from an invalid group/version: %s", from.GroupVersion()))}
	case In(k, version) == nil:
		return to, k.unknown(to)
	case from != to && (from.GroupKind() != k.gk || In(k, from.Version) == nil):
		return to, &scheme.ConversionError{From: from, To: to}
	}
	return to, nil
}

// converted judges what a converter has made, and prunes it.
func (k *dynamic) converted(u *scheme.Unstructured, to meta.GroupVersionKind) error {
	switch {
	case u == nil:
		return errors.New("the result is nothing")
	case u.GroupVersionKind() != to:
		return fmt.Errorf("the result is a %s", u.GroupVersionKind())
	}
	In(k, to.Version).rules().Prune(u.Content)
	return nil
}

func notConverted(from meta.GroupVersion, to meta.GroupVersionKind, err error) error {
	return fmt.Errorf("conversion from %s to %s: %w", from, to.GroupVersion(), err)
}
