package signing

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
)

// This file issues certificates for requests that keep the rules of their signers. Answer
// calls issue.

const (
	// backdating is how far before its issue a certificate begins to be valid, for clients and
	// servers whose clocks are slow.
	backdating = 5 * time.Minute
	// shortLife is the life below which a certificate is valid for its whole life after its issue.
	// A longer life includes backdating.
	shortLife = 8 * time.Hour
)

// serialLimit bounds serial numbers, which are random, to 128 bits.
var serialLimit = new(big.Int).Lsh(big.NewInt(1), 128)

// issue returns the certificate for a request, in DER. by and key are the authority.
func issue(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage, life time.Duration,
	by *x509.Certificate, key crypto.Signer) ([]byte, error) {
	if err := asked.CheckSignature(); err != nil {
		return nil, err
	}
	c, err := template(asked, usages)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if !now.Before(by.NotAfter) {
		return nil, fmt.Errorf("the authority has expired, at %v", by.NotAfter)
	}
	c.NotBefore, c.NotAfter = validity(now, life, by.NotAfter)
	if c.SerialNumber, err = rand.Int(rand.Reader, serialLimit); err != nil {
		return nil, err
	}
	return x509.CreateCertificate(rand.Reader, c, by, asked.PublicKey, key)
}

// template returns a certificate with the subject and the names of a request, for usages. It has no
// serial number and no times.
func template(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) (*x509.Certificate, error) {
	t := &x509.Certificate{
		Subject: asked.Subject, DNSNames: asked.DNSNames, IPAddresses: asked.IPAddresses,
		EmailAddresses: asked.EmailAddresses, URIs: asked.URIs,
		BasicConstraintsValid: true, IsCA: false, // the certificate says that it is no authority
	}
	for _, u := range usages {
		use, known := keyUsages[u]
		ext, extended := extKeyUsages[u]
		switch {
		case known:
			t.KeyUsage |= use
		case !extended:
			return nil, fmt.Errorf("unrecognized usage: %q", u)
		case !slices.Contains(t.ExtKeyUsage, ext):
			t.ExtKeyUsage = append(t.ExtKeyUsage, ext)
		}
	}
	slices.Sort(t.ExtKeyUsage)
	return t, nil
}

// validity returns the first and the last moment at which a certificate that is issued now is
// valid. ends is the end of the authority.
func validity(now time.Time, life time.Duration, ends time.Time) (from, to time.Time) {
	to = now.Add(life)
	if life >= shortLife {
		to = to.Add(-backdating)
	}
	if to.After(ends) {
		to = ends
	}
	return now.Add(-backdating), to
}

// keyUsages and extKeyUsages translate the usages of the API. Each usage is in one of the two.
var keyUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
	certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
	certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
	certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
	certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
	certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
}

var extKeyUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
	certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
	certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
	certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
	certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
	certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
}
