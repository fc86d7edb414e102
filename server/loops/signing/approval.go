package signing

import (
	"crypto/x509"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
)

// Approval is a reason to approve a request: its user has a right.
type Approval struct {
	// Subresource is the subresource of certificatesigningrequests that the user must be allowed to
	// create.
	Subresource string
	// Message is the message of the condition Approved.
	Message string
}

// The two reasons that there are.
var (
	selfNode = Approval{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."}
	anyNode  = Approval{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."}
)

// Approvals returns the reasons for which a request may be approved, in the order in which they are
// tried. asked is its parsed text. Only requests for client certificates of kubelets that keep the
// rules of their signer have any. A node that renews its own certificate has both.
func Approvals(r *certificatesv1.CertificateSigningRequest, asked *x509.CertificateRequest) []Approval {
	switch {
	case r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || checkKubeletClient(asked, r.Spec.Usages) != nil:
		return nil
	case r.Spec.Username == asked.Subject.CommonName:
		return []Approval{selfNode, anyNode}
	}
	return []Approval{anyNode}
}
