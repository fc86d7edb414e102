package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/filters/audit/backend"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/audittest"
)

// TestAuditSession plays the session under testdata/audit. The audit events equal those that a
// kube-apiserver recorded at the same session, field by field, but for auditExcuses.
func TestAuditSession(t *testing.T) {
	t.Parallel() // most of the time it waits for watches to end
	const dir = "testdata/audit"
	ca, log := pkitest.NewAuthority(t, "clients"), backend.DefaultLog()
	log.Path, log.MaxSize = filepath.Join(t.TempDir(), "audit.log"), 0 // what rotates files never ends
	s := servertest.Start(t, server.Config{
		API: server.APIConfig{AllowPrivileged: true},
		Authentication: identity.Config{
			ClientCAFile: ca.File, TokenAuthFile: filepath.Join(dir, audittest.TokenFile),
			ServiceAccounts: identity.ServiceAccounts{Issuers: []string{"https://cluster.example"}},
		},
		Authorization: access.Config{Modes: []string{access.Node, access.RBAC}},
		Serving: server.ServingConfig{Audit: server.AuditConfig{
			PolicyFile: filepath.Join(dir, audittest.PolicyFile), Log: log,
		}},
		Controllers: []string{}, // as beside a kube-apiserver, none
	})
	session := audittest.Read(t, dir)
	session.Play(t, audittest.Target{URL: s.URL, CA: ca})
	if err := s.Stop(); err != nil { // writes all events
		t.Fatal(err)
	}
	f, err := os.Open(log.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used := map[int]bool{}
	for _, d := range session.Compare(session.Parse(t, f), session.ReadEvents(t, filepath.Join(dir, audittest.EventFile))) {
		i := slices.IndexFunc(auditExcuses, func(e auditExcuse) bool { return e.covers(d) })
		if i < 0 {
			t.Error(d)
		}
		used[i] = true
	}
	for i, e := range auditExcuses {
		if !used[i] {
			t.Errorf("nothing differs for the reason that %s", e.reason)
		}
	}
}

// auditExcuse is a reason why events differ from those of kube-apiserver. steps, path and got are
// regular expressions that match the whole name of the step, the path of the field, and the value.
type auditExcuse struct{ reason, steps, path, got string }

func (e auditExcuse) covers(d audittest.Difference) bool {
	whole := func(pattern, text string) bool { return regexp.MustCompile(`^(` + pattern + `)$`).MatchString(text) }
	return whole(e.steps, d.Step) && whole(e.path, d.Path) && whole(e.got, d.Got)
}

var auditExcuses = []auditExcuse{
	{"the client is at fault, so the code is 400; kube-apiserver answers 500",
		"(get|watch|path: an old watch) (from|at) an invalid version|create with a version|apply an unknown field",
		`response(Status|Object)\.(code|reason)`, `400|"BadRequest"`},
	{"these subresources lead to kubelets, and are not served",
		"exec|exec by GET|exec in a missing pod|attach|forward a port|log|log of a missing pod|proxy to a service",
		`response(Status|Object)(\..*)?`, `.*`},
	{"kube-apiserver writes no event if a patch is not JSON; here YAML is recorded as JSON",
		"apply YAML|apply a widget as YAML", "", `.*"requestObject":\{"apiVersion":.*`},
	{"kube-apiserver writes no event if a patch is not JSON; here it is recorded as a string",
		"patch, JSON malformed|patch, strategic malformed|apply malformed YAML|patch a widget, malformed", "", `.*"requestObject":".*`},
	{"kube-apiserver takes a patch that changes nothing for a change, because times lose their fraction in JSON",
		"hooked again", `annotations\.mutation\.webhook.*`, `.*\\"mutated\\":false.*`},
}
