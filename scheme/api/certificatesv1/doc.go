// Package certificatesv1 declares the kinds of certificates.k8s.io/v1. A CertificateSigningRequest
// asks a signer for a certificate.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/certificates).
package certificatesv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/certificatesv1", "io.k8s.api.certificates.v1", source)
}
