package authn

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
	"weak"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file authenticates client certificates. FrontProxy uses the same verifier for the
// certificates of proxies.

// Verified certificates, and connections with an invalid one, are remembered for verifiedFor, at
// most verifiedMax of each. maxChain is the largest number of certificates that a client may show:
// its own and intermediates. The bound is needed because verification tries all paths, whose number
// explodes if many certificates have one name.
const (
	verifiedFor = time.Minute
	verifiedMax = 4096
	maxChain    = 5
)

// oidUID is the attribute of a subject that holds the user's uid.
var oidUID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// X509 authenticates client certificates: the common name is the user name, the organizations are
// the groups.
//
// Verifying a signature takes longer than the rest of a request. So a success is remembered by the
// whole certificate, for a minute, as long as the roots stay the same. A failure is remembered by
// the connection, because it depends on the intermediates that the client has shown there.
type X509 struct {
	// Shown, if set, is called for each request with a certificate, valid or not, with the time
	// left until it expires. It is set before the first request.
	Shown func(left time.Duration)

	roots func() *x509.CertPool
	owner func(*x509.Certificate) (*request.User, error) // the user of a valid certificate; nil if it names none
	now   func() time.Time

	mu struct {
		sync.RWMutex
		verified map[string]verified // by certificate (DER)
		failed   map[weak.Pointer[tls.ConnectionState]]failed
	}
}

// verified is a remembered success.
type verified struct {
	user  *request.User
	roots *x509.CertPool
	until time.Time
}

// failed is a remembered failure.
type failed struct {
	err   error // refers to no certificate, so that it keeps none in memory
	roots *x509.CertPool
	until time.Time
}

// NewX509 returns an authenticator that trusts certificates for client authentication signed by one
// of roots(). roots is called for each request; it returns a new pool when the trusted authorities
// have changed, and nil if none is trusted.
func NewX509(roots func() *x509.CertPool) *X509 { return newVerifier(roots, userOf) }

// newVerifier returns an X509 that takes the user of a certificate from owner.
func newVerifier(roots func() *x509.CertPool, owner func(*x509.Certificate) (*request.User, error)) *X509 {
	a := &X509{roots: roots, owner: owner, now: time.Now}
	a.mu.verified = map[string]verified{}
	a.mu.failed = map[weak.Pointer[tls.ConnectionState]]failed{}
	return a
}

// Authenticate implements request.Authenticator.
func (a *X509) Authenticate(r *http.Request) (*request.User, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	roots := a.roots()
	if roots == nil {
		return nil, nil
	}
	conn, leaf, now := r.TLS, r.TLS.PeerCertificates[0], a.now()
	if a.Shown != nil {
		a.Shown(leaf.NotAfter.Sub(now))
	}
	a.mu.RLock()
	v, ok := a.mu.verified[string(leaf.Raw)]
	a.mu.RUnlock()
	if ok && v.roots == roots && now.Before(v.until) {
		return v.user, nil
	}
	if err := a.failure(conn, roots, now); err != nil {
		return nil, err
	}
	user, err := a.verify(conn.PeerCertificates, roots, now)
	if err != nil {
		a.remember(conn, failed{err: err, roots: roots, until: now.Add(verifiedFor)})
		return nil, err
	}
	v = verified{user: user, roots: roots, until: now.Add(verifiedFor)}
	if leaf.NotAfter.Before(v.until) {
		v.until = leaf.NotAfter
	}
	a.mu.Lock()
	if len(a.mu.verified) >= verifiedMax {
		clear(a.mu.verified)
	}
	a.mu.verified[string(leaf.Raw)] = v
	a.mu.Unlock()
	return v.user, nil
}

// failure returns the remembered error of the connection, if there is one.
func (a *X509) failure(conn *tls.ConnectionState, roots *x509.CertPool, now time.Time) error {
	key := weak.Make(conn)
	a.mu.RLock()
	f, ok := a.mu.failed[key]
	a.mu.RUnlock()
	if !ok || f.roots != roots || !now.Before(f.until) {
		return nil
	}
	return f.err
}

// remember remembers the failure of a connection. The weak key does not keep the connection in
// memory.
func (a *X509) remember(conn *tls.ConnectionState, f failed) {
	key := weak.Make(conn)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mu.failed) >= verifiedMax {
		clear(a.mu.failed)
	}
	a.mu.failed[key] = f
}

// verify verifies a client's certificates and returns the owner of the first one.
func (a *X509) verify(shown []*x509.Certificate, roots *x509.CertPool, now time.Time) (*request.User, error) {
	if err := verify(shown, roots, now); err != nil {
		return nil, err
	}
	return a.owner(shown[0])
}

// verify returns an error unless one of roots has signed the first certificate, directly or through
// the others.
func verify(shown []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	if len(shown) > maxChain {
		return fmt.Errorf(
			"verifying a certificate failed: it comes with %d others, more than %d", len(shown)-1, maxChain-1,
		)
	}
	leaf, intermediates := shown[0], x509.NewCertPool()
	for _, c := range shown[1:] {
		intermediates.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err == nil {
		return nil
	}
	serial := "(too long)"
	if leaf.SerialNumber.BitLen() <= maxSerial {
		serial = leaf.SerialNumber.String()
	}
	// err is not wrapped, because it would keep the certificate in memory.
	return fmt.Errorf("verifying certificate SN=%s of %q failed: %s", serial, meta.Excerpt(leaf.Subject.CommonName),
		meta.Excerpt(err.Error()))
}

// maxSerial is the length in bits of the longest serial number that is shown (RFC 5280, section
// 4.1.2.2).
const maxSerial = 20 * 8

// userOf returns the user that a certificate names, nil if it has no common name.
func userOf(c *x509.Certificate) (*request.User, error) {
	if c.Subject.CommonName == "" {
		return nil, nil
	}
	uid, err := uidOf(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(c.Raw)
	return &request.User{
		Name:   c.Subject.CommonName,
		UID:    uid,
		Groups: WithAuthenticated(c.Subject.CommonName, c.Subject.Organization),
		Extra:  map[string][]string{CredentialID: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}, nil
}

// uidOf returns the uid in a certificate's subject, "" if there is none. An ambiguous or unreadable
// uid is an error, because rights may depend on it.
func uidOf(c *x509.Certificate) (uid string, err error) {
	found := 0
	for _, n := range c.Subject.Names {
		if !n.Type.Equal(oidUID) {
			continue
		}
		var ok bool
		if uid, ok = n.Value.(string); !ok {
			return "", errors.New("the uid in the certificate is not a string")
		}
		found++
	}
	switch {
	case found > 1:
		return "", fmt.Errorf("the certificate has %d uids, want one", found)
	case found == 1 && uid == "":
		return "", errors.New("the uid in the certificate is empty")
	}
	return uid, nil
}
