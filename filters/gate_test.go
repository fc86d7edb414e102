package filters

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

var _ = addExits([]exit{
	{step: "seat", name: "no seat", config: noSeat(Short), token: "alice-token", request: exitGet, code: 429},
	{step: "seat", name: "no seat for a stranger, and too many refusals",
		config: func(c *Config) { noRefusal(c); noSeat(Short)(c) }, request: exitGet},
})

// noSeat is a configuration whose gate refuses all requests in a phase.
func noSeat(phase Phase) func(*Config) {
	return func(c *Config) {
		c.Gate = &recordingGate{log: new([]string), refuses: func(p Phase) bool { return p == phase }}
	}
}

// recordingGate is a Gate that records which seats are taken and left.
type recordingGate struct {
	name    string
	log     *[]string
	refuses func(Phase) bool // nil: none
}

func (j *recordingGate) note(what string) { *j.log = append(*j.log, j.name+what) }

func (j *recordingGate) Seat(ctx context.Context, info *request.Info, phase Phase) (Seat, error) {
	what := [...]string{Short: "short", Beginning: "beginning", Lasting: "lasting"}[phase]
	if request.From(ctx) != info || info.User == nil || info.Resource != "pods" {
		return nil, fmt.Errorf("the context or the request is not known: %+v", info.Attributes)
	}
	if j.refuses != nil && j.refuses(phase) {
		j.note("no " + what)
		return nil, meta.NewTooManyRequests("full", 7)
	}
	j.note(what)
	return noted(func() { j.note("left " + what) }), nil
}

func (j *recordingGate) Separate() Gate {
	return &recordingGate{name: "apart: ", log: j.log, refuses: j.refuses}
}

type noted func()

func (leave noted) Leave() { leave() }

// TestSeats checks which seats a request takes, and when it gives them back.
func TestSeats(t *testing.T) {
	const list, watch = "/api/v1/pods", "/api/v1/pods?watch=1"
	for _, tt := range []struct {
		name, target string
		refuses      func(Phase) bool
		denied       bool // by the authorizer
		apart        bool // the handler hands the request on
		panics       bool
		code         int
		want         []string
	}{
		{name: "short", target: list, code: 200, want: []string{"short", "handler", "answer", "left short"}},
		{name: "short, no seat", target: list, refuses: func(Phase) bool { return true }, code: 429, want: []string{"no short"}},
		{name: "short, denied", target: list, denied: true, code: 403, want: []string{"short", "left short"}},
		{name: "short, panics", target: list, panics: true, code: 500, want: []string{"short", "handler", "left short"}},
		{name: "short, to another server", target: list, apart: true, code: 200,
			want: []string{"short", "apart: short", "left short", "handler", "answer", "apart: left short"}},
		{name: "watch", target: watch, code: 200,
			want: []string{"beginning", "lasting", "handler", "left beginning", "answer", "left lasting"}},
		{name: "watch, denied", target: watch, denied: true, code: 403, want: []string{"beginning", "left beginning"}},
		{name: "watch, no seat to begin", target: watch, refuses: func(p Phase) bool { return p == Beginning }, code: 429,
			want: []string{"no beginning"}},
		{name: "watch, no seat to last", target: watch, refuses: func(p Phase) bool { return p == Lasting }, code: 429,
			want: []string{"beginning", "no lasting", "left beginning"}},
		{name: "watch, panics", target: watch, panics: true, code: 500,
			want: []string{"beginning", "lasting", "handler", "left beginning", "left lasting"}},
		{name: "watch, to another server", target: watch, apart: true, code: 200,
			want: []string{"beginning", "lasting", "apart: lasting", "left beginning", "left lasting", "handler", "answer", "apart: left lasting"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log []string
			c := testConfig(t)
			c.Gate, c.Authorizer = &recordingGate{log: &log, refuses: tt.refuses}, authz.AlwaysAllow()
			if tt.denied {
				c.Authorizer = authz.AlwaysDeny()
			}
			h := func(w http.ResponseWriter, _ *http.Request) {
				log = append(log, "handler")
				if tt.panics {
					panic("x")
				}
				w.WriteHeader(http.StatusOK)
				log = append(log, "answer")
			}
			if tt.apart {
				h = Separate(c.Gate, func(r *http.Request) bool { return r.URL.RawQuery != "" }, fail)(h)
			}
			w := serve(c, h, "alice-token", "GET", tt.target)
			if w.Code != tt.code || (w.Header().Get("Retry-After") == "7") != (tt.code == http.StatusTooManyRequests) {
				t.Errorf("got %d %v, want %d", w.Code, w.Header(), tt.code)
			}
			if !slices.Equal(log, tt.want) {
				t.Errorf("got  %q\nwant %q", log, tt.want)
			}
		})
	}
}
