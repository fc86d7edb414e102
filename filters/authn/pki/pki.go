// Package pki makes keys and certificates, and reads both from PEM.
//
// Words: a Pair is a certificate with its private key; an authority is a Pair that signs others; a
// template is an x509.Certificate with the fields that the new one shall have.
//
// Laws: it keeps no state and reads no files. All keys that it makes are ECDSA keys on P-256.
//
// Packages server, authn and their tests use it. Not here: which certificates a server needs and
// where they are stored (server), and the verification of clients (authn.X509).
//
// Read pki.go, then read.go.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// The types of PEM blocks.
const (
	typeCertificate = "CERTIFICATE"
	typeKey         = "EC PRIVATE KEY"
)

// clockSkew is how far before now a new certificate begins to be valid, for clients whose clocks
// are slow.
const clockSkew = 5 * time.Minute

// Pair is a certificate with its private key. A Pair is not changed once made.
type Pair struct {
	Cert            *x509.Certificate
	Key             crypto.Signer
	CertPEM, KeyPEM []byte // CertPEM may hold further certificates behind Cert
}

// NewAuthority makes a certificate authority with a self-signed certificate that is valid until the
// given time.
func NewAuthority(name string, until time.Time) (*Pair, error) {
	return create(nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: until,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	})
}

// SelfSigned makes a self-signed certificate from template. It cannot sign other certificates.
func SelfSigned(template *x509.Certificate) (*Pair, error) { return create(nil, template) }

// Sign makes a certificate from template, with a new key, signed by p. Where the template says
// nothing, the certificate is for digital signatures, is valid from now on (less clockSkew) and
// ends with p's certificate.
func (p *Pair) Sign(template *x509.Certificate) (*Pair, error) { return create(p, template) }

// create makes a certificate signed by by, or self-signed if by is nil.
func create(by *Pair, template *x509.Certificate) (*Pair, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	c := *template
	if by == nil {
		by = &Pair{Cert: &c, Key: key}
	}
	if c.SerialNumber == nil {
		if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
			return nil, err
		}
	}
	if c.NotBefore.IsZero() {
		c.NotBefore = time.Now().Add(-clockSkew)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = by.Cert.NotAfter
	}
	if c.KeyUsage == 0 {
		c.KeyUsage = x509.KeyUsageDigitalSignature
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, by.Cert, key.Public(), by.Key)
	if err != nil {
		return nil, err
	}
	pair := &Pair{Key: key, CertPEM: pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: der})}
	if pair.KeyPEM, err = EncodeKey(key); err != nil {
		return nil, err
	}
	pair.Cert, err = x509.ParseCertificate(der)
	return pair, err
}

// ForServer returns the template of a server's certificate for the given hosts: DNS names and IP
// addresses.
func ForServer(name string, hosts ...string) *x509.Certificate {
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	return c
}

// ForClient returns the template of a client's certificate for a user with groups, as authn.X509
// reads it.
func ForClient(user string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// TLS returns the pair for a tls.Config.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key, Leaf: p.Cert}
}

// NewKey makes a private key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// EncodeKey returns a private key as PEM.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: typeKey, Bytes: der}), nil
}

// EncodeCertificates returns certificates as PEM, in order.
func EncodeCertificates(all ...*x509.Certificate) []byte {
	var text []byte
	for _, c := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: c.Raw})...)
	}
	return text
}
