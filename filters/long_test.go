package filters

import (
	"context"
	"net/http"
	"testing"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

var _ = addExits([]exit{
	{step: "long", name: "no seat", config: noSeat(Lasting), token: "alice-token", request: exitWatch, code: 429},
})

// TestLong: a request becomes long-running only when it is authorized. Until then it has a deadline
// and takes no seat of long-running requests.
func TestLong(t *testing.T) {
	for _, target := range []string{
		"/api/v1/pods?watch=1", "/api/v1/watch/pods", "/api/v1/namespaces/n/pods/p/exec", "/api/v1/namespaces/n/pods/p/log",
		"/api/v1/proxy/namespaces/n/pods/p", "/debug/pprof/profile",
	} {
		for _, allow := range []request.Decision{request.Allow, request.Deny} {
			c := testConfig(t)
			asked, stayed := 0, 0
			c.Drain.OnLongRunning = func() { stayed++ }
			check := func(by string, ctx context.Context, lasting bool) {
				asked++
				_, long := c.Drain.Running()
				_, ends := ctx.Deadline()
				if (long == 1) != lasting || ends == lasting {
					t.Errorf("%s: %s finds %d long-running, a deadline: %v", target, by, long, ends)
				}
			}
			c.Authenticator = authenticate(func(r *http.Request) (*request.User, error) {
				check("authentication", r.Context(), false)
				r.Context().Done() // starts the timer of the deadline
				return &request.User{Name: "bob"}, nil
			})
			c.Authorizer = authz.Func(func(ctx context.Context, _ *request.Attributes) (request.Decision, string, error) {
				check("authorization", ctx, false)
				return allow, "", nil
			})
			refuse := c.Fail
			c.Fail = func(w http.ResponseWriter, r *http.Request, err error) {
				check("refusal", r.Context(), false)
				refuse(w, r, err)
			}
			serve(c, func(w http.ResponseWriter, r *http.Request) {
				check("handler", r.Context(), true)
				ok(w, r)
			}, "", "GET", target)
			if asked != 3 {
				t.Errorf("%s: asked %d times, want 3", target, asked)
			}
			if (stayed == 1) != (allow == request.Allow) {
				t.Errorf("%s: %d requests stayed", target, stayed)
			}
			if short, long := c.Drain.Running(); short != 0 || long != 0 {
				t.Errorf("%s: afterwards %d short and %d long requests are running", target, short, long)
			}
		}
	}
}

type authenticate func(r *http.Request) (*request.User, error)

func (f authenticate) Authenticate(r *http.Request) (*request.User, error) { return f(r) }
