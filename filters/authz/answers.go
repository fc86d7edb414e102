package authz

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds of what a webhook's answers may take: how many there are, and the bytes of the texts of one.
const (
	maxAnswers    = 8192
	maxAnswerText = 2048
)

// answers remembers the answers of a webhook for their time. When there are too many, the one goes that was of no use for longest.
type answers struct {
	mu     sync.Mutex
	byKey  map[[sha256.Size]byte]*list.Element // of *answer
	recent list.List                           // the latest used first
}

type answer struct {
	key    [sha256.Size]byte
	status reviewStatus
	until  time.Time
}

func (c *answers) get(key [sha256.Size]byte, now time.Time) (reviewStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return reviewStatus{}, false
	}
	known := e.Value.(*answer)
	if !now.Before(known.until) {
		c.dropLocked(e)
		return reviewStatus{}, false
	}
	c.recent.MoveToFront(e)
	return known.status, true
}

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

func (c *answers) dropLocked(e *list.Element) {
	delete(c.byKey, e.Value.(*answer).key)
	c.recent.Remove(e)
}
