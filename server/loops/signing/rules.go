package signing

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
)

// This file has the rules of the standard signers about requests. Answer and Approvals check
// them. The texts and the order of the errors are those of kube-controller-manager.

// rules are the rules of each signer. A rule returns the first mistake in a request, or nil.
var rules = map[string]func(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error{
	certificatesv1.KubeAPIServerClientSignerName:        checkClient,
	certificatesv1.KubeAPIServerClientKubeletSignerName: checkKubeletClient,
	certificatesv1.KubeletServingSignerName:             checkKubeletServing,
	certificatesv1.LegacyUnknownSignerName:              checkNothing,
}

// checkNothing is the rule of the signer for requests without a signer name, which the API allowed
// in its beta version. It allows everything.
func checkNothing(*x509.CertificateRequest, []certificatesv1.KeyUsage) error { return nil }

// checkClient is the rule for certificates of any client: client auth must be among the usages, and
// each usage must be one that clients need.
func checkClient(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth:
		default:
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// checkKubeletClient is the rule for certificates by which kubelets authenticate as their nodes.
func checkKubeletClient(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !ofNodes(asked):
		return errNotOfNodes
	case len(asked.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(asked.EmailAddresses) > 0:
		return errEmail
	case len(asked.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(asked.URIs) > 0:
		return errURI
	case !isNode(asked):
		return errNotNode
	}
	return checkUsages(usages, certificatesv1.UsageClientAuth)
}

// checkKubeletServing is the rule for certificates that kubelets show to the clients of their own
// port.
func checkKubeletServing(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !ofNodes(asked):
		return errNotOfNodes
	case len(asked.DNSNames) == 0 && len(asked.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(asked.EmailAddresses) > 0:
		return errEmail
	case len(asked.URIs) > 0:
		return errURI
	}
	if err := checkUsages(usages, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	if !isNode(asked) {
		return errNotNode
	}
	return nil
}

// The mistakes that both kinds of kubelets' certificates can have.
var (
	errNotOfNodes = errors.New("subject organization is not system:nodes")
	//lint:ignore ST1005 these are kube-controller-manager's words
	errNotNode = errors.New("subject common name does not begin with system:node:")
	//lint:ignore ST1005 these are kube-controller-manager's words
	errEmail = errors.New("Email subjectAltNames are not allowed")
	errURI   = errors.New("URI subjectAltNames are not allowed")
)

func ofNodes(asked *x509.CertificateRequest) bool {
	return slices.Equal(asked.Subject.Organization, []string{"system:nodes"})
}

func isNode(asked *x509.CertificateRequest) bool {
	return strings.HasPrefix(asked.Subject.CommonName, "system:node:")
}

// checkUsages requires the usages digital signature and auth, and allows key encipherment, which
// only RSA keys need. Their order does not matter.
func checkUsages(usages []certificatesv1.KeyUsage, auth certificatesv1.KeyUsage) error {
	needed := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, auth}
	all := append(slices.Clone(needed), certificatesv1.UsageKeyEncipherment)
	within := func(some, of []certificatesv1.KeyUsage) bool {
		return !slices.ContainsFunc(some, func(u certificatesv1.KeyUsage) bool { return !slices.Contains(of, u) })
	}
	if within(usages, all) && within(needed, usages) {
		return nil
	}
	slices.Sort(all)
	return fmt.Errorf("usages did not match %v", all)
}
