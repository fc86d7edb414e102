package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Webhooks is where a suite serves webhooks itself. What is installed with it calls them there: definitions to have their objects
// converted, and configurations of admission webhooks.
//
// Admission webhooks are installed, and not asked yet.
type Webhooks struct {
	// Host is the name or address that the suite listens at, default 127.0.0.1. Port is one that is free by default.
	Host string
	Port int
	// CertDir has the certificate to serve with, tls.crt, and its key, tls.key. CAData is what clients trust there, as PEM. Start makes
	// both.
	CertDir string
	CAData  []byte
	// Converts says of which kinds the suite converts objects: others are not converted, whatever their definitions say. With nil it
	// converts those whose definitions have the strategy Webhook.
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
	crt, key, err := selfSigned(w.Host, "localhost")
	if err != nil {
		return nil, fmt.Errorf("a certificate for webhooks: %w", err)
	}
	w.CAData = crt
	return &w, errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
}

// url is where a webhook with a path is served.
func (w *Webhooks) url(path string) string {
	return "https://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port)) + "/" + strings.TrimPrefix(path, "/")
}

// Ports for webhooks come from a range that no system hands out to those who ask for any port: what is free stays so until the suite
// listens, unless somebody asks for that very port.
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

// selfSigned returns a certificate for names and addresses, and its key, as PEM. Who trusts the certificate trusts nothing else.
func selfSigned(names ...string) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "servertest-webhooks"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
