package router

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Getter serves the verb get.
type Getter interface {
	// Get returns the object called name in a namespace. resourceVersion has the meaning of the
	// API: "" reads the latest state, "0" any state, and any other value a state that is at least
	// as new.
	Get(ctx context.Context, namespace, name, resourceVersion string) (request.Encoded, error)
}

// Lister serves the verb list.
type Lister interface {
	// List returns one page of the objects that req selects.
	List(ctx context.Context, req *request.ListRequest) (*request.List, error)
}

// Watcher serves the verb watch.
type Watcher interface {
	// Watch returns a cursor over the changes that req selects. The caller closes it.
	Watch(ctx context.Context, req *request.ListRequest) (request.EventCursor, error)
}

// Creater serves the verb create. For a virtual resource such as tokenreviews, create only computes
// an answer.
type Creater interface {
	// Create stores the object that req.Change makes and returns it as stored. req.Name is the name
	// in the path, and empty if the path has none.
	Create(ctx context.Context, req *request.Write) (request.Encoded, error)
}

// Updater serves the verbs update and patch.
type Updater interface {
	// Update changes an object as req says and returns it as stored. created reports whether the
	// object did not exist before.
	Update(ctx context.Context, req *request.Write) (request.Encoded, bool, error)
}

// Deleter serves the verb delete.
type Deleter interface {
	// Delete deletes the object that req names, or marks it as being deleted.
	Delete(ctx context.Context, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error)
}

// CollectionDeleter serves the verb deletecollection.
type CollectionDeleter interface {
	// DeleteCollection deletes the objects that list selects and returns them. req says who
	// deletes, and how.
	DeleteCollection(
		ctx context.Context, list *request.ListRequest, req *request.Write, opts *meta.DeleteOptions,
	) (*request.List, error)
}

// Connecter serves connections to what an object stands for: exec, attach, portforward, proxy, log.
type Connecter interface {
	// Connect returns the handler of a request. path is the rest of the path behind the
	// subresource, without a leading slash.
	Connect(ctx context.Context, req *request.Write, path string) (http.Handler, error)
}

// Encoder makes the forms in which objects are sent. Every Resource has one.
type Encoder interface {
	// FormOf returns the number of a form: a version in a media type, whole or metadata only, with
	// or without managedFields. Equal arguments give equal numbers, which begin at 1. Only the
	// first call with given arguments allocates.
	FormOf(version string, m codec.Media) uint32
	// Encode makes a form with managedFields; the router itself cuts them out for forms without.
	// JSON is without a final newline. The caller must not change the bytes.
	Encode(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error)
}
