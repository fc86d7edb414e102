package server_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// withPair returns a client of a server that authenticates with a certificate.
func withPair(t *testing.T, s *servertest.Server, certPEM, keyPEM []byte) *client.Client {
	t.Helper()
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CAPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{URL: s.URL, Transport: transport, Codecs: s.Server.Codecs})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func requestsOf(c *client.Client) client.Resource[*certificatesv1.CertificateSigningRequest] {
	return client.For[*certificatesv1.CertificateSigningRequest](c, certificatesv1.GroupVersion.WithResource("certificatesigningrequests"))
}

// requestCertificate requests a client certificate by c, and approves the request by hand if by is
// not nil. It returns the certificate when it has been issued, and its key.
func requestCertificate(t *testing.T, c, by *client.Client, signer string, subject pkix.Name) (certPEM, keyPEM []byte) {
	t.Helper()
	key := pkitest.Key(t)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := requestsOf(c).Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: meta.ObjectMeta{GenerateName: "r-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if by != nil {
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
		if r, err = requestsOf(by).Sub("approval").Update(t.Context(), r, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if keyPEM, err = pki.EncodeKey(key); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watch, err := requestsOf(c).Watch(ctx, meta.ListOptions{FieldSelector: "metadata.name=" + r.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for {
		e, err := watch.Next()
		if err != nil {
			t.Fatalf("no certificate was issued: %v", err)
		}
		if now := e.Object; len(now.Status.Certificate) > 0 {
			return now.Status.Certificate, keyPEM
		}
	}
}

// is checks as whom the server authenticates a client.
func is(t *testing.T, c *client.Client, want string) {
	t.Helper()
	r, err := client.For[*authenticationv1.SelfSubjectReview](c, authenticationv1.GroupVersion.WithResource("selfsubjectreviews")).
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, meta.CreateOptions{})
	if err != nil || r.Status.UserInfo.Username != want {
		t.Errorf("got the user %+v, %v, want %s", r, err, want)
	}
}

// TestRequestedCertificates has certificates signed by the server's own CA, and by one from files.
// The server authenticates the users of both.
func TestRequestedCertificates(t *testing.T) {
	corp := pkitest.NewAuthority(t, "corp")
	cert, key := pkitest.Files(t, corp.Pair)
	for name, cfg := range map[string]server.Config{
		"coracle-ca": {},
		"corp": {
			Serving: server.ServingConfig{TLS: identity.TLS{Signing: identity.Signing{
				APIServerClient: identity.AuthorityFiles{CertFile: cert, KeyFile: key},
			}}},
			Authentication: identity.Config{ClientCAFile: corp.File},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t, cfg)
			admin := s.Server.Client()
			certPEM, keyPEM := requestCertificate(t, admin, admin, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "alice"})
			is(t, withPair(t, s, certPEM, keyPEM), "alice")
			certs, err := pki.ParseCertificates(certPEM)
			if err != nil || len(certs) != 1 || certs[0].Issuer.CommonName != name {
				t.Errorf("got %v, %v, want one certificate of %s", certs, err, name)
			}
		})
	}
}

// TestNodeRenews gives nodes the right to renew their certificates: nobody has to approve requests
// of a node for itself.
func TestNodeRenews(t *testing.T) {
	s := servertest.Start(t)
	for _, role := range []string{"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:node-bootstrapper"} {
		if _, err := client.For[*rbacv1.ClusterRoleBinding](s.Server.Client(), rbacv1.GroupVersion.WithResource("clusterrolebindings")).
			Create(t.Context(), &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta.ObjectMeta{GenerateName: "nodes-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: role},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupVersion.Group, Kind: "Group", Name: "system:nodes"}},
			}, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	old, err := s.AddUser("system:node:a", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := requestCertificate(t, withPair(t, s, old.CertData, old.KeyData), nil, certificatesv1.KubeAPIServerClientKubeletSignerName,
		pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}})
	is(t, withPair(t, s, certPEM, keyPEM), "system:node:a")
}
