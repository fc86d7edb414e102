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

// Flaw is what is wrong with the certificate of the other end that was usual once. Calls fail of it, unless Go is told otherwise, or
// every certificate is accepted.
type Flaw uint8

// The flaws.
const (
	NoNames Flaw = iota // it says whose it is in the common name of its subject alone
	SHA1                // it, or one on the way to its authority, is signed over a SHA-1 hash
)

// tellFlaws tells of the flaws that can be seen in an answer, or in the reason for which there is none.
func tellFlaws(resp *http.Response, err error, tell func(Flaw)) {
	switch {
	case tell == nil:
	case err != nil:
		if errors.As(err, new(x509.HostnameError)) && strings.Contains(err.Error(), "relies on legacy Common Name field") {
			tell(NoNames)
		}
		_, why, _ := strings.Cut(err.Error(), "cannot verify signature: insecure algorithm")
		if errors.As(err, new(x509.UnknownAuthorityError)) && strings.Contains(why, "SHA1") { // its cause is not to be had otherwise
			tell(SHA1)
		}
	case resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0:
		shown := resp.TLS.PeerCertificates
		if !slices.ContainsFunc(shown[0].Extensions, isNames) {
			tell(NoNames)
		}
		if slices.ContainsFunc(shown, isOverSHA1) {
			tell(SHA1)
		}
	}
}

// isNames reports whether an extension lists the names of whom a certificate is for.
func isNames(e pkix.Extension) bool { return e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) }

// isOverSHA1 reports whether a certificate is signed over a SHA-1 hash by another than itself.
func isOverSHA1(c *x509.Certificate) bool {
	return (c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1) && c.Issuer.String() != c.Subject.String()
}
