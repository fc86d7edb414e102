package server

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

// unreadables tell of stored objects that cannot be read: of each state of an object once in the log, and each time that one
// was to be decoded in a metric.
type unreadables struct {
	table *table
	log   *zap.Logger
	total *prometheus.CounterVec

	mu struct {
		sync.Mutex
		told map[string]storage.Revision // by key: the state that the log has
	}
}

// maxTold bounds what is remembered of the log. Beyond that it repeats itself.
const maxTold = 1000

func newUnreadables(reg prometheus.Registerer, t *table, log *zap.Logger) (*unreadables, error) {
	u := &unreadables{table: t, log: log, total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_storage_decode_errors_total",
		Help: "Stored objects that were to be decoded or decrypted and could not be.",
	}, []string{"group", "resource"})}
	u.mu.told = map[string]storage.Revision{}
	return u, reg.Register(u.total)
}

// found is told of an object that cannot be read.
func (u *unreadables) found(err *storage.Error) {
	if e := u.table.ofKey(err.Key); e != nil {
		u.total.WithLabelValues(e.name.Group, e.name.Resource).Inc()
	}
	u.mu.Lock()
	told := u.mu.told[err.Key] == err.Rev
	if len(u.mu.told) >= maxTold {
		clear(u.mu.told)
	}
	u.mu.told[err.Key] = err.Rev
	u.mu.Unlock()
	if !told {
		u.log.Error("a stored object cannot be read", zap.String("key", err.Key), zap.Uint64("revision", uint64(err.Rev)), zap.Error(err.Err))
	}
}

// met is told of an object that cannot be read and that a loop of the server has met.
func (u *unreadables) met(gr meta.GroupResource, o meta.Unread) {
	offer := u.table.find(gr)
	if offer == nil || offer.store == nil { // another server has it, or the resource has just gone
		return
	}
	rev, _ := strconv.ParseUint(o.ResourceVersion, 10, 64) // of one that the server has made up its mind about there is a revision
	u.found(&storage.Error{
		Op: "decode", Key: offer.prefix + path.Join(o.Namespace, o.Name), Kind: storage.Corrupt, Rev: storage.Revision(rev), Err: errors.New(o.Why),
	})
}

// forget deletes what was counted of a resource.
func (u *unreadables) forget(gr meta.GroupResource) { u.total.DeleteLabelValues(gr.Group, gr.Resource) }
