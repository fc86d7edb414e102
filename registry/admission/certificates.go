package admission

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
)

// CertificateApproval lets those approve and deny requests for certificates who may approve what
// their signer is to sign, which is a right of its own: to write is not enough.
type CertificateApproval struct {
	may request.Authorizer
}

// NewCertificateApproval returns the plugin.
func NewCertificateApproval(may request.Authorizer) CertificateApproval {
	return CertificateApproval{may}
}

// Name is the plugin's name.
func (CertificateApproval) Name() string { return "CertificateApproval" }

// Handles is true for updates.
func (CertificateApproval) Handles(op Operation) bool { return op == Update }

// Validate asks for the right.
func (c CertificateApproval) Validate(ctx context.Context, a *Attributes) error {
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Subresource != "approval" || maySign(ctx, c.may, a.User, "approve", old) {
		return nil
	}
	return a.Forbidden("user not permitted to approve requests with signerName %q", old.Spec.SignerName)
}

// CertificateSigning lets those alone put a certificate or a condition into the status of a request
// who may sign for its signer.
type CertificateSigning struct {
	may request.Authorizer
}

// NewCertificateSigning returns the plugin.
func NewCertificateSigning(may request.Authorizer) CertificateSigning { return CertificateSigning{may} }

// Name is the plugin's name.
func (CertificateSigning) Name() string { return "CertificateSigning" }

// Handles is true for updates.
func (CertificateSigning) Handles(op Operation) bool { return op == Update }

// Validate asks for the right if there is something new.
func (c CertificateSigning) Validate(ctx context.Context, a *Attributes) error {
	now, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Subresource != "status" {
		return nil
	}
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok || scheme.Equal(&now.Status, &old.Status) || maySign(ctx, c.may, a.User, "sign", old) {
		return nil
	}
	return a.Forbidden("user not permitted to sign requests with signerName %q", old.Spec.SignerName)
}

// maySign reports whether a user may do that to the requests of a signer, or to those of all
// signers of its domain.
func maySign(ctx context.Context, may request.Authorizer, user *request.User, verb string, csr *certificatesv1.CertificateSigningRequest) bool {
	if user == nil {
		return true
	}
	signer := csr.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	return slices.ContainsFunc([]string{signer, domain + "/*"}, func(name string) bool {
		decision, _, _ := may.Authorize(ctx, &request.Attributes{
			User: user, Verb: verb, IsResource: true, Group: certificatesv1.GroupVersion.Group, Version: "*", Resource: "signers", Name: name,
		})
		return decision == request.Allow
	})
}

// CertificateSubjectRestriction keeps certificates from being asked for, of the signer whose
// certificates this server believes, that would make of anybody a member of system:masters.
type CertificateSubjectRestriction struct{}

// clientSigner signs the certificates by which clients are known.
const clientSigner = "kubernetes.io/kube-apiserver-client"

// Name is the plugin's name.
func (CertificateSubjectRestriction) Name() string { return "CertificateSubjectRestriction" }

// Handles is true for creates.
func (CertificateSubjectRestriction) Handles(op Operation) bool { return op == Create }

// Validate looks into the request.
func (CertificateSubjectRestriction) Validate(_ context.Context, a *Attributes) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Subresource != "" || csr.Spec.SignerName != clientSigner {
		return nil
	}
	asked, err := certificatesv1.ParseRequest(csr.Spec.Request)
	if err != nil {
		return a.Forbidden("failed to parse CSR: %w", err)
	}
	if slices.Contains(asked.Subject.Organization, request.GroupMasters) {
		return a.Forbidden("use of %s signer with system:masters group is not allowed", clientSigner)
	}
	return nil
}

// ParseSigningRequest reads the request in the spec of a CertificateSigningRequest.
func ParseSigningRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
