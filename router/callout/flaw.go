package callout

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// Flaw is an outdated property of the other end's certificate. Go rejects such certificates, so
// calls fail unless a GODEBUG setting allows them or every certificate is accepted. Metrics count
// them, as in kube-apiserver.
type Flaw uint8

// The flaws.
const (
	NoNames Flaw = iota // it has a name only as common name, and no subject alternative names
	SHA1                // it, or an intermediate certificate, is signed with SHA-1
)

// reportFlaws calls tell with each flaw in the certificates of a response, or with the flaw because
// of which there is no response.
func reportFlaws(resp *http.Response, err error, tell func(Flaw)) {
	switch {
	case tell == nil:
	case err != nil:
		if errors.As(err, new(x509.HostnameError)) &&
			strings.Contains(err.Error(), "relies on legacy Common Name field") {
			tell(NoNames)
		}
		_, why, _ := strings.Cut(err.Error(), "cannot verify signature: insecure algorithm")
		// x509 exports no type for the cause.
		if errors.As(err, new(x509.UnknownAuthorityError)) && strings.Contains(why, "SHA1") {
			tell(SHA1)
		}
	case resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0:
		shown := resp.TLS.PeerCertificates
		if !slices.ContainsFunc(shown[0].Extensions, isSubjectAltNames) {
			tell(NoNames)
		}
		if slices.ContainsFunc(shown, isSignedWithSHA1) {
			tell(SHA1)
		}
	}
}

// isSubjectAltNames reports whether an extension is the subject alternative names.
func isSubjectAltNames(e pkix.Extension) bool { return e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) }

// isSignedWithSHA1 reports whether a certificate is signed with SHA-1 by another certificate. A
// self-signed one is trusted for itself, and its signature does not matter.
func isSignedWithSHA1(c *x509.Certificate) bool {
	return (c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1) &&
		c.Issuer.String() != c.Subject.String()
}
