package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server/servertest/audittest"
)

// audited is the directory of the session and of its recorded events, from which a test of package
// server reads.
const audited = "../../server/testdata/audit"

// TestAudit plays the session to a kube-apiserver and compares its audit events with the recorded
// ones. With RECORD=1, the test records them anew.
func TestAudit(t *testing.T) {
	p := newPlane(t, kube136)
	ca, log := pkitest.NewAuthority(t, "clients"), p.path("audit.log")
	s := p.serve(kube136, 0,
		"--client-ca-file="+ca.File, "--token-auth-file="+p.tokens(filepath.Join(audited, audittest.TokenFile)),
		"--audit-policy-file="+filepath.Join(audited, audittest.PolicyFile), "--audit-log-path="+log,
		"--audit-log-mode=blocking", "--audit-log-format=json")
	session := audittest.Read(t, audited)
	session.Play(t, audittest.Target{URL: s.base, CA: ca})
	s.stop()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := session.Parse(t, f)
	file := filepath.Join(audited, audittest.EventFile)
	if os.Getenv("RECORD") != "" {
		audittest.WriteEvents(t, file, got)
	}
	for _, d := range session.Compare(got, session.ReadEvents(t, file)) {
		t.Error(d)
	}
}

// tokens returns a file with the tokens of this plane and those in another file.
func (p *plane) tokens(more string) string {
	p.t.Helper()
	own, err := os.ReadFile(p.path("tokens.csv"))
	if err != nil {
		p.t.Fatal(err)
	}
	others, err := os.ReadFile(more)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("all-tokens.csv", string(own)+string(others))
	return p.path("all-tokens.csv")
}
