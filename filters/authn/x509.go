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

// Verified certificates, and connections whose certificate does not hold, are remembered for at most verifiedFor, and
// verifiedMax of each at once. maxChain is how many certificates a client may show: its own and those between it and a
// root. Of many with one name, all ways through them would be tried.
const (
	verifiedFor = time.Minute
	verifiedMax = 4096
	maxChain    = 5
)

// oidUID marks the part of a subject that holds the user's uid.
var oidUID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// X509 knows the owners of client certificates: the common name is the user, the organizations are the groups.
//
// Verifying a signature takes longer than the rest of a request, so its success is remembered by the whole
// certificate, for a minute and only under the same roots. A failure is remembered by the connection, since it depends on
// what else the client has shown there.
type X509 struct {
	// Shown, if set, is told of each request with a certificate how long that is still good, whether it holds or not. It is set before
	// the first request.
	Shown func(left time.Duration)

	roots func() *x509.CertPool
	owner func(*x509.Certificate) (*request.User, error) // of a certificate that holds; nil if it is nobody's
	now   func() time.Time

	mu struct {
		sync.RWMutex
		verified map[string]verified // by certificate (DER)
		failed   map[weak.Pointer[tls.ConnectionState]]failed
	}
}

type verified struct {
	user  *request.User
	roots *x509.CertPool
	until time.Time
}

type failed struct {
	err   error // holds no certificate
	roots *x509.CertPool
	until time.Time
}

// NewX509 trusts certificates for client authentication that roots() signed. roots is called for each request, and
// returns another pool once the trusted authorities have changed, or nil if none is trusted.
func NewX509(roots func() *x509.CertPool) *X509 { return newVerifier(roots, userOf) }

func newVerifier(roots func() *x509.CertPool, owner func(*x509.Certificate) (*request.User, error)) *X509 {
	a := &X509{roots: roots, owner: owner, now: time.Now}
	a.mu.verified = map[string]verified{}
	a.mu.failed = map[weak.Pointer[tls.ConnectionState]]failed{}
	return a
}

// Authenticate returns the owner of r's client certificate.
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

// failure returns the error of an earlier request of the connection.
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

func (a *X509) remember(conn *tls.ConnectionState, f failed) {
	key := weak.Make(conn)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mu.failed) >= verifiedMax {
		clear(a.mu.failed)
	}
	a.mu.failed[key] = f
}

// verify returns the owner of the first certificate, which one of roots must have signed, through the others.
func (a *X509) verify(shown []*x509.Certificate, roots *x509.CertPool, now time.Time) (*request.User, error) {
	if err := verify(shown, roots, now); err != nil {
		return nil, err
	}
	return a.owner(shown[0])
}

// verify returns an error unless one of roots has signed the first certificate, through the others.
func verify(shown []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	if len(shown) > maxChain {
		return fmt.Errorf("verifying a certificate failed: it comes with %d others, more than %d", len(shown)-1, maxChain-1)
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
	// Not wrapped: the error would keep the certificate.
	return fmt.Errorf("verifying certificate SN=%s of %q failed: %s", serial, meta.Excerpt(leaf.Subject.CommonName), meta.Excerpt(err.Error()))
}

// maxSerial is how long a serial number may be, in bits.
const maxSerial = 20 * 8

// userOf returns whom a certificate names, nil if it has no common name.
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

// uidOf returns the uid in a certificate's subject, "" if there is none. A uid that cannot be told is an error: rights may hang on it.
func uidOf(c *x509.Certificate) (uid string, err error) {
	found := 0
	for _, n := range c.Subject.Names {
		if !n.Type.Equal(oidUID) {
			continue
		}
		var ok bool
		if uid, ok = n.Value.(string); !ok {
			return "", errors.New("the uid in the certificate is no text")
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
