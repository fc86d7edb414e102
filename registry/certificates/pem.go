package certificates

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// maxKeyBits is the largest RSA key, in bits. The time to verify a signature grows faster than the
// length of the key, and many users may create requests, so the limit bounds the work of the
// server.
const maxKeyBits = 16384

// checkSigned returns what is wrong with a PKCS #10 request in PEM. The request must be signed with
// its own key, which proves that the client has the key.
func checkSigned(text []byte) error {
	request, err := certificatesv1.ParseRequest(text)
	if err != nil {
		return err
	}
	if key, ok := request.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxKeyBits {
		return fmt.Errorf("the RSA key has more than %d bits", maxKeyBits)
	}
	return request.CheckSignature()
}

// checkCertificate returns what is wrong with a chain of certificates in PEM. An empty text is
// valid: it stands for a request that has no certificate yet. Blocks with PEM headers are refused.
func checkCertificate(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) > 0 {
			return errors.New("no PEM block headers are permitted")
		}
		certs, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certs) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
	}
	return nil
}

// The greatest lengths of the name of a signer and its parts, in bytes. A domain is a DNS-1123
// subdomain. A path may consist of a namespace and a name.
const (
	maxDomain = 253
	maxPath   = 253 + 1 + 63
	maxSigner = maxDomain + 1 + maxPath
)

// checkSigner validates the name of a signer, such as kubernetes.io/kube-apiserver-client: a domain
// with at least two labels, a slash, and a path of DNS-1123 subdomains between dots.
func checkSigner(p *field.Path, name string) field.ErrorList {
	domain, path, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(path, "/") {
		return field.ErrorList{field.Invalid(p, name,
			"must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	var errs field.ErrorList
	if len(domain) > maxDomain {
		errs = append(errs, field.TooLong(p, "", maxDomain))
	}
	errs = append(errs, eachLabel(p, domain, names.IsDNS1123Label)...)
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(p, domain, "should be a domain with at least two segments separated by dots"))
	}
	errs = append(errs, eachLabel(p, path, names.IsDNS1123Subdomain)...)
	if len(name) > maxSigner {
		errs = append(errs, field.TooLong(p, "", maxSigner))
	}
	return errs
}

// eachLabel applies rule to each part of text between dots. It returns the errors of the first part
// that has any.
func eachLabel(p *field.Path, text string, rule func(string) []string) field.ErrorList {
	var errs field.ErrorList
	for label := range strings.SplitSeq(text, ".") {
		for _, msg := range rule(label) {
			errs = append(errs, field.Invalid(p, text, fmt.Sprintf("validating label %q: %s", label, msg)))
		}
		if len(errs) > 0 {
			break
		}
	}
	return errs
}
