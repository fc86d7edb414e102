package servertest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/server/servertest/ports"
)

// Webhooks says where a suite serves its own webhooks. The objects of the Environment are changed
// to call them there: definitions for conversion, and configurations of admission webhooks.
//
// The server stores configurations of admission webhooks, but does not call them.
type Webhooks struct {
	// Host is the name or address at which the suite listens, default 127.0.0.1. Port is a free
	// port by default.
	Host string
	Port int
	// CertDir is the folder of the certificate to serve with, tls.crt, and its key, tls.key. CAData
	// is the certificate that clients trust, as PEM. Start sets both.
	CertDir string
	CAData  []byte
	// Converts reports whether the suite converts the objects of a kind. Objects of other kinds are
	// not converted, even if their definition has the strategy Webhook. If Converts is nil, the
	// suite converts the kinds whose definitions have that strategy.
	Converts func(group, kind string) bool
}

// certLife is how long the certificate is valid.
const certLife = 30 * 24 * time.Hour

// complete returns a copy of w with all fields set, and writes a new certificate to dir.
func (w Webhooks) complete(dir string) (*Webhooks, error) {
	if w.Host == "" {
		w.Host = "127.0.0.1"
	}
	var err error
	if w.Port == 0 {
		if w.Port, err = ports.Free(w.Host); err != nil {
			return nil, fmt.Errorf("a port for webhooks: %w", err)
		}
	}
	w.CertDir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	template := pki.ForServer("servertest-webhooks", w.Host, "localhost")
	template.NotAfter = time.Now().Add(certLife)
	pair, err := pki.SelfSigned(template)
	if err != nil {
		return nil, fmt.Errorf("a certificate for webhooks: %w", err)
	}
	w.CAData = pair.CertPEM
	return &w, errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), pair.CertPEM, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), pair.KeyPEM, 0o600),
	)
}

// url returns the URL of the webhook at a path.
func (w *Webhooks) url(path string) string {
	return "https://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port)) + "/" + strings.TrimPrefix(path, "/")
}
