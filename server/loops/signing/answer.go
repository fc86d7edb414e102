package signing

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Known reports whether signer is one of the standard signers.
func Known(signer string) bool { return rules[signer] != nil }

// Answer adds a certificate to the status of r, or the condition Failed if r breaks a rule of its
// signer, which must be Known. by and key are the authority. longest is the longest life of a
// certificate, and its life if r asks for none. An error says that r has not changed, because it
// cannot be parsed or the authority cannot sign.
func Answer(
	r *certificatesv1.CertificateSigningRequest, longest time.Duration, by *x509.Certificate, key crypto.Signer,
) error {
	asked, err := certificatesv1.ParseRequest(r.Spec.Request)
	if err != nil {
		return err
	}
	if err := rules[r.Spec.SignerName](asked, r.Spec.Usages); err != nil {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue,
			Reason: "SignerValidationFailure", Message: err.Error(), LastUpdateTime: meta.Now(),
		})
		return nil
	}
	der, err := issue(asked, r.Spec.Usages, life(r.Spec.ExpirationSeconds, longest), by, key)
	if err != nil {
		return fmt.Errorf("cannot issue a certificate: %w", err)
	}
	r.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return nil
}

// shortestLife is the life of a certificate whose request asks for less. It exceeds backdating.
const shortestLife = 10 * time.Minute

// life returns the life of a certificate whose request asks for a number of seconds, nil for none.
func life(seconds *int32, longest time.Duration) time.Duration {
	if seconds == nil {
		return longest
	}
	asked := time.Duration(*seconds) * time.Second
	if asked > longest {
		return longest
	}
	return max(asked, shortestLife)
}
