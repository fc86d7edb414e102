package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// ComputedResource declares a cluster-scoped, read-only resource that is not stored: its objects
// are computed when a client reads them (componentstatuses).
type ComputedResource struct {
	GroupResource meta.GroupResource
	Kind          string
	Singular      string // "": the kind in lower case
	ShortNames    []string
	// Compute computes all objects, in the hub of the kind. It may do I/O. store is the server's
	// store, so that Compute can check whether it works.
	Compute    func(ctx context.Context, store storage.Store) []meta.Object
	Table      *Table
	Deprecated []Deprecation
}

// Describe returns what discovery says about the resource in the version of gvk.
func (o *ComputedResource) Describe(gvk meta.GroupVersionKind) meta.Description {
	return meta.Description{Name: o.GroupResource.Resource, Singular: o.Singular, Kind: gvk, ShortNames: o.ShortNames}
}

// ComputedReader serves get and list of a ComputedResource. All methods may be called at once.
type ComputedReader struct {
	ComputedResource
	cfg   *Config
	kind  kind.Kind
	forms *forms
}

// NewComputedReader makes the ComputedReader of a resource, whose kind must be registered.
func NewComputedReader(cfg *Config, o ComputedResource) (*ComputedReader, error) {
	k := cfg.Kinds.Kind(meta.GroupKind{Group: o.GroupResource.Group, Kind: o.Kind})
	if k == nil {
		return nil, fmt.Errorf("registry: the kind %s of %s is not registered", o.Kind, o.GroupResource)
	}
	if o.Singular == "" {
		o.Singular = strings.ToLower(o.Kind)
	}
	return &ComputedReader{ComputedResource: o, cfg: cfg, kind: k, forms: newForms(new(atomic.Uint32))}, nil
}

// Kind is the kind of the objects.
func (o *ComputedReader) Kind() kind.Kind { return o.kind }

// Get observes one object. The 404 names the resource in the singular, as kube-apiserver's does.
// See router.Getter.
func (o *ComputedReader) Get(ctx context.Context, _, name, _ string) (request.Encoded, error) {
	for _, obj := range o.Compute(ctx, o.cfg.Cache.Store()) {
		if obj.GetObjectMeta().Name == name {
			return observation{obj}, nil
		}
	}
	return nil, meta.NewNotFound(meta.GroupResource{Group: o.GroupResource.Group, Resource: o.Singular}, name)
}

// List observes all objects and returns those that are selected, sorted by name, in one page and
// without a resourceVersion. See router.Lister.
func (o *ComputedReader) List(ctx context.Context, req *request.ListRequest) (*request.List, error) {
	fields, err := req.Fields.Transform(kind.In(o.kind, req.Version).FieldLabel)
	if err != nil {
		return nil, meta.NewBadRequest(meta.Excerpt(err.Error()))
	}
	objects := slices.DeleteFunc(o.Compute(ctx, o.cfg.Cache.Store()), func(obj meta.Object) bool {
		m := obj.GetObjectMeta()
		return !req.Labels.Matches(meta.Set(m.Labels)) ||
			!fields.Matches(meta.Set{"metadata.name": m.Name, "metadata.namespace": ""})
	})
	slices.SortFunc(objects, func(a, b meta.Object) int {
		return cmp.Compare(a.GetObjectMeta().Name, b.GetObjectMeta().Name)
	})
	items := func(yield func(request.Encoded) bool) {
		for _, obj := range objects {
			if !yield(observation{obj}) {
				return
			}
		}
	}
	return &request.List{Items: items, Len: len(objects)}, nil
}

// FormOf returns the number of a form of the objects. The same arguments give the same number.
func (o *ComputedReader) FormOf(version string, m codec.Media) uint32 {
	m.Pretty, m.Stream = false, false
	gk := o.kind.GroupKind()
	return o.forms.of(meta.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind}, m)
}

// Encode encodes an object, which Get or List returned, in a version and in the media type m.
func (o *ComputedReader) Encode(
	ctx context.Context, enc request.Encoded, version string, m codec.Media,
) ([]byte, error) {
	obj, err := o.kind.Convert(ctx, enc.(observation).obj, version)
	if err != nil {
		return nil, err
	}
	obj.GetTypeMeta().SetGroupVersionKind(kind.In(o.kind, version).GVK)
	partial := m.As == codec.AsPartial || m.As == codec.AsPartialList
	if m.Type == codec.Protobuf && !partial {
		return o.kind.Append(nil, obj, codec.Media{Type: codec.Protobuf})
	}
	data, err := o.kind.Append(nil, obj, codec.Media{})
	if err == nil && partial {
		data, err = codec.AppendPartial(nil, data, m.Version)
	}
	if err != nil || m.Type == codec.JSON {
		return data, err
	}
	return o.cfg.Codecs.Transcode(nil, data, codec.Media{Type: m.Type})
}

// Columns returns the columns of the kind's Table.
func (o *ComputedReader) Columns() []meta.TableColumnDefinition { return o.Table.Columns }

// Row returns the cells of an object's row, one for each column. Without an object (enc is nil) it
// is the row of an empty one.
func (o *ComputedReader) Row(
	_ context.Context, enc request.Encoded, now time.Time,
) ([]any, []meta.TableRowCondition, error) {
	obj := o.kind.New()
	if enc != nil {
		obj = enc.(observation).obj
	}
	return o.Table.Cells(obj, now), nil, nil
}

// observation is an observed object as request.Encoded. It is not encoded before a client asks for
// a form.
type observation struct{ obj meta.Object }

func (observation) Stored() ([]byte, uint32) { return nil, 0 }
func (observation) Head() int                { return 0 }
func (observation) Revision() uint64         { return 0 }

func (observation) Form(_ uint32, build func() ([]byte, error)) ([]byte, error) { return build() }
