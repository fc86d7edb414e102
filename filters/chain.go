package filters

import (
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
)

// Filter wraps a handler in another one that does something before, after or instead of it.
// Handlers are functions here, because each call through the http.Handler interface would be one
// more stack frame for each filter.
type Filter func(http.HandlerFunc) http.HandlerFunc

// ErrorWriter answers r with err as a Status in a media type that the client accepts. Errors of
// package meta carry their Status; any other error is a 500. It sends Retry-After if the Status
// says so. router.WriteError is the implementation.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, err error)

// Config is the configuration of a chain. Fail, Authenticator and Authorizer are required.
type Config struct {
	Fail          ErrorWriter
	Authenticator request.Authenticator
	Authorizer    request.Authorizer

	Log      *zap.Logger           // nil: no log
	Registry prometheus.Registerer // for the metrics of filters; nil: not registered
	Metrics  *Metrics              // nil: requests are not counted
	Drain    *Drain                // nil: a Drain that nobody closes
	Gate     Gate                  // nil: InFlight with 400 reading and 200 writing requests
	Tracer   trace.Tracer          // nil: no traces
	Auditing *Auditing             // nil: nothing is recorded

	RequestTimeout time.Duration              // of requests that are not long-running; 0: one minute
	LongRunning    func(i *request.Info) bool // nil: the function LongRunning
	Origins        []*regexp.Regexp           // origins of web pages that may call the API (CORS); none: no CORS
	NoCompression  bool                       // never compress responses
	Server         string                     // value of the Server header; "": not sent
	Settings

	refusals *refusals // counts the refusals being written; set by setDefaults
}

// Step is one filter of a chain.
type Step struct {
	Name string
	// Why is the reason for the filter's place. "before NAME" and "after NAME" in it must be true
	// of the chain; a test checks them.
	Why    string
	Filter Filter // nil: switched off by the configuration
}

// Steps returns the filters from the outermost to the one around the handler. The order is decided
// here and nowhere else.
func (c Config) Steps() []Step {
	c.setDefaults()
	fail := c.refusals.bound(c.Fail)
	return []Step{
		{"begin", "before log: makes what all others share, and the id that names the request in every log", Begin()},
		{"log", "before recover, so that a panic is logged with its 500", Log(c.Log, c.LongRunning)},
		{"recover", "before headers and all others that can fail; after begin: its answer needs the id",
			Recover(c.Log, fail)},
		{"headers", "before info, the first filter that may answer by itself", Headers(c.Server, c.HSTS)},
		{"goaway", "before info, the first filter that may answer by itself: such answers count as well",
			Goaway(c.GoawayChance)},
		{"info", "before metrics and all others that depend on verb, resource or path", Info(fail)},
		{"metrics", "before drain, to count what the filters from there on turn away as well",
			c.Metrics.Filter()},
		{"drain", "before authenticate: shutdown would cut off work that begins there", c.Drain.Filter(fail)},
		{"deadline", "before authenticate, the first filter that may wait, so it holds for all",
			Deadline(c.RequestTimeout, c.LongRunning, c.Auditing, fail)},
		{"cors", "before authenticate: browsers ask for leave without credentials", CORS(c.Origins)},
		{"authenticate", "before trace and all others that depend on the user",
			Authenticate(c.Authenticator, c.Tracer, c.Registry, c.Log, AuditRefused(c.Auditing, fail))},
		{"audit", "after authenticate, before impersonate: an event names who sent the request",
			Audit(c.Auditing, c.LongRunning, fail)},
		{"trace", "after authenticate, before impersonate: who sends the request decides whether it is sampled",
			Trace(c.Tracer)},
		{"impersonate", "after authenticate; before seat, the first filter that judges the user",
			Impersonate(c.Authorizer, c.Registry, fail)},
		{"seat", "after authenticate, to tell strangers from others; before authorize, which has work",
			TakeSeat(c.Gate, c.LongRunning, fail)},
		{"authorize", "before long: only those who may have their deadline lifted",
			Authorize(c.Authorizer, c.Registry, c.Log, fail)},
		{"long", "after authorize: who may not ask cannot stay",
			Long(c.Gate, c.Drain, c.Metrics, c.LongRunning, fail)},
		{"compress", "after long, around the handler alone: only its answers are large", Compress(c.NoCompression)},
	}
}

// setDefaults replaces nil and zero fields by their defaults.
func (c *Config) setDefaults() {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Log = LimitLog(c.Log)
	if c.Drain == nil {
		c.Drain = NewDrain()
	}
	if c.Gate == nil {
		c.Gate = NewInFlight(Limits{Reads: 400, Writes: 200}, nil)
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = time.Minute
	}
	if c.LongRunning == nil {
		c.LongRunning = LongRunning
	}
	if c.refusals == nil {
		c.refusals = new(refusals)
	}
}

// Chain wraps h in the filters of steps. The first step runs first.
func Chain(h http.Handler, steps ...Step) http.Handler {
	next := h.ServeHTTP
	for i := len(steps) - 1; i >= 0; i-- {
		if f := steps[i].Filter; f != nil {
			next = f(next)
		}
	}
	return http.HandlerFunc(next)
}
