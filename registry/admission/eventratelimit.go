package admission

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin EventRateLimit: its configuration, the limits, and their token buckets.
// The chain calls Validate, which acts on creates and updates of events. recent.go has the map of
// buckets.

// EventRateLimit is the plugin of that name. It refuses events of the core group with a 429 if
// there are more than its configuration allows: on the whole server, in a namespace, of a user, or
// of a source about an object. Events of events.k8s.io are not limited, as in kube-apiserver.
//
// Each limit has buckets of tokens. An event takes one token out of its bucket of every limit, also
// when another limit refuses it. A dry run takes none.
type EventRateLimit struct {
	limits []*eventLimit
}

// eventLimits is the configuration of EventRateLimit.
type eventLimits struct {
	meta.TypeMeta `json:",inline"`
	Limits        []eventLimitConfig `json:"limits"`
}

type eventLimitConfig struct {
	Type  eventLimitType `json:"type"`
	QPS   int32          `json:"qps"`   // tokens that a bucket gets in a second
	Burst int32          `json:"burst"` // tokens that a bucket holds; a new bucket is full
	// CacheSize is the number of buckets; 0: defaultBuckets. The type Server has one bucket.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

var eventLimitsKind = meta.GroupVersionKind{
	Group: "eventratelimit.admission.k8s.io", Version: "v1alpha1", Kind: "Configuration",
}

// eventLimitType says which events share a bucket.
type eventLimitType string

const (
	limitServer    eventLimitType = "Server"
	limitNamespace eventLimitType = "Namespace"
	limitUser      eventLimitType = "User"
	limitSource    eventLimitType = "SourceAndObject"
)

// eventKeys has, for each type of limit, the function that returns the key of an event's bucket.
var eventKeys = map[eventLimitType]func(a *Attributes) string{
	limitServer:    func(*Attributes) string { return "" },
	limitNamespace: func(a *Attributes) string { return a.Namespace },
	limitUser:      userOf,
	limitSource:    sourceOf,
}

// defaultBuckets is the number of buckets of a limit without cacheSize.
const defaultBuckets = 4096

// NewEventRateLimit returns the plugin. configuration, as YAML or JSON, is required and has at
// least one limit.
func NewEventRateLimit(configuration []byte) (*EventRateLimit, error) {
	var c eventLimits
	if configuration != nil {
		if err := DecodeLenient(configuration, &c, eventLimitsKind); err != nil {
			return nil, err
		}
	}
	if err := c.check().ToAggregate(); err != nil {
		return nil, err
	}
	p := &EventRateLimit{}
	for i := range c.Limits {
		p.limits = append(p.limits, newEventLimit(&c.Limits[i]))
	}
	return p, nil
}

// check returns the mistakes in the configuration.
func (c *eventLimits) check() (errs field.ErrorList) {
	at := field.NewPath("limits")
	if len(c.Limits) == 0 {
		errs = append(errs, field.Invalid(at, c.Limits, "must not be empty"))
	}
	for i, limit := range field.Each(&errs, c.Limits) {
		at := at.Index(i)
		if eventKeys[limit.Type] == nil {
			errs = append(errs, field.NotSupported(at.Child("type"), limit.Type,
				[]eventLimitType{limitServer, limitNamespace, limitUser, limitSource}))
		}
		if limit.Burst <= 0 {
			errs = append(errs, field.Invalid(at.Child("burst"), limit.Burst, "must be positive"))
		}
		if limit.QPS <= 0 {
			errs = append(errs, field.Invalid(at.Child("qps"), limit.QPS, "must be positive"))
		}
		if limit.Type != limitServer && limit.CacheSize < 0 {
			errs = append(errs, field.Invalid(at.Child("cacheSize"), limit.CacheSize, "must not be negative"))
		}
	}
	return errs
}

// Name is the plugin's name.
func (*EventRateLimit) Name() string { return "EventRateLimit" }

// Handles is true for creates and updates.
func (*EventRateLimit) Handles(op Operation) bool { return op == Create || op == Update }

// Validate takes tokens for an event. It refuses the event if a bucket is empty.
func (p *EventRateLimit) Validate(_ context.Context, a *Attributes) error {
	if a.Kind.Kind != "Event" || a.Kind.Group != "" || a.DryRun {
		return nil
	}
	var reached []string
	for _, l := range p.limits {
		key := l.key(a)
		if l.take(key) {
			continue
		}
		// Two limits of one type give the same text; the answer has it once.
		text := fmt.Sprintf("limit reached on type %s for key %s", l.kind, key)
		if !slices.Contains(reached, text) {
			reached = append(reached, text)
		}
	}
	if len(reached) == 0 {
		return nil
	}
	text := reached[0]
	if len(reached) > 1 {
		text = "[" + strings.Join(reached, ", ") + "]"
	}
	err := meta.NewTooManyRequests("Too many requests: "+text, 0)
	err.Status.Details = nil // the answer does not say when to try again
	return err
}

// userOf returns the name of the user, "" for the server itself.
func userOf(a *Attributes) string {
	if a.User == nil {
		return ""
	}
	return a.User.Name
}

// sourceOf returns a key of the component that reports the event and of the object that the event
// is about.
func sourceOf(a *Attributes) string {
	e, ok := a.Object.(*corev1.Event)
	if !ok {
		return ""
	}
	o := &e.InvolvedObject
	return e.Source.Component + e.Source.Host + o.Kind + o.Namespace + o.Name + string(o.UID) + o.APIVersion
}

// eventLimit is one limit with its buckets.
type eventLimit struct {
	kind       eventLimitType
	key        func(a *Attributes) string
	qps, burst float64

	mu sync.Mutex
	// buckets are found by the hash of the key, because clients can make keys of any length.
	buckets recent[[sha256.Size]byte, bucket]
}

func newEventLimit(c *eventLimitConfig) *eventLimit {
	l := &eventLimit{
		kind: c.Type, key: eventKeys[c.Type],
		qps: float64(float32(c.QPS)), burst: float64(c.Burst), // client-go keeps the rate in 32 bits
	}
	l.buckets.size = defaultBuckets
	if c.CacheSize > 0 && c.Type != limitServer {
		l.buckets.size = int(c.CacheSize)
	}
	return l
}

// take takes a token out of the bucket of a key, and reports whether there was one.
func (l *eventLimit) take(key string) bool {
	hash := sha256.Sum256([]byte(key))
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	b := l.buckets.get(hash)
	if b == nil {
		b = l.buckets.put(hash, bucket{l.burst, now})
	}
	return b.take(now, l.qps, l.burst)
}

// bucket is a token bucket. It had tokens at the time last. Since then, it has gained qps tokens a
// second, up to burst.
type bucket struct {
	tokens float64
	last   time.Time
}

// take takes a token, and reports whether there was one. The computation is the one of
// golang.org/x/time/rate, so that both round alike: a token that would be complete within a
// nanosecond counts as complete.
func (b *bucket) take(now time.Time, qps, burst float64) bool {
	tokens := b.tokens
	if passed := now.Sub(b.last); passed > 0 {
		tokens = math.Min(burst, tokens+passed.Seconds()*qps)
	}
	tokens--
	if -tokens/qps*float64(time.Second) >= 1 {
		return false
	}
	b.tokens, b.last = tokens, now
	return true
}
