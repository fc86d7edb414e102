// Reads and writes of single objects, and deletions: all methods of Resource except List, All,
// Watch and Source.

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

// Resource reads and writes the objects of one resource of a server as T. It is a value: In and Sub
// return a changed copy.
type Resource[T meta.Object] struct {
	c         *Client
	gvr       meta.GroupVersionResource
	namespace string
	sub       string
}

// For returns a resource of the server of c. It sends no request, so the server may lack the
// resource.
func For[T meta.Object](c *Client, gvr meta.GroupVersionResource) Resource[T] {
	return Resource[T]{c: c, gvr: gvr}
}

// In returns the resource in one namespace. Without a namespace ("", as For returns it) lists and
// watches cover all namespaces, Get, Patch and Delete take objects of cluster scope, and Create and
// Update take the namespace from the object.
func (r Resource[T]) In(namespace string) Resource[T] {
	r.namespace = namespace
	return r
}

// Sub returns a subresource of the objects, such as "status". It has Get, Create, Update and Patch,
// as far as the server serves them. T is the type of the subresource, which may differ from the
// resource's: Scale for "scale".
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

// Create creates obj and returns the stored object.
func (r Resource[T]) Create(ctx context.Context, obj T, opts meta.CreateOptions) (T, error) {
	name := "" // a POST goes to the collection, except for a subresource
	if r.sub != "" {
		name = obj.GetObjectMeta().Name
	}
	return r.write(ctx, http.MethodPost, name, obj, writeQuery(opts.DryRun, opts.FieldManager, opts.FieldValidation))
}

// Update replaces the stored object by obj and returns the new one. If obj has a resourceVersion
// and the stored object has another, the error is a conflict; the caller must then read the object
// and change it again.
func (r Resource[T]) Update(ctx context.Context, obj T, opts meta.UpdateOptions) (T, error) {
	name := obj.GetObjectMeta().Name
	if name == "" {
		var zero T
		return zero, errNoName
	}
	return r.write(ctx, http.MethodPut, name, obj, writeQuery(opts.DryRun, opts.FieldManager, opts.FieldValidation))
}

// UpdateStatus is Sub("status").Update: it replaces the status of the stored object by that of obj,
// and nothing else.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, opts meta.UpdateOptions) (T, error) {
	return r.Sub("status").Update(ctx, obj, opts)
}

// write sends obj to the namespace of r, or to the namespace in obj if r has none.
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

// The types of patch. Custom resources have no strategic merge patch.
const (
	JSONPatch      PatchType = "application/json-patch+json"            // a list of operations, RFC 6902
	MergePatch     PatchType = "application/merge-patch+json"           // the fields that change, RFC 7396
	StrategicPatch PatchType = "application/strategic-merge-patch+json" // like MergePatch, but merges lists by key
	ApplyPatch     PatchType = "application/apply-patch+yaml"           // the manager's fields, in JSON or YAML
)

// Patch changes an object and returns the stored object. An ApplyPatch creates the object if it
// does not exist, and needs opts.FieldManager.
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

// Delete deletes an object. If the object has finalizers or a grace period, the server only sets
// its deletionTimestamp, and the object exists until the finalizers are gone and the period is
// over.
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

// DeleteCollection deletes all objects that list selects, by the rules of Delete, and returns them.
// If list.Limit is set, it deletes one page; to delete the next page, the caller sets list.Continue
// to the Continue of the result.
func (r Resource[T]) DeleteCollection(ctx context.Context, opts meta.DeleteOptions,
	list meta.ListOptions) (*List[T], error) {
	call, err := r.deletion("", &opts)
	if err != nil {
		return nil, err
	}
	call.query, call.accept = listQuery(&list), accept[T](true)
	return r.list(ctx, call)
}

// deletion returns the call that deletes one object, or the collection if name is "". The options
// go into the body.
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

// errNoName keeps a request for one object from going to the whole collection.
var errNoName = errors.New("client: the name of the object is empty")

// path returns the path of an object, or of the collection if name is "". It refuses names that
// could lead to another path, such as "..".
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
