package interop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate/csr"
)

// applicant is a key for which certificates are requested with the functions of client-go that
// kubelets call.
type applicant struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newApplicant(t *testing.T) *applicant {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &applicant{t, key}
}

// request requests a certificate and returns a function that waits for it, as PEM.
func (a *applicant) request(c kubernetes.Interface, signer string, template *x509.CertificateRequest,
	usages ...certificatesv1.KeyUsage) (name string, issued func() []byte) {
	a.t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	life := time.Hour
	name, uid, err := csr.RequestCertificateWithContext(a.t.Context(), c, text, "", signer, &life, usages, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return name, func() []byte {
		a.t.Helper()
		ctx, cancel := context.WithTimeout(a.t.Context(), 30*time.Second)
		defer cancel()
		certificate, err := csr.WaitForCertificate(ctx, c, name, uid)
		if err != nil {
			a.t.Fatal(err)
		}
		return certificate
	}
}

// config returns a configuration of clients with a certificate of the key.
func (a *applicant) config(s *server, certificate []byte) *rest.Config {
	a.t.Helper()
	der, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.config(a.t))
	config.CertData, config.KeyData = certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return config
}

// whoami returns the name and the groups of the user of a client.
func whoami(t *testing.T, c kubernetes.Interface) (string, []string) {
	t.Helper()
	r, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.UserInfo.Username, r.Status.UserInfo.Groups
}

// bindGroup gives a group the rights of a cluster role.
func bindGroup(t *testing.T, admin kubernetes.Interface, role, group string) {
	t.Helper()
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "kubeadm-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: group}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestKubeletBootstrap has a node join with a bootstrap token. The node gets its client
// certificate, makes its Node, renews its certificate, and gets a serving certificate after an
// administrator has approved it.
func TestKubeletBootstrap(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--controllers=*", "--enable-bootstrap-token-auth", "--authorization-mode=Node,RBAC")
	admin := s.client(t)
	const id, secret, nodes = "abcdef", "0123456789abcdef", "system:certificates.k8s.io:certificatesigningrequests:"
	if _, err := admin.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bindGroup(t, admin, "system:node-bootstrapper", "system:bootstrappers")
	bindGroup(t, admin, nodes+"nodeclient", "system:bootstrappers")
	bindGroup(t, admin, nodes+"selfnodeclient", "system:nodes")

	subject := pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}
	clientUsages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	first := newApplicant(t)
	_, issued := first.request(clientset(t, s.withToken(t, id+"."+secret)), certificatesv1.KubeAPIServerClientKubeletSignerName, &x509.CertificateRequest{Subject: subject}, clientUsages...)
	kubelet := clientset(t, first.config(s, issued()))
	if name, groups := whoami(t, kubelet); name != "system:node:n1" || !slices.Contains(groups, "system:nodes") {
		t.Errorf("the node is %s, in %q", name, groups)
	}
	node, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	second := newApplicant(t)
	_, issued = second.request(kubelet, certificatesv1.KubeAPIServerClientKubeletSignerName, &x509.CertificateRequest{Subject: subject}, clientUsages...)
	renewed := clientset(t, second.config(s, issued()))
	node.Status.Capacity = corev1.ResourceList{}
	if _, err := renewed.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Errorf("with the renewed certificate: %v", err)
	}

	serving := newApplicant(t)
	name, issued := serving.request(renewed, certificatesv1.KubeletServingSignerName, &x509.CertificateRequest{
		Subject: subject, DNSNames: []string{"n1"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
	}, certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth)
	shell := newShell(t, s)
	if got := shell.run(t, "kubectl get csr "+name+" -o jsonpath='{.status}'; kubectl certificate approve "+name); got != "{}certificatesigningrequest.certificates.k8s.io/"+name+" approved" {
		t.Errorf("approval of the serving certificate: %s", got)
	}
	block, _ := pem.Decode(issued())
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.config(t).CAData)
	for _, host := range []string{"n1", "10.0.0.1"} {
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Errorf("the serving certificate for %s: %v", host, err)
		}
	}
	if left := time.Until(certificate.NotAfter); left > time.Hour || left < 55*time.Minute {
		t.Errorf("the certificate ends in %v, want in the hour that was asked for", left)
	}
	if got := shell.run(t, "kubectl get csr --no-headers -o custom-columns=BY:.spec.username,BECAUSE:.status.conditions[0].message | sort"); got != strings.Join([]string{
		"system:bootstrap:abcdef   Auto approving kubelet client certificate after SubjectAccessReview.",
		"system:node:n1            Auto approving self kubelet client certificate after SubjectAccessReview.",
		"system:node:n1            This CSR was approved by kubectl certificate approve.",
	}, "\n") {
		t.Errorf("the requests are:\n%s", got)
	}
}

// TestUserCertificate has users ask for client certificates. `kubectl certificate approve` yields
// one that authenticates the user, and `kubectl certificate deny` none. A request that breaks the
// rules of its signer fails although it is approved.
func TestUserCertificate(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--controllers=*")
	admin, shell, a := s.client(t), newShell(t, s), newApplicant(t)
	request := func(usages ...certificatesv1.KeyUsage) (string, func() []byte) {
		t.Helper()
		return a.request(admin, certificatesv1.KubeAPIServerClientSignerName, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "alice", Organization: []string{"dev"}},
		}, usages...)
	}
	good, issued := request(certificatesv1.UsageClientAuth)
	denied, _ := request(certificatesv1.UsageClientAuth)
	bad, _ := request(certificatesv1.UsageServerAuth)
	if got := shell.run(t, "kubectl certificate deny "+denied+" && kubectl certificate approve "+good+" "+bad); strings.Contains(got, "exit") {
		t.Fatal(got)
	}
	alice := clientset(t, a.config(s, issued()))
	if name, groups := whoami(t, alice); name != "alice" || !slices.Contains(groups, "dev") {
		t.Errorf("the user is %s, in %q", name, groups)
	}
	if _, err := alice.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights: got %v", err)
	}
	if got := shell.run(t, "kubectl wait --for=condition=Failed csr/"+bad+" --timeout=30s > /dev/null; kubectl get csr --no-headers -o custom-columns=NAME:.metadata.name,IS:.status.conditions[*].message | sort"); !strings.Contains(got, bad) ||
		!strings.Contains(got, "This CSR was approved by kubectl certificate approve.,invalid usage for client certificate: server auth") {
		t.Errorf("the requests are:\n%s", got)
	}
	if r, err := admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), denied, metav1.GetOptions{}); err != nil || len(r.Status.Certificate) > 0 {
		t.Errorf("a denied request has become %+v, %v", r, err)
	}
}
