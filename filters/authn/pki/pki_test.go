package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

// TestAuthority: a certificate is valid for the uses in its template, and for no longer than the
// authority.
func TestAuthority(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	server, client := ca.Server("a.example.com", "127.0.0.1"), ca.Client("alice", "dev")
	for _, tt := range []struct {
		name string
		cert *x509.Certificate
		host string
		use  x509.ExtKeyUsage
		good bool
	}{
		{"by name", server.Cert, "a.example.com", x509.ExtKeyUsageServerAuth, true},
		{"by address", server.Cert, "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{"by another name", server.Cert, "b.example.com", x509.ExtKeyUsageServerAuth, false},
		{"a server as a client", server.Cert, "", x509.ExtKeyUsageClientAuth, false},
		{"a client", client.Cert, "", x509.ExtKeyUsageClientAuth, true},
		{"a client as a server", client.Cert, "", x509.ExtKeyUsageServerAuth, false},
		{"self-signed", pkitest.SelfSigned(t).Cert, "", x509.ExtKeyUsageServerAuth, false},
		{"of another authority of that name", pkitest.NewAuthority(t, "ca").Client("alice").Cert, "", x509.ExtKeyUsageClientAuth, false},
	} {
		_, err := tt.cert.Verify(x509.VerifyOptions{Roots: ca.Pool, DNSName: tt.host, KeyUsages: []x509.ExtKeyUsage{tt.use}})
		if (err == nil) != tt.good {
			t.Errorf("%s: got %v, want it good: %v", tt.name, err, tt.good)
		}
	}
	if s := client.Cert.Subject; s.CommonName != "alice" || len(s.Organization) != 1 || s.Organization[0] != "dev" {
		t.Errorf("the subject of a client is %v", s)
	}
	if !server.Cert.NotAfter.Equal(ca.Cert.NotAfter) || time.Now().Before(server.Cert.NotBefore) {
		t.Errorf("got a certificate from %v to %v, want it to begin now and end at %v", server.Cert.NotBefore, server.Cert.NotAfter, ca.Cert.NotAfter)
	}
	if server.Cert.SerialNumber.Cmp(client.Cert.SerialNumber) == 0 {
		t.Error("two certificates have one serial number")
	}
}

// TestParse reads the keys and certificates of a text that also has parts to be skipped.
func TestParse(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	one := ca.Client("one")
	with := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: one.Cert.Raw})
	text := bytes.Join([][]byte{[]byte("words\n"), one.KeyPEM, one.CertPEM, with, pki.EncodeCertificates(ca.Cert)}, nil)

	certs, err := pki.ParseCertificates(text)
	if err != nil || len(certs) != 2 || !certs[0].Equal(one.Cert) || !certs[1].Equal(ca.Cert) {
		t.Errorf("certificates: got %d, %v; want that of one and of the authority", len(certs), err)
	}
	if _, err := pki.ParseCertificates(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})); err == nil {
		t.Error("a broken certificate is read")
	}
	key, err := pki.ParseKey(text)
	if private, ok := one.Key.(*ecdsa.PrivateKey); err != nil || !ok || !private.Equal(key) {
		t.Errorf("key: got %v, %v; want that of one", key, err)
	}
	keys, err := pki.ParsePublicKeys(text)
	if err != nil || len(keys) != 4 {
		t.Errorf("public keys: got %d, %v; want those of the key and of three certificates", len(keys), err)
	}
	pair, err := pki.ParsePair(append(one.CertPEM, ca.CertPEM...), one.KeyPEM)
	if err != nil || !pair.Cert.Equal(one.Cert) || len(pair.CertPEM) != len(one.CertPEM)+len(ca.CertPEM) {
		t.Errorf("pair: got %v, %v", pair, err)
	}
	if _, err := pki.ParsePair(ca.CertPEM, one.KeyPEM); err == nil {
		t.Error("a certificate and the key of another one are a pair")
	}
}

// TestKeyForms reads private keys in all encodings, and no other kinds of key.
func TestKeyForms(t *testing.T) {
	ec := pkitest.Key(t)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	ecText, err := pki.EncodeKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	in := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}) }
	for name, text := range map[string][]byte{
		"EC": ecText, "EC in PKCS #8": in(pkcs8(ec)), "RSA": in(x509.MarshalPKCS1PrivateKey(rs)), "RSA in PKCS #8": in(pkcs8(rs)),
	} {
		if key, err := pki.ParseKey(text); err != nil || !ec.Equal(key) && !rs.Equal(key) {
			t.Errorf("%s: got %v, %v", name, key, err)
		}
	}
	if _, err := pki.ParseKey([]byte("none")); err == nil {
		t.Error("a key is found where there is none")
	}
}
