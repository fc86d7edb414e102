package admission_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// csr returns a request for a certificate with a status.
func csr(t *testing.T, signer, status string) *certificatesv1.CertificateSigningRequest {
	return checktest.Decode[certificatesv1.CertificateSigningRequest](t, fmt.Sprintf(`{"spec":{"signerName":%q},"status":{%s}}`, signer, status))
}

// signs returns the attributes of a write of a CertificateSigningRequest.
func signs(op admission.Operation, subresource string, now, old meta.Object) *admission.Attributes {
	return &admission.Attributes{
		Operation: op, Resource: certificatesv1.GroupVersion.WithResource("certificatesigningrequests"), Subresource: subresource,
		Name: "a", Object: now, Old: old, User: &request.User{Name: "alice"},
	}
}

// TestSigners writes approvals and certificates as users who have some of the rights that this
// needs.
func TestSigners(t *testing.T) {
	const (
		approved = `"conditions":[{"type":"Approved","status":"True"}]`
		issued   = `"certificate":"eA=="`
		approve  = `user not permitted to approve requests with signerName "a.b/c"`
		sign     = `user not permitted to sign requests with signerName "a.b/c"`
	)
	for _, tt := range []struct {
		rights, door, status, was, refused string
	}{
		{"", "approval", approved, "", approve},
		{"", "approval", "", "", approve}, // even if the approval does not change
		{"approve  /a.b/c", "approval", approved, "", ""},
		{"approve  /a.b/*", "approval", approved, "", ""},
		{"approve  /a.b/d", "approval", approved, "", approve},
		{"sign  /a.b/c", "approval", approved, "", approve},
		{"", "status", issued, "", sign},
		{"", "status", approved, "", sign},
		{"", "status", issued, issued, ""}, // for example, a change of labels
		{"sign  /a.b/c", "status", issued, "", ""},
		{"sign  /a.b/*", "status", issued, "", ""},
		{"approve  /a.b/*", "status", issued, "", sign},
		{"", "", "", "", ""},
	} {
		// The signer of the stored request counts: a user who changes the signer still needs the
		// right for the old one.
		a := signs(admission.Update, tt.door, csr(t, "x.y/z", tt.status), csr(t, "a.b/c", tt.was))
		h := &rightsAuthorizer{rights: []string{tt.rights}}
		chain := admission.Chain{admission.NewCertificateApproval(h), admission.NewCertificateSigning(h)}
		want := tt.refused
		if want != "" {
			want = `certificatesigningrequests.certificates.k8s.io "a" is forbidden: ` + want
		}
		if err := chain.Validate(t.Context(), a); said(err) != want {
			t.Errorf("%s with %q: got %q, want %q", tt.door, tt.rights, said(err), want)
		}
		a.User = nil
		if err := chain.Validate(t.Context(), a); err != nil {
			t.Errorf("%s by the server itself: %v", tt.door, err)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCertificateSubjectRestriction(t *testing.T) {
	const client = "kubernetes.io/kube-apiserver-client"
	requests := signingRequests(t, pkix.Name{CommonName: "a", Organization: []string{"dev", "system:masters"}}, pkix.Name{CommonName: "system:masters"})
	masters, others := requests[0], requests[1]
	for _, tt := range []struct {
		op      admission.Operation
		door    string
		signer  string
		request []byte
		refused string
	}{
		{admission.Create, "", client, masters, "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		{admission.Create, "", client, others, ""},
		{admission.Create, "", client, []byte("x"), "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"},
		{admission.Create, "", client + "-kubelet", masters, ""},
		{admission.Update, "", client, masters, ""},
		{admission.Create, "status", client, masters, ""},
	} {
		now := checktest.Decode[certificatesv1.CertificateSigningRequest](t,
			fmt.Sprintf(`{"spec":{"signerName":%q,"request":%q}}`, tt.signer, base64.StdEncoding.EncodeToString(tt.request)))
		err := admission.Chain{admission.CertificateSubjectRestriction{}}.Validate(t.Context(), signs(tt.op, tt.door, now, now))
		if _, reason, _ := strings.Cut(said(err), " is forbidden: "); reason != tt.refused {
			t.Errorf("%s %q for %s: got %q, want %q", tt.op, tt.door, tt.signer, reason, tt.refused)
		}
	}
}

// signingRequests returns a PEM request for a certificate for each name.
func signingRequests(t *testing.T, names ...pkix.Name) [][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, name := range names {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: name}, key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	return all
}
