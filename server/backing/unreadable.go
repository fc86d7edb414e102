package backing

import (
	"errors"
	"path"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// Unreadables reports stored objects that cannot be read: it logs each state of an object once, and
// counts each failed decoding in a metric. All methods may be called at once.
type Unreadables struct {
	keys  Keys
	log   *zap.Logger
	total *prometheus.CounterVec

	mu struct {
		sync.Mutex
		told map[string]storage.Revision // by key: the revision that the log reports
	}
}

// maxTold bounds how many keys are remembered. If there are more, the log may report an object
// again.
const maxTold = 1000

// NewUnreadables registers the metric in reg. keys finds the resource of an object.
func NewUnreadables(reg prometheus.Registerer, keys Keys, log *zap.Logger) (*Unreadables, error) {
	u := &Unreadables{keys: keys, log: log, total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_storage_decode_errors_total",
		Help: "Number of failed attempts to decode or decrypt a stored object, by resource.",
	}, []string{"group", "resource"})}
	u.mu.told = map[string]storage.Revision{}
	return u, reg.Register(u.total)
}

// Found reports an object that a cache or a store could not decode.
func (u *Unreadables) Found(err *storage.Error) {
	if r := u.keys.RecordOf(err.Key); r != nil {
		u.total.WithLabelValues(r.Name.Group, r.Name.Resource).Inc()
	}
	u.mu.Lock()
	told := u.mu.told[err.Key] == err.Rev
	if len(u.mu.told) >= maxTold {
		clear(u.mu.told)
	}
	u.mu.told[err.Key] = err.Rev
	u.mu.Unlock()
	if !told {
		u.log.Error("a stored object cannot be read", zap.String("key", err.Key),
			zap.Uint64("revision", uint64(err.Rev)), zap.Error(err.Err))
	}
}

// Met reports an object under a prefix of keys that a loop of the server has got as unreadable.
func (u *Unreadables) Met(prefix string, o meta.Unread) {
	// An object without a resourceVersion has revision 0.
	rev, _ := strconv.ParseUint(o.ResourceVersion, 10, 64)
	u.Found(&storage.Error{
		Op:   "decode",
		Key:  prefix + path.Join(o.Namespace, o.Name),
		Kind: storage.Corrupt,
		Rev:  storage.Revision(rev),
		Err:  errors.New(o.Why),
	})
}

// Forget deletes the metric of a resource.
func (u *Unreadables) Forget(gr meta.GroupResource) { u.total.DeleteLabelValues(gr.Group, gr.Resource) }
