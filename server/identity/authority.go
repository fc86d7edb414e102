package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// How long self-made certificates last, and how long before the end they are made anew at a start.
const (
	caLife      = 10 * 365 * 24 * time.Hour
	certLife    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
)

// dirMode is that of folders with keys.
const dirMode = 0o700

// authority is the server's own certificate authority with what it has signed, in a folder:
//
//	ca.crt ca.key                 the authority, trusted for client certificates as well
//	apiserver.crt apiserver.key   the serving certificate
//	admin.crt admin.key           a client certificate of system:masters
//
// Beside it is another one, which servers behind this one trust to say for whom this one speaks:
//
//	front-proxy-ca.crt ...        the authority, trusted for nothing here
//	front-proxy-client.crt ...    what it shows to them
type authority struct {
	dir string
	ca  *pki.Pair
}

// openAuthority reads the authority called name in dir, or makes one.
func openAuthority(dir, name string) (*authority, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	p := &authority{dir: dir}
	ca, err := p.read(name)
	if err == nil && time.Until(ca.Cert.NotAfter) > renewBefore {
		p.ca = ca
		return p, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.ca, err = pki.NewAuthority("coracle-"+name, time.Now().Add(caLife)); err != nil {
		return nil, err
	}
	return p, p.write(name, p.ca)
}

// serving returns the serving certificate for names and addresses, made anew if the one there does
// not cover them.
func (p *authority) serving(names []string, ips []net.IP) (*pki.Pair, error) {
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
	template := pki.ForServer("kube-apiserver", names...)
	template.IPAddresses = ips
	return template
}

// admin returns the client certificate of the administrator.
func (p *authority) admin() (*pki.Pair, error) {
	return p.signed("admin", func(*x509.Certificate) bool { return true }, pki.ForClient("kubernetes-admin", request.GroupMasters))
}

// frontProxyName is the name of the certificate that servers behind this one are shown, and what it
// is called in there.
const frontProxyName = "front-proxy-client"

// frontProxy returns what servers behind this one are shown.
func (p *authority) frontProxy() (*pki.Pair, error) {
	return p.signed(frontProxyName, func(*x509.Certificate) bool { return true }, pki.ForClient(frontProxyName))
}

// client makes a client certificate of a user, who is a member of some groups. It is not kept.
func (p *authority) client(user string, groups []string, until time.Time) (*pki.Pair, error) {
	if user == "" {
		return nil, errors.New("a user must have a name")
	}
	if until.After(p.ca.Cert.NotAfter) {
		return nil, fmt.Errorf("the authority that signs ends before that, at %v", p.ca.Cert.NotAfter)
	}
	template := pki.ForClient(user, groups...)
	template.NotAfter = until
	return p.ca.Sign(template)
}

// signed returns the certificate called name if it is good for a while, signed by the authority and
// fits; else it makes one like template.
func (p *authority) signed(name string, fits func(*x509.Certificate) bool,
	template *x509.Certificate) (*pki.Pair, error) {
	have, err := p.read(name)
	if err == nil && time.Until(have.Cert.NotAfter) > renewBefore && have.Cert.CheckSignatureFrom(p.ca.Cert) == nil &&
		fits(have.Cert) {
		return have, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	template.NotAfter = time.Now().Add(certLife)
	return p.make(name, template)
}

// read parses the pair called name.
func (p *authority) read(name string) (*pki.Pair, error) {
	certPEM, err := configfile.Read(filepath.Join(p.dir, name+".crt"))
	if err != nil {
		return nil, err
	}
	keyPEM, err := configfile.Read(filepath.Join(p.dir, name+".key"))
	if err != nil {
		return nil, err
	}
	pair, err := pki.ParsePair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", filepath.Join(p.dir, name), err)
	}
	return pair, nil
}

// make creates a pair like template, signed by the authority, and writes it.
func (p *authority) make(name string, template *x509.Certificate) (*pki.Pair, error) {
	pair, err := p.ca.Sign(template)
	if err != nil {
		return nil, err
	}
	return pair, p.write(name, pair)
}

// write replaces the two files of a pair. The certificate goes first and comes last, so that
// wherever this is cut off, a certificate that is there fits its key; a pair without one is made
// anew.
func (p *authority) write(name string, pair *pki.Pair) error {
	crt := filepath.Join(p.dir, name+".crt")
	if err := os.Remove(crt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(filepath.Join(p.dir, name+".key"), pair.KeyPEM); err != nil {
		return err
	}
	return writeFile(crt, pair.CertPEM)
}

// openSelfSigned returns the files of the serving certificate in the folder for it. If there is
// neither they are written: a certificate behind which stands an authority that has signed nothing
// else, and is forgotten.
func openSelfSigned(n *Needs) (certFile, keyFile string, err error) {
	p := &authority{dir: n.TLS.CertDir}
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
	if err := os.MkdirAll(p.dir, dirMode); err != nil {
		return "", "", err
	}
	names, ips := n.names()
	ips = append(ips, n.Addresses...)
	until := time.Now().Add(certLife)
	if p.ca, err = pki.NewAuthority(fmt.Sprintf("%s-ca@%d", names[0], time.Now().Unix()), until); err != nil {
		return "", "", err
	}
	pair, err := p.ca.Sign(servingTemplate(names, ips))
	if err != nil {
		return "", "", err
	}
	pair.CertPEM = append(pair.CertPEM, p.ca.CertPEM...)
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

// writeFile replaces a file as a whole: readers see the old or the new content, also after a crash.
// It is for its owner alone.
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
