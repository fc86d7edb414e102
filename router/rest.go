package router

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
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

// Creater creates objects, or does what they ask for.
type Creater interface {
	// Create stores the object that req makes and returns it as stored. req.Name is that of the path; it is empty where
	// the object brings its own.
	Create(ctx context.Context, req *request.Write) (request.Encoded, error)
}

// Updater replaces objects; patches use it as well.
type Updater interface {
	// Update reports true if the object was created.
	Update(ctx context.Context, req *request.Write) (request.Encoded, bool, error)
}

// Deleter deletes one object.
type Deleter interface {
	Delete(ctx context.Context, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error)
}

// CollectionDeleter deletes what a list selects, and returns it. req says who deletes, and how.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, list *request.ListRequest, req *request.Write, opts *meta.DeleteOptions) (*request.List, error)
}

// Connecter hands a request on to what an object stands for: a shell, a log, a port.
type Connecter interface {
	// Connect returns the handler of a request. path is what follows the subresource's name, without a slash before it.
	Connect(ctx context.Context, req *request.Write, path string) (http.Handler, error)
}

// Encoder makes the forms in which objects are sent. Every resource has one.
type Encoder interface {
	// FormOf returns the number of a form: objects of a version in a media type, whole or metadata only, with managedFields or
	// without. The same arguments give the same number, from 1, and it allocates only the first time.
	FormOf(version string, m codec.Media) uint32
	// Encode makes it, if it is one with managedFields: they are cut out by the router. JSON is without a final newline. The
	// bytes are only to be read.
	Encode(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error)
}
