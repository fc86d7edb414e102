package certificatesv1

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// ParseRequest reads the PKCS #10 request in the spec of a CertificateSigningRequest, which is PEM.
// It does not check the signature.
func ParseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
