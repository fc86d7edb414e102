package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/iprange"
)

// How long self-made certificates last, and how long before the end they are made anew at a start.
const (
	caLife      = 10 * 365 * 24 * time.Hour
	certLife    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
	clockSkew   = 5 * time.Minute
)

// pki is the server's own certificate authority with what it has signed, in a folder:
//
//	ca.crt ca.key                 the authority, trusted for client certificates as well
//	apiserver.crt apiserver.key   the serving certificate
//	admin.crt admin.key           a client certificate of system:masters
//
// Beside it is another one, which servers behind this one trust to say for whom this one speaks:
//
//	front-proxy-ca.crt ...        the authority, trusted for nothing here
//	front-proxy-client.crt ...    what it shows to them
type pki struct {
	dir string
	ca  *keyPair
}

// keyPair is a certificate with its key, as PEM and parsed.
type keyPair struct {
	certPEM, keyPEM []byte
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
}

// openPKI reads the authority called name in dir, or makes one.
func openPKI(dir, name string) (*pki, error) {
	if err := os.MkdirAll(dir, dataMode); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	ca, err := p.read(name)
	if err == nil && time.Until(ca.cert.NotAfter) > renewBefore {
		p.ca = ca
		return p, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.ca, err = p.make(name, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "coracle-" + name},
		NotAfter:              time.Now().Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	})
	return p, err
}

// serving returns the serving certificate for names and addresses, made anew if the one there does not cover them.
func (p *pki) serving(names []string, ips []net.IP) (*keyPair, error) {
	covers := func(c *x509.Certificate) bool {
		for _, n := range names {
			if !slices.Contains(c.DNSNames, n) {
				return false
			}
		}
		for _, ip := range ips {
			if !slices.ContainsFunc(c.IPAddresses, ip.Equal) {
				return false
			}
		}
		return true
	}
	return p.signed("apiserver", covers, servingTemplate(names, ips))
}

func servingTemplate(names []string, ips []net.IP) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    names,
		IPAddresses: ips,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// admin returns the client certificate of the administrator.
func (p *pki) admin() (*keyPair, error) {
	return p.signed("admin", func(*x509.Certificate) bool { return true }, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{request.GroupMasters}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// frontProxyName is the name of the certificate that servers behind this one are shown, and what it is called in there.
const frontProxyName = "front-proxy-client"

// frontProxy returns what servers behind this one are shown.
func (p *pki) frontProxy() (*keyPair, error) {
	return p.signed(frontProxyName, func(*x509.Certificate) bool { return true }, &x509.Certificate{
		Subject: pkix.Name{CommonName: frontProxyName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// client makes a client certificate of a user, who is a member of some groups. It is not kept.
func (p *pki) client(user string, groups []string, until time.Time) (*keyPair, error) {
	if user == "" {
		return nil, errors.New("a user must have a name")
	}
	if until.After(p.ca.cert.NotAfter) {
		return nil, fmt.Errorf("the authority that signs ends before that, at %v", p.ca.cert.NotAfter)
	}
	return p.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// signed returns the certificate called name if it is good for a while, signed by the authority and fits; else it
// makes one like template.
func (p *pki) signed(name string, fits func(*x509.Certificate) bool, template *x509.Certificate) (*keyPair, error) {
	have, err := p.read(name)
	if err == nil && time.Until(have.cert.NotAfter) > renewBefore && have.cert.CheckSignatureFrom(p.ca.cert) == nil && fits(have.cert) {
		return have, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	template.NotAfter = time.Now().Add(certLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return p.make(name, template)
}

// read parses the pair called name.
func (p *pki) read(name string) (*keyPair, error) {
	certPEM, err := configfile.Read(filepath.Join(p.dir, name+".crt"))
	if err != nil {
		return nil, err
	}
	keyPEM, err := configfile.Read(filepath.Join(p.dir, name+".key"))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", filepath.Join(p.dir, name), err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("certificate %s: the key is no ECDSA key", filepath.Join(p.dir, name))
	}
	return &keyPair{certPEM: certPEM, keyPEM: keyPEM, cert: pair.Leaf, key: key}, nil
}

// make creates a pair like template and writes it.
func (p *pki) make(name string, template *x509.Certificate) (*keyPair, error) {
	pair, err := p.sign(template)
	if err != nil {
		return nil, err
	}
	return pair, p.write(name, pair)
}

// sign creates a key and a certificate like template, signed by the authority, or by itself if there is none yet.
func (p *pki) sign(template *x509.Certificate) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-clockSkew)
	parent, signer := template, key
	if p.ca != nil {
		parent, signer = p.ca.cert, p.ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	pair := &keyPair{
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		key:     key,
	}
	pair.cert, err = x509.ParseCertificate(der)
	return pair, err
}

// write replaces the two files of a pair. The certificate goes first and comes last, so that wherever this is cut off, a
// certificate that is there fits its key; a pair without one is made anew.
func (p *pki) write(name string, pair *keyPair) error {
	crt := filepath.Join(p.dir, name+".crt")
	if err := os.Remove(crt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(filepath.Join(p.dir, name+".key"), pair.keyPEM); err != nil {
		return err
	}
	return writeFile(crt, pair.certPEM)
}

// openSelfSigned returns the files of the serving certificate in the folder for it. If there is neither they are written: a certificate
// behind which stands an authority that has signed nothing else, and is forgotten.
func openSelfSigned(c completed) (certFile, keyFile string, err error) {
	p := &pki{dir: c.Serving.TLS.CertDir}
	certFile, keyFile = filepath.Join(p.dir, "apiserver.crt"), filepath.Join(p.dir, "apiserver.key")
	certErr, keyErr := readable(certFile), readable(keyFile)
	switch {
	case certErr == nil && keyErr == nil:
		return certFile, keyFile, nil
	case certErr == nil:
		return "", "", fmt.Errorf("error reading %s, certificate and key must be supplied as a pair", keyFile)
	case keyErr == nil:
		return "", "", fmt.Errorf("error reading %s, certificate and key must be supplied as a pair", certFile)
	case !errors.Is(certErr, fs.ErrNotExist): // nothing is written over what somebody keeps there
		return "", "", certErr
	case !errors.Is(keyErr, fs.ErrNotExist):
		return "", "", keyErr
	}
	if err := os.MkdirAll(p.dir, dataMode); err != nil {
		return "", "", err
	}
	names, ips := namesOf(c.Serving)
	if ip, err := c.Serving.advertised(); err == nil {
		ips = append(ips, ip.AsSlice())
	}
	if ranges, err := c.API.Services.ranges(); err == nil {
		ips = append(ips, iprange.New(ranges[0]).First().AsSlice())
	}
	until := time.Now().Add(certLife)
	if p.ca, err = p.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: fmt.Sprintf("%s-ca@%d", names[0], time.Now().Unix())}, NotAfter: until,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}); err != nil {
		return "", "", err
	}
	template := servingTemplate(names, ips)
	template.NotAfter, template.KeyUsage = until, x509.KeyUsageDigitalSignature
	pair, err := p.sign(template)
	if err != nil {
		return "", "", err
	}
	pair.certPEM = append(pair.certPEM, p.ca.certPEM...)
	return certFile, keyFile, p.write("apiserver", pair)
}

// readable returns why a file cannot be read, or nil.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// writeFile replaces a file as a whole: readers see the old or the new content, also after a crash. It is for its owner alone.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op after the rename
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
