package authz

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds on remembered answers of a webhook: their number, and the bytes of the texts in one
// answer.
const (
	maxAnswers    = 8192
	maxAnswerText = 2048
)

// answers is the cache of a webhook's answers, each with its own time to live. If there are too
// many, the least recently used one is dropped.
type answers struct {
	mu     sync.Mutex
	byKey  map[[sha256.Size]byte]*list.Element // of *answer
	recent list.List                           // most recently used first
}

// answer is a remembered answer; key is the hash of its question.
type answer struct {
	key    [sha256.Size]byte
	status reviewStatus
	until  time.Time
}

// get returns the answer for key, if there is one that has not expired.
func (c *answers) get(key [sha256.Size]byte, now time.Time) (reviewStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return reviewStatus{}, false
	}
	found := e.Value.(*answer)
	if !now.Before(found.until) {
		c.dropLocked(e)
		return reviewStatus{}, false
	}
	c.recent.MoveToFront(e)
	return found.status, true
}

// put remembers an answer for the time ttl. An answer with long texts is not remembered.
func (c *answers) put(key [sha256.Size]byte, status reviewStatus, now time.Time, ttl time.Duration) {
	if ttl <= 0 || len(status.Reason)+len(status.EvaluationError) > maxAnswerText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[[sha256.Size]byte]*list.Element{}
	}
	if e := c.byKey[key]; e != nil {
		c.dropLocked(e)
	}
	if len(c.byKey) >= maxAnswers {
		c.dropLocked(c.recent.Back())
	}
	c.byKey[key] = c.recent.PushFront(&answer{key, status, now.Add(ttl)})
}

// dropLocked forgets an answer. The caller holds mu.
func (c *answers) dropLocked(e *list.Element) {
	delete(c.byKey, e.Value.(*answer).key)
	c.recent.Remove(e)
}
