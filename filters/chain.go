package filters

import (
	"net/http"
	"regexp"
	"time"

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

	Log      *zap.Logger  // nil: nothing is logged
	Metrics  *Metrics     // nil: nothing is counted
	Drain    *Drain       // nil: requests are not waited for
	InFlight *InFlight    // nil: 400 reading and 200 writing requests at once
	Tracer   trace.Tracer // nil: nothing is traced

	RequestTimeout time.Duration              // 0: one minute
	LongRunning    func(i *request.Info) bool // nil: LongRunning
	Origins        []*regexp.Regexp           // of web pages that may call the API; none: no CORS
	NoCompression  bool                       // large answers are sent as they are
	HSTS           string                     // value of Strict-Transport-Security; "": not sent
	Server         string                     // value of Server; "": not sent
	GoawayChance   float64                    // how many requests of HTTP/2 end their connection: of one, on average
}

// Step is one filter of a chain.
type Step struct {
	Name   string
	Why    string // it stands where it stands
	Filter Filter // nil: left out by the configuration
}

// Steps returns the chain, from the outermost filter to the one around the handler. This is the one place where the
// order is decided.
func (c Config) Steps() []Step {
	c.setDefaults()
	fail := c.InFlight.refusals(c.Fail)
	return []Step{
		{"begin", "makes what all others share, and the id that names the request in every log", Begin()},
		{"log", "outside of recover, so that a panic is logged with its 500", Log(c.Log, c.LongRunning)},
		{"recover", "outside of all that can fail; its answer needs the id", Recover(c.Log, fail)},
		{"headers", "before the first filter that may answer by itself", Headers(c.Server, c.HSTS)},
		{"goaway", "before the first filter that may answer by itself, which count as well", Goaway(c.GoawayChance)},
		{"info", "before all that depends on verb, resource or path", Info(fail)},
		{"metrics", "counts what the filters below turn away as well", c.metrics()},
		{"drain", "before any work is done for a request that shutdown would cut off", c.Drain.Filter(fail)},
		{"deadline", "before the first filter that may wait; nobody is known yet, so it holds for all", Deadline(c.RequestTimeout, c.LongRunning, fail)},
		{"cors", "before authenticate: browsers ask for leave without credentials", CORS(c.Origins)},
		{"authenticate", "before all that depends on the user", Authenticate(c.Authenticator, c.Metrics, c.Log, fail)},
		{"trace", "after authenticate: who may say what is sampled depends on the user", Trace(c.Tracer)},
		{"impersonate", "after authenticate, and before all that judges the user", Impersonate(c.Authorizer, c.Metrics, fail)},
		{"inflight", "after authenticate, to tell strangers from others; before the work of authorize", c.InFlight.Filter(c.LongRunning, fail)},
		{"authorize", "before all that only those have who may: the end of deadlines, and the handler", Authorize(c.Authorizer, c.Metrics, c.Log, fail)},
		{"long", "after authorize: who may not ask cannot stay", Long(c.InFlight, c.Drain, c.LongRunning, fail)},
		{"compress", "around the handler alone: only its answers are large", c.compress()},
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
	if c.InFlight == nil {
		c.InFlight = &InFlight{Reads: 400, Writes: 200}
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = time.Minute
	}
	if c.LongRunning == nil {
		c.LongRunning = LongRunning
	}
}

func (c *Config) compress() Filter {
	if c.NoCompression {
		return nil
	}
	return Compress()
}

func (c *Config) metrics() Filter {
	if c.Metrics == nil {
		return nil
	}
	return c.Metrics.Filter(c.LongRunning)
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
