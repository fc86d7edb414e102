package router

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Getter reads one object.
type Getter interface {
	// Get returns the object called name in a namespace. resourceVersion is as in the API: "" is consistent, "0" any
	// state, else not older than.
	Get(ctx context.Context, namespace, name, resourceVersion string) (request.Encoded, error)
}

// Lister lists objects.
type Lister interface {
	List(ctx context.Context, req *request.ListRequest) (*request.List, error)
}

// Watcher watches objects.
type Watcher interface {
	Watch(ctx context.Context, req *request.ListRequest) (request.EventCursor, error)
}

// Creater creates objects.
type Creater interface {
	// New returns an empty object of the hub version.
	New() meta.Object
	// Create stores obj, in the hub version, and returns it as stored. name is that of the path; it is empty where
	// the object brings its own.
	Create(ctx context.Context, namespace, name string, obj meta.Object, opts *meta.CreateOptions) (request.Encoded, error)
}

// Updater replaces objects; patches use it as well.
type Updater interface {
	New() meta.Object
	// Update reports true if the object was created.
	Update(ctx context.Context, req *request.UpdateRequest) (request.Encoded, bool, error)
}

// Deleter deletes one object.
type Deleter interface {
	Delete(ctx context.Context, namespace, name string, opts *meta.DeleteOptions) (*request.DeleteResult, error)
}

// CollectionDeleter deletes what a list selects, and returns it.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, req *request.ListRequest, opts *meta.DeleteOptions) (*request.List, error)
}
