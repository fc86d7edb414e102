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

// Filter makes a handler that does something before, after or instead of another. Handlers are functions here, as a call
// through http.Handler would be one frame more of the stack for each filter.
type Filter func(http.HandlerFunc) http.HandlerFunc

// ErrorWriter answers r with err, as a Status in the form that the client accepts. Any error will do; those of package
// meta say what the client is told. It sends Retry-After if the error says so.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, err error)

// Config is what a chain is made of. Fail, Authenticator and Authorizer are required.
type Config struct {
	Fail          ErrorWriter
	Authenticator request.Authenticator
	Authorizer    request.Authorizer

	Log      *zap.Logger           // nil: nothing is logged
	Registry prometheus.Registerer // where filters show what they count; nil: nowhere
	Metrics  *Metrics              // nil: requests are not counted
	Drain    *Drain                // nil: requests are not waited for
	Gate     Gate                  // nil: InFlight with 400 reading and 200 writing requests at once
	Tracer   trace.Tracer          // nil: nothing is traced

	RequestTimeout time.Duration              // 0: one minute
	LongRunning    func(i *request.Info) bool // nil: LongRunning
	Origins        []*regexp.Regexp           // of web pages that may call the API; none: no CORS
	NoCompression  bool                       // large answers are sent as they are
	Server         string                     // value of Server; "": not sent
	Settings

	refusals *refusals // nil: none are being written
}

// Step is one filter of a chain.
type Step struct {
	Name string
	// Why it stands where it stands. Each "before NAME" and "after NAME" must be true of the
	// chain: a test looks.
	Why    string
	Filter Filter // nil: left out by the configuration
}

// Steps returns the chain, from the outermost filter to the one around the handler. This is the one place where the
// order is decided.
func (c Config) Steps() []Step {
	c.setDefaults()
	fail := c.refusals.bound(c.Fail)
	return []Step{
		{"begin", "before log: makes what all others share, and the id that names the request in every log", Begin()},
		{"log", "before recover, so that a panic is logged with its 500", Log(c.Log, c.LongRunning)},
		{"recover", "before headers and all others that can fail; after begin: its answer needs the id", Recover(c.Log, fail)},
		{"headers", "before info, the first filter that may answer by itself", Headers(c.Server, c.HSTS)},
		{"goaway", "before info, the first filter that may answer by itself: such answers count as well", Goaway(c.GoawayChance)},
		{"info", "before metrics and all others that depend on verb, resource or path", Info(fail)},
		{"metrics", "before drain, to count what the filters from there on turn away as well", c.Metrics.Filter(c.LongRunning)},
		{"drain", "before authenticate: shutdown would cut off work that begins there", c.Drain.Filter(fail)},
		{"deadline", "before authenticate, the first filter that may wait, so it holds for all", Deadline(c.RequestTimeout, c.LongRunning, fail)},
		{"cors", "before authenticate: browsers ask for leave without credentials", CORS(c.Origins)},
		{"authenticate", "before trace and all others that depend on the user", Authenticate(c.Authenticator, c.Registry, c.Log, fail)},
		{"trace", "after authenticate, before impersonate: who sends the request decides whether it is sampled", Trace(c.Tracer)},
		{"impersonate", "after authenticate; before seat, the first filter that judges the user", Impersonate(c.Authorizer, c.Registry, fail)},
		{"seat", "after authenticate, to tell strangers from others; before authorize, which has work", TakeSeat(c.Gate, c.LongRunning, fail)},
		{"authorize", "before long: only those who may have their deadline lifted", Authorize(c.Authorizer, c.Registry, c.Log, fail)},
		{"long", "after authorize: who may not ask cannot stay", Long(c.Gate, c.Drain, c.LongRunning, fail)},
		{"compress", "after long, around the handler alone: only its answers are large", Compress(c.NoCompression)},
	}
}

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

// Chain puts the steps around h; the first one runs first.
func Chain(h http.Handler, steps ...Step) http.Handler {
	next := h.ServeHTTP
	for i := len(steps) - 1; i >= 0; i-- {
		if f := steps[i].Filter; f != nil {
			next = f(next)
		}
	}
	return http.HandlerFunc(next)
}
