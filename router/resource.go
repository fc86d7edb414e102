package router

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resource is a resource or subresource in one served version. It serves the verbs whose interfaces
// are not nil.
type Resource struct {
	meta.Description
	// Type is the kind of the resource, also for a Connecter, whose Kind is the kind of its
	// options. Also lists further versions of Kind that bodies may have.
	Type kind.Kind
	Also []string
	// StorageVersion is the version in which objects are stored. It is zero for subresources and
	// for resources that are not stored.
	StorageVersion meta.GroupVersionKind

	Getter            Getter
	Lister            Lister
	Watcher           Watcher
	Creater           Creater
	Updater           Updater // serves update, and patch unless NoPatch is set
	NoPatch           bool
	Deleter           Deleter
	CollectionDeleter CollectionDeleter
	// Hidden are verbs that are served and not shown in discovery.
	Hidden []string
	// Connecter serves the verbs in ConnectVerbs, such as get and create. A resource with a
	// Connecter has no other verbs.
	Connecter    Connecter
	ConnectVerbs []string
	Encoder      Encoder // never nil
	Tabler       Tabler  // nil: no Table form
	// Deprecated is nil for a version that is not deprecated.
	Deprecated *Deprecated
}

// Tabler makes the rows of a Table.
type Tabler interface {
	// Columns returns the columns, which the caller must not change.
	Columns() []meta.TableColumnDefinition
	// Row returns the cells of an object, one for each column, and its conditions. now is the time
	// from which ages are computed. A nil enc is an empty object.
	Row(ctx context.Context, enc request.Encoded, now time.Time) ([]any, []meta.TableRowCondition, error)
}

// Verbs lists the verbs of the resource as discovery shows them: sorted, or for a custom resource
// in kube-apiserver's own order.
func (r *Resource) Verbs() []string {
	if r.Connecter != nil {
		return slices.Sorted(slices.Values(r.ConnectVerbs))
	}
	var verbs []string
	add := func(verb string, served bool) {
		if served && !slices.Contains(r.Hidden, verb) {
			verbs = append(verbs, verb)
		}
	}
	if !r.Custom {
		add("create", r.Creater != nil)
	}
	add("delete", r.Deleter != nil)
	add("deletecollection", r.CollectionDeleter != nil)
	add("get", r.Getter != nil)
	add("list", r.Lister != nil)
	add("patch", r.Updater != nil && !r.NoPatch)
	if r.Custom {
		add("create", r.Creater != nil)
	}
	add("update", r.Updater != nil)
	add("watch", r.Watcher != nil)
	return verbs
}

// plural returns the name of the resource without the subresource.
func (r *Resource) plural() string {
	plural, _, _ := strings.Cut(r.Name, "/")
	return plural
}

// GroupVersion is a group version with resources and subresources that are served in it.
type GroupVersion struct {
	meta.GroupVersion
	Resources []Resource
	// GroupPriority orders groups in discovery and VersionPriority the versions of a group: highest
	// first. Groups of equal priority are sorted by name, versions of equal priority by
	// scheme.CompareVersions. If the resources of a version came with different priorities, the
	// highest counts.
	GroupPriority, VersionPriority int
}

// byPlural groups resources with their subresources, by the plural name.
func byPlural(resources []Resource) map[string][]Resource {
	m := make(map[string][]Resource, len(resources))
	for i := range resources {
		plural := resources[i].plural()
		m[plural] = append(m[plural], resources[i])
	}
	return m
}

// Config is the configuration that all endpoints of a server share.
type Config struct {
	// Codecs encode and decode objects that belong to no resource: options, Table, Status.
	Codecs *codec.Factory
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// MinWatch is the shortest time after which a watch without timeoutSeconds ends. The actual
	// time is random, up to twice as long, so that clients do not all come back at once. 0 means 30
	// minutes.
	MinWatch time.Duration
	// MaxBody is the largest request body in bytes. 0 means 3 MiB.
	MaxBody int64
	// NoWatchLists refuses watches with sendInitialEvents (KEP-3157).
	NoWatchLists bool
	// WatchStarted, if set, is called when a watch begins. It returns a function that is called
	// with the number of events at each flush, and with -1 at the end. It feeds metrics.
	WatchStarted func(gvr meta.GroupVersionResource) func(events int)
	// InitialSent, if set, is called when a watch has sent all initial events that it was asked for
	// (KEP-3157). scope is the label scope of Kubernetes' metrics: resource for one object,
	// namespace, or cluster. took is the time since the request arrived. It feeds metrics.
	InitialSent func(gvr meta.GroupVersionResource, scope string, took time.Duration)
	// DeprecatedUse, if set, is called for each request to a deprecated resource. It feeds metrics.
	DeprecatedUse func(gvr meta.GroupVersionResource, subresource, removed string)

	pace pace // of all watches
}

// defaultMaxBody is kube-apiserver's limit, in bytes.
const defaultMaxBody = 3 << 20
