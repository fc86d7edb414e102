package admission

import "container/list"

// recent is a map with at most size entries. When it is full, a new key takes the place of the key
// that was least recently used. The owner holds a lock for all calls.
type recent[K comparable, V any] struct {
	size  int
	byKey map[K]*list.Element // of *recentEntry[K, V]
	order list.List           // most recently used first
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
}

// get returns the value of a key, which counts as used; nil if there is none. The caller may change
// the value in place.
func (r *recent[K, V]) get(key K) *V {
	e := r.byKey[key]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return &e.Value.(*recentEntry[K, V]).value
}

// put sets the value of a key, which counts as used, and returns the address of the value in the
// map.
func (r *recent[K, V]) put(key K, value V) *V {
	if have := r.get(key); have != nil {
		*have = value
		return have
	}
	if r.byKey == nil {
		r.byKey = map[K]*list.Element{}
	}
	if len(r.byKey) >= r.size {
		oldest := r.order.Remove(r.order.Back()).(*recentEntry[K, V])
		delete(r.byKey, oldest.key)
	}
	entry := &recentEntry[K, V]{key, value}
	r.byKey[key] = r.order.PushFront(entry)
	return &entry.value
}
