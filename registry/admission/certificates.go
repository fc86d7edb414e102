package admission

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
)

// CertificateApproval is the plugin of that name. To approve or deny a CertificateSigningRequest, a
// user needs the verb approve on the request's signer, in addition to the right to update the
// approval subresource.
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

// Validate refuses an update of the approval if the user lacks the verb approve.
func (c CertificateApproval) Validate(ctx context.Context, a *Attributes) error {
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Subresource != "approval" || maySign(ctx, c.may, a.User, "approve", old) {
		return nil
	}
	return a.Forbidden("user not permitted to approve requests with signerName %q", old.Spec.SignerName)
}

// CertificateSigning is the plugin of that name. To change the status of a
// CertificateSigningRequest, such as its certificate, a user needs the verb sign on the request's
// signer.
type CertificateSigning struct {
	may request.Authorizer
}

// NewCertificateSigning returns the plugin.
func NewCertificateSigning(may request.Authorizer) CertificateSigning { return CertificateSigning{may} }

// Name is the plugin's name.
func (CertificateSigning) Name() string { return "CertificateSigning" }

// Handles is true for updates.
func (CertificateSigning) Handles(op Operation) bool { return op == Update }

// Validate refuses a change of the status if the user lacks the verb sign.
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

// maySign reports whether a user has a verb on the signer of a request, "domain/path", or on all
// signers of its domain, "domain/*". The server itself (nil) may do everything.
func maySign(
	ctx context.Context, may request.Authorizer, user *request.User, verb string,
	csr *certificatesv1.CertificateSigningRequest,
) bool {
	if user == nil {
		return true
	}
	signer := csr.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	return slices.ContainsFunc([]string{signer, domain + "/*"}, func(name string) bool {
		decision, _, _ := may.Authorize(ctx, &request.Attributes{
			User: user, Verb: verb, IsResource: true, Group: certificatesv1.GroupVersion.Group, Version: "*",
			Resource: "signers", Name: name,
		})
		return decision == request.Allow
	})
}

// CertificateSubjectRestriction is the plugin of that name. It refuses requests for client
// certificates of the group system:masters, whose members may do everything.
type CertificateSubjectRestriction struct{}

// Name is the plugin's name.
func (CertificateSubjectRestriction) Name() string { return "CertificateSubjectRestriction" }

// Handles is true for creates.
func (CertificateSubjectRestriction) Handles(op Operation) bool { return op == Create }

// Validate refuses a new request for a client certificate whose subject has the organization
// system:masters.
func (CertificateSubjectRestriction) Validate(_ context.Context, a *Attributes) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Subresource != "" || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	asked, err := certificatesv1.ParseRequest(csr.Spec.Request)
	if err != nil {
		return a.Forbidden("failed to parse CSR: %w", err)
	}
	if slices.Contains(asked.Subject.Organization, request.GroupMasters) {
		return a.Forbidden("use of %s signer with system:masters group is not allowed",
			certificatesv1.KubeAPIServerClientSignerName)
	}
	return nil
}
