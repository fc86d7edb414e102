package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKubeconfig makes the kubeconfig of a user with a certificate that the server's authority
// signed, and gives the command wrong flags.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, write, "serve", "--data-dir", dir, "--storage=memory", "--log-level=error", "--secure-port", anyPort)
		write.Close()
	}()
	if _, err := read.Read(make([]byte, 4096)); err != nil {
		t.Fatalf("greeting: %v, %v", err, <-done)
	}
	go io.Copy(io.Discard, read)
	defer func() { stop(); <-done }()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "kubeconfig", "--data-dir", dir, "--user", "alice", "--group", "dev,ops", "--expires=90m", "--server=https://else:1"); err != nil {
		t.Fatal(err)
	}
	field := func(name string) string {
		t.Helper()
		m := regexp.MustCompile(`\s` + name + `: (\S+)\n`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("got %s, want %s in it", out.String(), name)
		}
		return m[1]
	}
	data, err := base64.StdEncoding.DecodeString(field("client-certificate-data"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || cert.Subject.CommonName != "alice" || !slices.Equal(cert.Subject.Organization, []string{"dev", "ops"}) ||
		time.Until(cert.NotAfter).Round(time.Minute) != 90*time.Minute || field("server") != "https://else:1" {
		t.Errorf("got %v until %v at %s, %v", cert.Subject, cert.NotAfter, field("server"), err)
	}
	for want, args := range map[string][]string{
		"give --user for a user, or --service-": {},
		"excludes --user and --group":           {"--service-account", "a/b", "--user", "c"},
		"\"a\": give NAMESPACE/NAME":            {"--service-account", "a"},
		`serviceaccounts "nobody" not found`:    {"--service-account", "default/nobody"},
		"no server with a secure port has run":  {"--user", "a", "--data-dir", t.TempDir()},
		"credentials cannot last for -1h0m0s":   {"--user", "a", "--expires=-1h"},
		"the authority that signs ends before ": {"--user", "a", "--expires=200000h"},
	} {
		if err := run(t.Context(), io.Discard, append([]string{"kubeconfig", "--data-dir", dir}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
