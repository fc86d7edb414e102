package registry

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// versions implements apply.Versions: the versions of a kind, and of kinds with the same hub in
// other groups (events). Managers may own fields in any of them.
type versions struct {
	kind  kind.Kind
	kinds kind.Finder
}

// find returns the kind and version of an apiVersion, nil if there is none.
func (v versions) find(apiVersion string) (kind.Kind, *kind.Version) {
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return nil, nil
	}
	k := v.kind
	if gk := k.GroupKind(); gk.Group != gv.Group {
		k = v.kinds.Kind(meta.GroupKind{Group: gv.Group, Kind: gk.Kind})
		if k == nil || !sameHub(k, v.kind) {
			return nil, nil
		}
	}
	return k, kind.In(k, gv.Version)
}

// Schema implements apply.Versions.
func (v versions) Schema(apiVersion string) *schema.Schema {
	_, version := v.find(apiVersion)
	if version == nil {
		return nil
	}
	return version.Schema()
}

// Convert implements apply.Versions.
func (v versions) Convert(ctx context.Context, tree any, from, to string) (any, error) {
	k, version := v.find(from)
	target, wanted := v.find(to)
	if version == nil || wanted == nil {
		return nil, fmt.Errorf("no conversion from %s to %s", from, to)
	}
	obj, err := decodeTree(k, tree, version.GVK, meter.ForSize(ctx, 0))
	if err != nil {
		return nil, err
	}
	// Between versions of a custom resource only the apiVersion changes, as in Kubernetes: a field
	// that the other version does not have then keeps the owners from being determined.
	if k == target && kind.Renames(k) {
		obj.GetTypeMeta().SetGroupVersionKind(wanted.GVK)
		data, err := k.Append(nil, obj, codec.Media{})
		return jsontext.RawOf(data), err
	}
	hub, err := kind.ToHub(ctx, k, obj)
	if err != nil {
		return nil, err
	}
	return encodeTree(ctx, target, hub, wanted.GVK)
}

// Empty implements apply.Versions.
func (v versions) Empty(apiVersion string) (any, error) {
	k, version := v.find(apiVersion)
	if version == nil {
		return nil, fmt.Errorf("no version %s", apiVersion)
	}
	return v.empty(k, version.GVK)
}

func (v versions) empty(k kind.Kind, gvk meta.GroupVersionKind) (any, error) {
	return encodeTree(context.Background(), k, k.New(), gvk)
}

// encodeTree converts an object to a version and returns it as an undecoded tree.
func encodeTree(ctx context.Context, k kind.Kind, obj meta.Typed, gvk meta.GroupVersionKind) (jsontext.Raw, error) {
	obj, err := k.Convert(ctx, obj, gvk.Version)
	if err != nil {
		return "", err
	}
	obj.GetTypeMeta().SetGroupVersionKind(gvk)
	data, err := k.Append(nil, obj, codec.Media{})
	return jsontext.RawOf(data), err
}

// decodeTree decodes an object from a tree, and keeps fields that the schema does not have.
func decodeTree(k kind.Kind, tree any, gvk meta.GroupVersionKind, m *meter.Meter) (meta.Typed, error) {
	data, err := jsontext.AppendTree(nil, tree, jsontext.Plain)
	if err != nil {
		return nil, err
	}
	decoded, err := k.Decode(codec.DecodeRequest{Data: data, As: gvk, Unpruned: true, Shared: true, Meter: m})
	if err != nil {
		return nil, fmt.Errorf("unable to convert unstructured object to %s: %w", gvk, err)
	}
	return decoded.Object, nil
}
