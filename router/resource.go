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

// Resource is a resource, or a subresource of one, in one served version. Its verbs are what is not nil.
type Resource struct {
	meta.Description
	// Type is the kind as a value; for a Connecter, the kind of the resource, while Kind is that of
	// the options. Also are further versions of Kind that are taken.
	Type kind.Kind
	Also []string
	// StorageVersion is the version that most objects are stored in. It is zero for subresources, and
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
	// Hidden are verbs that are served, but not shown to clients.
	Hidden []string
	// Connecter serves the methods of ConnectVerbs, such as get and create; then the resource has no other verbs.
	Connecter    Connecter
	ConnectVerbs []string
	Encoder      Encoder // always
	Tabler       Tabler
	// Deprecated is nil for what is there to stay.
	Deprecated *Deprecated
}

// Tabler prints objects for clients that ask for a Table.
type Tabler interface {
	// Columns returns the columns; the caller must not change them.
	Columns() []meta.TableColumnDefinition
	// Row returns the cells of one object, one for each column, and its conditions. now is for ages. Without an object it is
	// the row of an empty one.
	Row(ctx context.Context, enc request.Encoded, now time.Time) ([]any, []meta.TableRowCondition, error)
}

// Verbs lists the verbs of the resource as discovery shows them: sorted, but for custom resources.
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

// plural is the name of the resource, without the subresource.
func (r *Resource) plural() string {
	plural, _, _ := strings.Cut(r.Name, "/")
	return plural
}

// GroupVersion is a group version with resources that are served in it, main resources and subresources alike.
type GroupVersion struct {
	meta.GroupVersion
	Resources []Resource
	// GroupPriority orders groups in discovery, VersionPriority the versions of a group: highest first. Equal groups are
	// listed by name, equal versions as scheme.CompareVersions has them. Of what is stated with the resources that are there, the
	// highest counts.
	GroupPriority, VersionPriority int
}

// byPlural puts resources with their subresources.
func byPlural(resources []Resource) map[string][]Resource {
	m := make(map[string][]Resource, len(resources))
	for i := range resources {
		plural := resources[i].plural()
		m[plural] = append(m[plural], resources[i])
	}
	return m
}

// Config is what all endpoints of a server share.
type Config struct {
	// Codecs encode and decode what belongs to no resource: options, Table, Status.
	Codecs *codec.Factory
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// MinWatch is the least time after which a watch without timeoutSeconds ends; the real one is random, up to twice
	// that. 0 means 30 minutes.
	MinWatch time.Duration
	// MaxBody is how long a request body may be, in bytes. 0 means 3 MiB.
	MaxBody int64
	// NoWatchLists refuses watches that ask for what there is.
	NoWatchLists bool
	// WatchStarted, if set, is called when a watch begins and returns what is called with the number of events for
	// each flush, and with -1 at the end. It feeds metrics.
	WatchStarted func(gvr meta.GroupVersionResource) func(events int)
	// DeprecatedUse, if set, is called when something deprecated is asked for. It feeds metrics.
	DeprecatedUse func(gvr meta.GroupVersionResource, subresource, removed string)

	pace pace
}

// defaultMaxBody is kube-apiserver's limit, in bytes.
const defaultMaxBody = 3 << 20
