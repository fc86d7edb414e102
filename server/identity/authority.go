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

// The server's own certificate authority, whose files live in the folder pki, and the self-signed
// certificate of a server that has no authority. New opens both; NewUser and KubeconfigMaker sign
// with the authority.

// The lifetimes of certificates that the server makes. A start makes a new one if the existing
// certificate ends within renewBefore.
const (
	caLife      = 10 * 365 * 24 * time.Hour
	certLife    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
)

// dirMode is the mode of folders with keys.
const dirMode = 0o700

// authority is the server's own certificate authority with the certificates that it has signed, in
// a folder:
//
//	ca.crt ca.key                 the authority, trusted for client certificates as well
//	apiserver.crt apiserver.key   the serving certificate
//	admin.crt admin.key           a client certificate of system:masters
//
// Beside it is a second authority, which servers behind this one trust as a front proxy's:
//
//	front-proxy-ca.crt ...        the authority; this server itself does not trust it
//	front-proxy-client.crt ...    the client certificate that this server shows to them
type authority struct {
	dir string
	ca  *pki.Pair
}

// openAuthority reads the authority called name in dir. It makes one if there is none or if it ends
// within renewBefore.
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

// serving returns the serving certificate. It makes a new one if the existing certificate does not
// cover all names and ips.
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

// servingTemplate describes a serving certificate for names and ips.
func servingTemplate(names []string, ips []net.IP) *x509.Certificate {
	template := pki.ForServer("kube-apiserver", names...)
	template.IPAddresses = ips
	return template
}

// admin returns the client certificate of the administrator, a member of system:masters.
func (p *authority) admin() (*pki.Pair, error) {
	return p.signed("admin", func(*x509.Certificate) bool { return true }, pki.ForClient("kubernetes-admin", request.GroupMasters))
}

// frontProxyName is the file name and the common name of the client certificate for servers behind
// this one.
const frontProxyName = "front-proxy-client"

// frontProxy returns the client certificate that this server shows to servers behind it.
func (p *authority) frontProxy() (*pki.Pair, error) {
	return p.signed(frontProxyName, func(*x509.Certificate) bool { return true }, pki.ForClient(frontProxyName))
}

// client signs a client certificate for a user who is a member of groups. It writes no file.
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

// signed returns the certificate called name if it is valid for longer than renewBefore, the
// authority has signed it, and fits accepts it. Otherwise it makes one from template. A file that
// cannot be parsed is an error: somebody may have put it there, so it is not overwritten.
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

// read reads the certificate called name and its key.
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

// make makes a key and signs a certificate from template for it, and writes both.
func (p *authority) make(name string, template *x509.Certificate) (*pki.Pair, error) {
	pair, err := p.ca.Sign(template)
	if err != nil {
		return nil, err
	}
	return pair, p.write(name, pair)
}

// write replaces the two files of a pair. It removes the certificate first and writes it last. If
// the process dies in between there is no certificate, and the next start replaces the key. So a
// certificate that exists always fits its key.
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

// openSelfSigned returns the paths of the serving certificate and its key in TLS.CertDir, as
// kube-apiserver's --cert-dir does. If neither file exists it writes both: a certificate signed by
// a new authority, followed by that authority's certificate. The authority's key is not kept. One
// file without the other is an error.
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
	case !errors.Is(certErr, fs.ErrNotExist): // a file that exists is never overwritten
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

// readable returns nil if the file at path can be opened for reading.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// writeFile replaces a file atomically: readers see the old or the new content, also after a crash.
// The file has mode 0600.
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
