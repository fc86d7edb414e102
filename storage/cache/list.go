package cache

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Lists from the cache. Resource.List picks a state (at, in get.go), or a snapshot of a past
// revision, and selects objects from its tree. A list of everything shares one slice between all
// its readers. States that lists may page through later are kept as snapshots.

// ListOptions selects the objects of a list.
type ListOptions struct {
	Prefix string // of the keys, at least that of the resource; ends in "/"
	After  string // only keys greater than this; "" means from the start
	Only   string // if set: this key alone
	Want   Want   // how fresh the list must be
	Limit  int    // at most so many objects; 0 means all
	// Match selects the objects; nil selects all. It must be a pure function.
	Match func(*Object) bool
	// Show says how the objects are shown; nil shows them as they are stored.
	Show Show
	// Corrupt includes objects that cannot be read, whatever Match says; Object.Err says why they
	// cannot be read. Without it such an object fails the list.
	Corrupt bool
}

// List is one page of objects in key order, all at revision Rev.
type List struct {
	Rev     storage.Revision
	Objects []*Object // shared: read only
	More    bool      // there are keys behind the last object, whether they match or not
	// Remaining is the number of objects behind the last one, or -1 if that is unknown because of
	// Match or Show.
	Remaining int64
}

// MaxCorrupt is the number of unreadable objects up to which the error of a list names all of them.
// If there are more, the error names one more than MaxCorrupt.
const MaxCorrupt = 100

// List returns the objects that opts selects, all from one revision. Errors: Future and Compacted
// (for Want.Rev), and Corrupt if a selected object cannot be read: then the error joins the errors
// of these objects (errors.Join), up to MaxCorrupt and one more.
//
// The store answers in four cases, which Reason counts: the list is a page or a single key and the
// objects are not loaded yet; the cache is too far behind the store; the cache has forgotten the
// revision; or a selected object could not be read, and another decoder or decryption key has come
// since.
func (r *Resource) List(ctx context.Context, opts ListOptions) (List, error) {
	if opts.Limit > 0 || opts.Only != "" {
		if cold, err := r.cold(ctx, opts.Want); err != nil {
			return List{}, err
		} else if cold {
			return r.listStore(ctx, opts, true)
		}
	}
	s, rev, err := r.at(ctx, opts.Want)
	if err == errBehind {
		r.fellBack(Behind)
		return r.listStore(ctx, opts, false)
	}
	if err != nil {
		return List{}, err
	}
	snap := snapshot{tree: s.tree, from: s.last, rev: rev, broken: s.broken, churn: s.churn}
	if opts.Want.Match == Exact && opts.Want.Rev < s.last {
		var ok bool
		if snap, ok = r.past(s, opts.Want.Rev); !ok {
			r.fellBack(Forgotten)
			return r.listStore(ctx, opts, false)
		}
	} else if opts.Want.Match == Exact {
		snap.rev = opts.Want.Rev
	}
	var list List
	switch {
	case opts.Show != nil:
		if list, err = s.listShown(ctx, snap, opts); err != nil {
			return List{}, err
		}
	case snap.all(s, &opts):
		list = s.listAll(&opts)
	default:
		list = snap.list(&opts)
	}
	list.Rev = snap.rev
	if snap.broken > 0 {
		if err := list.err(); err != nil && r.mayBeReadable() {
			r.fellBack(Unreadable)
			return r.listStore(ctx, opts, false)
		} else if err != nil && !opts.Corrupt {
			return List{}, err
		}
	}
	if list.More {
		r.keep(s, snap)
	}
	return list, nil
}

// readable returns the list, or, unless opts.Corrupt is set, an error that names its broken
// objects.
func (l List) readable(opts *ListOptions) (List, error) {
	if opts.Corrupt {
		return l, nil
	}
	if err := l.err(); err != nil {
		return List{}, err
	}
	return l, nil
}

// err joins the errors of the broken objects of the list. It is nil if there are none.
func (l List) err() error {
	var errs []error
	for _, o := range l.Objects {
		if err := o.Err(); err != nil && len(errs) <= MaxCorrupt {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// all reports whether the list is of all present objects under its prefix, so that listAll can
// serve it.
func (sn *snapshot) all(s *state, opts *ListOptions) bool {
	return sn.tree == s.tree && opts.Limit <= 0 && opts.Match == nil && opts.Only == ""
}

// listAll returns a part of one slice of all objects, which all lists of a state share. The first
// list of the whole resource makes the slice. A list of a part of the resource uses the slice only
// if it exists.
func (s *state) listAll(opts *ListOptions) List {
	all := s.all.Load()
	if all == nil {
		if opts.After == "" && s.whole(opts.Prefix) {
			objects := s.tree.Values()
			all = &objects
			s.all.Store(all)
		} else {
			snap := snapshot{tree: s.tree}
			return snap.list(opts)
		}
	}
	objects := *all
	start, stop := opts.bounds()
	lo := sort.Search(len(objects), func(i int) bool { return objects[i].Key >= start })
	hi := lo + sort.Search(len(objects)-lo, func(i int) bool { return objects[lo+i].Key >= stop })
	return List{Objects: objects[lo:hi:hi]}
}

// whole reports whether all keys of the state have the prefix. The tree is ordered, so the first
// and the last key decide.
func (s *state) whole(prefix string) bool {
	first, _, _ := s.tree.Min()
	last, _, _ := s.tree.Max()
	return strings.HasPrefix(first, prefix) && strings.HasPrefix(last, prefix)
}

// bounds returns the lowest key that a list may include and the lowest key behind the list.
func (opts *ListOptions) bounds() (start, stop string) {
	return max(opts.Prefix, opts.After+"\x00"), opts.Prefix[:len(opts.Prefix)-1] + "0" // '0' follows '/'
}

// snapshot is a past or present state of a resource without its window.
type snapshot struct {
	tree   *tree
	from   storage.Revision // the tree is the state at each revision with from <= revision < to
	to     storage.Revision // 0 if the tree is still the present state
	rev    storage.Revision // the revision that lists report; from <= rev
	broken int              // unreadable objects in tree
	churn  int64            // state.churn when it was the present state
	used   time.Time        // when a list last used it
}

// holds reports whether the snapshot is the state at rev.
func (sn *snapshot) holds(rev storage.Revision) bool {
	return sn.from <= rev && (sn.to == 0 || rev < sn.to)
}

// close ends the validity of a present snapshot: its tree is not the state at to or later.
func (sn *snapshot) close(to storage.Revision) {
	if sn.to == 0 {
		sn.to = to
	}
}

// list selects objects from the tree. Without Match it finds out in advance how many there are, and
// allocates once. Broken objects are selected whatever Match says.
func (sn *snapshot) list(opts *ListOptions) List {
	if opts.Only != "" {
		o, ok := sn.tree.Get(opts.Only)
		if !ok || opts.After >= opts.Only || !strings.HasPrefix(opts.Only, opts.Prefix) ||
			opts.Match != nil && !o.broken && !opts.Match(o) {
			return List{}
		}
		return List{Objects: []*Object{o}}
	}
	start, stop := opts.bounds()
	var list List
	var behind int // how many objects there are from start on, if Match is nil
	if opts.Match == nil {
		behind = max(rank(sn.tree, stop)-rank(sn.tree, start), 0)
		size := behind
		if opts.Limit > 0 {
			size = min(size, opts.Limit)
		}
		list.Objects = make([]*Object, 0, size)
	}
	sn.tree.Ascend(start, func(key string, o *Object) bool {
		if key >= stop {
			return false
		}
		if opts.Limit > 0 && len(list.Objects) == opts.Limit {
			list.More = true
			return false
		}
		if opts.Match == nil || o.broken || opts.Match(o) {
			list.Objects = append(list.Objects, o)
		}
		return true
	})
	switch {
	case !list.More:
	case opts.Match != nil:
		list.Remaining = -1
	default:
		list.Remaining = int64(behind - len(list.Objects))
	}
	return list
}

// rank returns the number of keys that are less than key.
func rank(t *tree, key string) int {
	return sort.Search(t.Len(), func(i int) bool {
		k, _, _ := t.GetAt(i)
		return k >= key
	})
}

// keep remembers a snapshot for the next pages of a list. s is the state that was the present one
// when the list began.
func (r *Resource) keep(s *state, snap snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	snap.used = time.Now()
	for i := range r.mu.kept {
		if k := &r.mu.kept[i]; k.tree == snap.tree {
			k.used, k.rev = snap.used, max(k.rev, snap.rev)
			return
		}
	}
	if snap.to == 0 {
		if e := r.epoch.Load(); e == nil || e.state.Load().tree != s.tree {
			snap.to = snap.rev + 1 // the state has been replaced, and the tree is certain to hold at rev only
		}
	}
	r.mu.kept = append(r.mu.kept, snap)
	r.dropKeptLocked(snap.used)
}

// closeKeptLocked is called before the state changes at revision rev: the snapshots of the present
// state are not valid from rev on.
func (r *Resource) closeKeptLocked(rev storage.Revision) {
	for i := range r.mu.kept {
		r.mu.kept[i].close(rev)
	}
}

// dropKeptLocked drops the oldest snapshots while they are beyond one of the bounds. The memory
// that only a snapshot holds is estimated as the bytes of the objects replaced since it was taken.
func (r *Resource) dropKeptLocked(now time.Time) {
	var churn int64
	if e := r.epoch.Load(); e != nil {
		churn = e.state.Load().churn
	}
	kept := r.mu.kept
	for len(kept) > 0 && (len(kept) > r.c.cfg.Snapshots || now.Sub(kept[0].used) > r.c.cfg.SnapshotAge ||
		churn-kept[0].churn > r.c.cfg.SnapshotBytes) {
		kept[0] = snapshot{}
		kept = kept[1:]
	}
	r.mu.kept = kept
}

// past returns the state at rev, which is before s.last. It is a snapshot that was kept, or the
// present tree with the changes after rev undone. It returns false if rev is before the window and
// no snapshot holds it.
func (r *Resource) past(s *state, rev storage.Revision) (snapshot, bool) {
	r.mu.Lock()
	for i := range r.mu.kept {
		if k := &r.mu.kept[i]; k.holds(rev) {
			k.used = time.Now()
			found := *k
			r.mu.Unlock()
			found.rev = rev
			return found, true
		}
	}
	r.mu.Unlock()
	if rev < s.floor {
		return snapshot{}, false
	}
	base := *s.tree // IsoCopy writes to its receiver, and the receiver is shared
	t := base.IsoCopy()
	snap := snapshot{tree: t, from: s.floor, to: s.last, rev: rev, broken: s.broken, churn: s.churn}
	for i := len(s.events) - 1; i >= 0; i-- {
		ch := s.events[i]
		if ch.rev <= rev {
			snap.from = ch.rev
			break
		}
		snap.to = ch.rev
		if ch.obj != nil && ch.obj.broken {
			snap.broken--
		}
		if ch.prev == nil {
			t.Delete(ch.key)
			continue
		}
		t.Set(ch.key, ch.prev)
		snap.churn -= ch.prev.size()
		if ch.prev.broken {
			snap.broken++
		}
	}
	return snap, true
}
