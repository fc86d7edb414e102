package servertest

import (
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
)

// Webhooks is where a suite serves webhooks itself. What is installed with it calls them there:
// definitions to have their objects converted, and configurations of admission webhooks.
//
// Admission webhooks are installed, and not asked yet.
type Webhooks struct {
	// Host is the name or address that the suite listens at, default 127.0.0.1. Port is one that is
	// free by default.
	Host string
	Port int
	// CertDir has the certificate to serve with, tls.crt, and its key, tls.key. CAData is what
	// clients trust there, as PEM. Start makes both.
	CertDir string
	CAData  []byte
	// Converts says of which kinds the suite converts objects: others are not converted, whatever
	// their definitions say. With nil it converts those whose definitions have the strategy
	// Webhook.
	Converts func(group, kind string) bool
}

// certLife is how long the certificate is good.
const certLife = 30 * 24 * time.Hour

// complete returns a copy with what Start makes. The certificate goes to dir.
func (w Webhooks) complete(dir string) (*Webhooks, error) {
	if w.Host == "" {
		w.Host = "127.0.0.1"
	}
	var err error
	if w.Port == 0 {
		if w.Port, err = freePort(w.Host); err != nil {
			return nil, err
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
	return &w, errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), pair.CertPEM, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), pair.KeyPEM, 0o600))
}

// url is where a webhook with a path is served.
func (w *Webhooks) url(path string) string {
	return "https://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port)) + "/" + strings.TrimPrefix(path, "/")
}

// Ports for webhooks come from a range that no system hands out to those who ask for any port: what
// is free stays so until the suite listens, unless somebody asks for that very port.
const firstPort, lastPort = 20_000, 29_999

func freePort(host string) (int, error) {
	var err error
	for range 100 { // that are all in use: then it is not that
		var l net.Listener
		port := firstPort + mathrand.IntN(lastPort-firstPort+1)
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("a port for webhooks: %w", err)
}
