package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// Verified certificates are remembered for at most verifiedFor, and verifiedMax of them at once.
const (
	verifiedFor = time.Minute
	verifiedMax = 4096
)

// oidUID marks the part of a subject that holds the user's uid.
var oidUID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// X509 knows the owners of client certificates: the common name is the user, the organizations are the groups.
//
// Verifying a signature takes longer than the rest of a request, so its success is remembered by the whole
// certificate, for a minute and only under the same roots.
type X509 struct {
	roots func() *x509.CertPool
	now   func() time.Time

	mu struct {
		sync.RWMutex
		verified map[string]verified // by certificate (DER)
	}
}

type verified struct {
	user  *request.User
	roots *x509.CertPool
	until time.Time
}

// NewX509 trusts certificates for client authentication that roots() signed. roots is called for each request, and
// returns another pool once the trusted authorities have changed, or nil if none is trusted.
func NewX509(roots func() *x509.CertPool) *X509 {
	a := &X509{roots: roots, now: time.Now}
	a.mu.verified = map[string]verified{}
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
	leaf, now := r.TLS.PeerCertificates[0], a.now()
	a.mu.RLock()
	v, ok := a.mu.verified[string(leaf.Raw)]
	a.mu.RUnlock()
	if ok && v.roots == roots && now.Before(v.until) {
		return v.user, nil
	}
	intermediates := x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil, fmt.Errorf("verifying certificate SN=%d of %q failed: %w", leaf.SerialNumber, leaf.Subject.CommonName, err)
	}
	if leaf.Subject.CommonName == "" {
		return nil, nil
	}
	v = verified{user: userOf(leaf), roots: roots, until: now.Add(verifiedFor)}
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

func userOf(c *x509.Certificate) *request.User {
	sum := sha256.Sum256(c.Raw)
	user := &request.User{
		Name:   c.Subject.CommonName,
		Groups: withAuthenticated(c.Subject.Organization),
		Extra:  map[string][]string{"authentication.kubernetes.io/credential-id": {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}
	for _, n := range c.Subject.Names {
		if uid, ok := n.Value.(string); ok && n.Type.Equal(oidUID) {
			user.UID = uid
		}
	}
	return user
}
