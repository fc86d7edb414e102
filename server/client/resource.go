package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Resource is a resource of a server whose objects are read and written as T. It is a value: In and
// Sub return another.
type Resource[T meta.Object] struct {
	c         *Client
	gvr       meta.GroupVersionResource
	namespace string
	sub       string
}

// For returns a resource as the client c sees it. Nothing is asked of the server, which may not
// have it.
func For[T meta.Object](c *Client, gvr meta.GroupVersionResource) Resource[T] {
	return Resource[T]{c: c, gvr: gvr}
}

// In returns the resource in one namespace. Outside of any ("", as For returns it), lists and
// watches cover all namespaces, and objects are those of cluster scope; what is created or updated
// says itself where it belongs.
func (r Resource[T]) In(namespace string) Resource[T] {
	r.namespace = namespace
	return r
}

// Sub returns a subresource of each object, such as "status". It has Get, Create, Update and Patch,
// as far as the server serves them. Its kind may be one of its own: T is what goes through this
// door.
func (r Resource[T]) Sub(name string) Resource[T] {
	r.sub = name
	return r
}

// Get returns an object.
func (r Resource[T]) Get(ctx context.Context, name string, opts meta.GetOptions) (T, error) {
	query := url.Values{}
	setText(query, "resourceVersion", opts.ResourceVersion)
	return r.object(ctx, http.MethodGet, r.namespace, name, &call{query: query})
}

// Create creates obj and returns it as it was stored.
func (r Resource[T]) Create(ctx context.Context, obj T, opts meta.CreateOptions) (T, error) {
	name := "" // a collection is posted to, unless it is a subresource
	if r.sub != "" {
		name = obj.GetObjectMeta().Name
	}
	return r.write(ctx, http.MethodPost, name, obj, writeQuery(opts.DryRun, opts.FieldManager, opts.FieldValidation))
}

// Update replaces an object by obj. If obj has a resourceVersion and the object another, the error
// is a conflict: read it again, and change that.
func (r Resource[T]) Update(ctx context.Context, obj T, opts meta.UpdateOptions) (T, error) {
	name := obj.GetObjectMeta().Name
	if name == "" {
		var zero T
		return zero, errNoName
	}
	return r.write(ctx, http.MethodPut, name, obj, writeQuery(opts.DryRun, opts.FieldManager, opts.FieldValidation))
}

// UpdateStatus is Sub("status").Update: of obj, only the status counts.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, opts meta.UpdateOptions) (T, error) {
	return r.Sub("status").Update(ctx, obj, opts)
}

func (r Resource[T]) write(ctx context.Context, method, name string, obj T, query url.Values) (T, error) {
	body, err := codec.AppendJSON(nil, obj)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("client: %w", err)
	}
	namespace := r.namespace
	if namespace == "" {
		namespace = obj.GetObjectMeta().Namespace
	}
	return r.object(ctx, method, namespace, name, &call{query: query, contentType: codec.JSONType, body: body})
}

// PatchType is the media type of a patch.
type PatchType string

// The types of patch.
const (
	JSONPatch      PatchType = "application/json-patch+json"            // a list of operations, RFC 6902
	MergePatch     PatchType = "application/merge-patch+json"           // the fields that change, RFC 7386
	StrategicPatch PatchType = "application/strategic-merge-patch+json" // the same, with lists merged by key; not for custom resources
	ApplyPatch     PatchType = "application/apply-patch+yaml"           // the fields that the manager wants, in JSON or YAML
)

// Patch changes an object and returns it as it was stored. An apply creates it if need be, and must
// name its FieldManager.
func (r Resource[T]) Patch(ctx context.Context, name string, typ PatchType, patch []byte,
	opts meta.PatchOptions) (T, error) {
	if name == "" {
		var zero T
		return zero, errNoName
	}
	query := writeQuery(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	setBool(query, "force", opts.Force)
	return r.object(ctx, http.MethodPatch, r.namespace, name, &call{
		query:       query,
		contentType: string(typ),
		body:        patch,
	})
}

// Delete deletes an object. It may live on, marked, until its finalizers are gone and its time is
// up.
func (r Resource[T]) Delete(ctx context.Context, name string, opts meta.DeleteOptions) error {
	if name == "" { // the path would be that of the whole collection
		return errNoName
	}
	call, err := r.deletion(name, &opts)
	if err != nil {
		return err
	}
	return r.c.do(ctx, call, func([]byte) error { return nil })
}

// DeleteCollection deletes, or marks, all objects that list selects, and returns them as they were
// before. With a limit it deletes one page, and goes on with the Continue of the answer.
func (r Resource[T]) DeleteCollection(ctx context.Context, opts meta.DeleteOptions,
	list meta.ListOptions) (*List[T], error) {
	call, err := r.deletion("", &opts)
	if err != nil {
		return nil, err
	}
	call.query, call.accept = listQuery(&list), accept[T](true)
	return r.list(ctx, call)
}

// deletion is the call that deletes one object, or without a name all of them. The options are in
// the body.
func (r Resource[T]) deletion(name string, opts *meta.DeleteOptions) (*call, error) {
	path, err := r.path(r.namespace, name)
	if err != nil {
		return nil, err
	}
	opts.TypeMeta = meta.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	body, err := codec.AppendJSON(nil, opts)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &call{
		method:      http.MethodDelete,
		path:        path,
		accept:      codec.JSONType,
		contentType: codec.JSONType,
		body:        body,
	}, nil
}

// object completes and sends a call whose answer is one object.
func (r Resource[T]) object(ctx context.Context, method, namespace, name string, call *call) (obj T, err error) {
	if name == "" && method != http.MethodPost {
		return obj, errNoName
	}
	if call.path, err = r.path(namespace, name); err != nil {
		return obj, err
	}
	call.method, call.accept = method, accept[T](false)
	err = r.c.do(ctx, call, func(data []byte) (err error) {
		obj, err = r.decode(data, meta.GroupVersionKind{})
		return err
	})
	return obj, err
}

var errNoName = errors.New("client: an object is asked for without a name")

// path is where an object is, or without a name the collection.
func (r Resource[T]) path(namespace, name string) (string, error) {
	path := "/apis/" + r.gvr.Group + "/" + r.gvr.Version
	if r.gvr.Group == "" {
		path = "/api/" + r.gvr.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.gvr.Resource
	for _, part := range []string{namespace, name} {
		if msgs := names.IsPathSegmentName(part); len(msgs) > 0 {
			return "", fmt.Errorf("client: no object has the name or namespace %q: it %s", part, msgs[0])
		}
	}
	if name != "" {
		path += "/" + name
	}
	if r.sub != "" {
		if name == "" {
			return "", errNoName
		}
		path += "/" + r.sub
	}
	return path, nil
}
