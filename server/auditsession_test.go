package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/audittest"
)

// TestAuditSession plays the session under testdata/audit. The audit events equal those that a
// kube-apiserver recorded at the same session, field by field.
func TestAuditSession(t *testing.T) {
	const dir = "testdata/audit"
	ca, log := pkitest.NewAuthority(t, "clients"), filepath.Join(t.TempDir(), "audit.log")
	s := servertest.Start(t, server.Config{
		API: server.APIConfig{AllowPrivileged: true},
		Authentication: identity.Config{
			ClientCAFile: ca.File, TokenAuthFile: filepath.Join(dir, audittest.TokenFile),
			ServiceAccounts: identity.ServiceAccounts{Issuers: []string{"https://cluster.example"}},
		},
		Authorization: access.Config{Modes: []string{access.Node, access.RBAC}},
		Controllers:   []string{}, // as beside a kube-apiserver, none
	})
	session := audittest.Read(t, dir)
	session.Play(t, audittest.Target{URL: s.URL, CA: ca})
	if err := s.Stop(); err != nil { // writes all events
		t.Fatal(err)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, d := range session.Compare(session.Parse(t, f), session.ReadEvents(t, filepath.Join(dir, audittest.EventFile))) {
		t.Error(d)
	}
}
