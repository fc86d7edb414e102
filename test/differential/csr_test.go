package differential

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	serveridentity "github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// The longest life of the certificates of TestSigners, and the life of their authority. Lives of
// less than 8 hours are treated differently from longer ones.
const (
	longestLife   = 20 * time.Hour
	authorityLife = 12 * time.Hour
)

// TestSigners makes the same random requests for certificates at two servers, one with Coracle's
// approver and signers and one with Kubernetes', and approves or denies some. Both servers must
// approve, fail and sign the same requests, with the same texts and certificates.
func TestSigners(t *testing.T) {
	pair, err := pki.NewAuthority("ca", time.Now().Add(authorityLife))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := serveridentity.AuthorityFiles{
		CertFile: pkitest.Write(t, filepath.Join(dir, "ca.crt"), pair.CertPEM), KeyFile: pkitest.Write(t, filepath.Join(dir, "ca.key"), pair.KeyPEM),
	}
	m := &requestMaker{t: t, rnd: random("csr"), keys: signingKeys(t)}
	legacy := m.legacy(times(200))
	ours := newSigningSide(t, legacy, server.Config{
		Controllers: []string{"csrsigning", "csrapproving"},
		Serving:     server.ServingConfig{TLS: serveridentity.TLS{Signing: serveridentity.Signing{All: files, Longest: longestLife}}},
	})
	theirs := newSigningSide(t, legacy, server.Config{Controllers: []string{}})
	runTheirSigners(t, theirs.admin, files)
	names := []string{}
	for _, r := range legacy {
		names = append(names, r.Name)
	}
	for i := range times(1800) {
		r, user, decision := m.next(fmt.Sprintf("r%d", i))
		a, b := ours.make(r, user, decision), theirs.make(r, user, decision)
		if apierrors.ReasonForError(a) != apierrors.ReasonForError(b) {
			t.Fatalf("%s: one side says %v, the other %v", r.Name, a, b)
		}
		if a == nil {
			names = append(names, r.Name)
		}
	}
	compareAnswers(t, names, theirs, ours)
}

// signingSide is one of the two servers, with a client for each user; "" is the administrator.
type signingSide struct {
	t     *testing.T
	admin *kubernetes.Clientset
	users map[string]*kubernetes.Clientset
}

// signingUsers are the users who make requests. All may create requests, and two may also create
// one of the subresources by which the approver decides.
var signingUsers = []string{"system:node:n1", "system:node:n2", "bootstrapper", "jane"}

// newSigningSide starts a server whose store has requests, and gives the users their rights.
func newSigningSide(t *testing.T, stored []*certificatesv1.CertificateSigningRequest, cfg server.Config) *signingSide {
	t.Helper()
	store := memory.New(memory.Config{})
	for _, r := range stored {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), place("certificatesigningrequests", "", r.Name), data, storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Storage.Store = store
	s := servertest.Start(t, cfg)
	side := &signingSide{t: t, users: map[string]*kubernetes.Clientset{}}
	for _, user := range append([]string{""}, signingUsers...) {
		config := &rest.Config{Host: s.URL, BearerToken: s.Token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: s.CAPEM}}
		config.Impersonate.UserName = user
		c, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		side.users[user] = c
	}
	side.admin = side.users[""]
	side.grant("system:node-bootstrapper", signingUsers...)
	side.grant("system:certificates.k8s.io:certificatesigningrequests:nodeclient", "bootstrapper")
	side.grant("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:node:n1")
	return side
}

// grant binds users to a cluster role of every cluster.
func (s *signingSide) grant(role string, users ...string) {
	s.t.Helper()
	b := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}}
	for _, user := range users {
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "User", Name: user})
	}
	if _, err := s.admin.RbacV1().ClusterRoleBindings().Create(s.t.Context(), b, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// make creates a request as a user. If decision is not "", it then adds that condition.
func (s *signingSide) make(r *certificatesv1.CertificateSigningRequest, user string, decision certificatesv1.RequestConditionType) error {
	made, err := s.users[user].CertificatesV1().CertificateSigningRequests().Create(s.t.Context(), r, metav1.CreateOptions{})
	if err != nil || decision == "" {
		return err
	}
	made.Status.Conditions = append(made.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: decision, Status: corev1.ConditionTrue, Reason: "Test", Message: "by hand",
	})
	_, err = s.admin.CertificatesV1().CertificateSigningRequests().UpdateApproval(s.t.Context(), made.Name, made, metav1.UpdateOptions{})
	return err
}

// answers returns all requests of the server, by name.
func (s *signingSide) answers() map[string]*certificatesv1.CertificateSigningRequest {
	s.t.Helper()
	list, err := s.admin.CertificatesV1().CertificateSigningRequests().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]*certificatesv1.CertificateSigningRequest{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// runTheirSigners runs Kubernetes' approver and its four signers until the end of the test.
func runTheirSigners(t *testing.T, c *kubernetes.Clientset, files serveridentity.AuthorityFiles) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := informers.NewSharedInformerFactory(c, 0)
	requests := f.Certificates().V1().CertificateSigningRequests()
	loops := []interface{ Run(context.Context, int) }{approver.NewCSRApprovingController(ctx, c, requests)}
	for _, name := range []string{certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
		certificatesv1.KubeletServingSignerName, legacySigner} {
		loop, err := signer.NewCSRSigningController(ctx, name, name, c, requests, files.CertFile, files.KeyFile, longestLife)
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	f.Start(ctx.Done())
	var wg sync.WaitGroup
	for _, loop := range loops {
		wg.Go(func() { loop.Run(ctx, 5) })
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		f.Shutdown()
	})
}

const legacySigner = "kubernetes.io/legacy-unknown"

// requestMaker makes random requests.
type requestMaker struct {
	t    *testing.T
	rnd  *mathrand.Rand
	keys []crypto.Signer
}

// signingKeys makes keys of all kinds that requests may have.
func signingKeys(t *testing.T) []crypto.Signer {
	t.Helper()
	a, errA := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	b, errB := rsa.GenerateKey(rand.Reader, 2048)
	_, c, errC := ed25519.GenerateKey(rand.Reader)
	d, errD := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for _, err := range []error{errA, errB, errC, errD} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return []crypto.Signer{a, a, a, b, c, d}
}

// next makes up a request, its user, and the condition that an administrator adds to it. An
// administrator adds none to requests that the approver may approve.
func (m *requestMaker) next(name string) (r *certificatesv1.CertificateSigningRequest, user string, decision certificatesv1.RequestConditionType) {
	user = oneOf(m.rnd, append([]string{""}, signingUsers...)...)
	r = m.request(name, oneOf(m.rnd, certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName, certificatesv1.KubeletServingSignerName,
		"example.com/signer"))
	decision = oneOf(m.rnd, certificatesv1.CertificateApproved, certificatesv1.CertificateApproved, certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied, "")
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName && user != "jane" && user != "system:node:n2" {
		decision = ""
	}
	return r, user, decision
}

// legacy makes requests to the signer that new requests cannot name, as they are stored. All are
// approved.
func (m *requestMaker) legacy(n int) (all []*certificatesv1.CertificateSigningRequest) {
	for i := range n {
		r := m.request(fmt.Sprintf("legacy%d", i), legacySigner)
		r.APIVersion, r.Kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
		r.CreationTimestamp, r.UID = metav1.Now(), "u"
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
		all = append(all, r)
	}
	return all
}

// usageSets are the usages that signers want, and some that they do not want.
var usageSets = [][]certificatesv1.KeyUsage{
	{certificatesv1.UsageClientAuth},
	{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
	{certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageDigitalSignature},
	{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	{certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth, certificatesv1.UsageDigitalSignature},
	{certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth},
	{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment},
}

// allUsages are all usages.
var allUsages = []certificatesv1.KeyUsage{
	"signing", "digital signature", "content commitment", "key encipherment", "key agreement", "data encipherment", "cert sign", "crl sign",
	"encipher only", "decipher only", "any", "server auth", "client auth", "code signing", "email protection", "s/mime", "ipsec end system",
	"ipsec tunnel", "ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc",
}

// request makes a request to a signer. About half of them break none of its rules.
func (m *requestMaker) request(name, to string) *certificatesv1.CertificateSigningRequest {
	m.t.Helper()
	if chance(m.rnd, 2) {
		return m.fitting(name, to)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{
		CommonName:   oneOf(m.rnd, "system:node:n1", "system:node:n1", "system:node:n2", "system:node:", "jane", "", "bootstrapper"),
		Organization: oneOf(m.rnd, []string{"system:nodes"}, []string{"system:nodes"}, []string{"system:nodes"}, []string{"dev"}, nil, []string{"system:nodes", "dev"}),
	}}
	if chance(m.rnd, 8) {
		template.Subject.OrganizationalUnit, template.Subject.Country = []string{"unit"}, []string{"DE", "FR"}
		template.Subject.SerialNumber = "7"
		template.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: []int{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "uid"}}
	}
	names := 6
	if to == certificatesv1.KubeletServingSignerName {
		names = 2
	}
	if chance(m.rnd, names) {
		template.DNSNames = pickSome(m.rnd, "a.example.com", "b", "*.example.com")
	}
	if chance(m.rnd, names) {
		template.IPAddresses = []net.IP{oneOf(m.rnd, net.ParseIP("10.0.0.1").To4(), net.ParseIP("fd00::1"))}
	}
	if chance(m.rnd, 10) {
		template.EmailAddresses = []string{"a@example.com"}
	}
	if chance(m.rnd, 10) {
		template.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/a"}}
	}
	if chance(m.rnd, 6) {
		template.ExtraExtensions = []pkix.Extension{oneOf(m.rnd,
			pkix.Extension{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}, // basic constraints: is an authority
			pkix.Extension{Id: []int{1, 2, 3, 4}, Value: []byte{5, 0}})}
	}
	r := m.signed(name, to, template, oneOf(m.rnd, usageSets...))
	if chance(m.rnd, 6) || to == legacySigner {
		r.Spec.Usages = nil
		for _, i := range m.rnd.Perm(len(allUsages))[:1+m.rnd.IntN(4)] {
			r.Spec.Usages = append(r.Spec.Usages, allUsages[i])
		}
	}
	return r
}

// fitting makes a request that breaks no rule of its signer, if that is a standard signer.
func (m *requestMaker) fitting(name, to string) *certificatesv1.CertificateSigningRequest {
	m.t.Helper()
	template := &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: oneOf(m.rnd, "system:node:n1", "system:node:n2"), Organization: []string{"system:nodes"},
	}}
	usages := oneOf(m.rnd, usageSets[1:3]...)
	if to == certificatesv1.KubeletServingSignerName {
		template.DNSNames, usages = []string{"a.example.com", "a"}, oneOf(m.rnd, usageSets[3:5]...)
	}
	return m.signed(name, to, template, usages)
}

// signed makes a request of a template, with a key of any kind. Only some requests ask for a
// lifetime.
func (m *requestMaker) signed(name, to string, template *x509.CertificateRequest, usages []certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
	m.t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, oneOf(m.rnd, m.keys...))
	if err != nil {
		m.t.Fatal(err)
	}
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: to, Usages: slices.Clone(usages),
	}}
	if !chance(m.rnd, 3) {
		seconds := oneOf(m.rnd, int32(600), 601, 3600, 8*3600-1, 8*3600, 10*3600, 15*3600, 30*3600)
		r.Spec.ExpirationSeconds = &seconds
	}
	return r
}

// compareAnswers waits until both servers give the same answers to all requests, at most a minute,
// and then compares the answers. Each verdict must occur.
func compareAnswers(t *testing.T, names []string, theirs, ours *signingSide) {
	t.Helper()
	var a, b map[string]*certificatesv1.CertificateSigningRequest
	settled := func() bool {
		for _, name := range names {
			if x := answerTo(a[name]); x != answerTo(b[name]) || strings.HasSuffix(x, "to be signed") {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(time.Minute); ; {
		a, b = theirs.answers(), ours.answers()
		if settled() || time.Now().After(end) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	verdicts := map[string]int{}
	for _, name := range names {
		x, y := a[name], b[name]
		verdicts[answerTo(x)]++
		if problem := differs(x, y); problem != "" {
			t.Errorf("SEED=%d, %s: %s\nrequest %s", seed, name, problem, encode(x.Spec))
		}
	}
	t.Logf("%d requests, %d verdicts: %v", len(names), len(verdicts), verdicts)
	for _, want := range []string{"issued", "Denied", "", "AutoApproved", "usages did not match", "subject organization", "DNS or IP",
		"DNS subjectAltNames", "Email", "IP subject", "URI", "common name", "invalid usage", "missing required"} {
		found := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(answerTo(a[name]), want) })
		if !found && count >= 1 {
			t.Errorf("no request has the verdict %q: the test tries too little", want)
		}
	}
}

// answerTo returns the conditions of a request, and whether it has a certificate or is still to get
// one.
func answerTo(r *certificatesv1.CertificateSigningRequest) string {
	var all []string
	approved, failed := false, false
	for _, c := range r.Status.Conditions {
		all = append(all, fmt.Sprintf("%s %s %s %s", c.Type, c.Status, c.Reason, c.Message))
		approved = approved || c.Type == certificatesv1.CertificateApproved
		failed = failed || c.Type == certificatesv1.CertificateFailed
	}
	switch {
	case len(r.Status.Certificate) > 0:
		all = append(all, "issued")
	case approved && !failed && strings.HasPrefix(r.Spec.SignerName, "kubernetes.io/"):
		all = append(all, "to be signed")
	}
	return strings.Join(all, "; ")
}

// differs compares two answers to one request, and returns how they differ.
func differs(theirs, ours *certificatesv1.CertificateSigningRequest) string {
	if a, b := answerTo(theirs), answerTo(ours); a != b {
		return fmt.Sprintf("theirs %q, ours %q", a, b)
	}
	if len(theirs.Status.Certificate) == 0 {
		return ""
	}
	a, errA := parseIssued(theirs.Status.Certificate)
	b, errB := parseIssued(ours.Status.Certificate)
	if errA != nil || errB != nil {
		return fmt.Sprintf("certificates: theirs %v, ours %v", errA, errB)
	}
	for _, field := range []struct {
		name         string
		theirs, ours any
	}{
		{"subject", a.RawSubject, b.RawSubject}, {"issuer", a.RawIssuer, b.RawIssuer}, {"key", a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo},
		{"DNS names", a.DNSNames, b.DNSNames}, {"IP addresses", a.IPAddresses, b.IPAddresses}, {"email addresses", a.EmailAddresses, b.EmailAddresses},
		{"URIs", a.URIs, b.URIs}, {"key usage", a.KeyUsage, b.KeyUsage}, {"extended usages", a.ExtKeyUsage, b.ExtKeyUsage},
		{"extensions", a.Extensions, b.Extensions}, {"authority", a.IsCA, b.IsCA}, {"version", a.Version, b.Version},
		{"signature algorithm", a.SignatureAlgorithm, b.SignatureAlgorithm},
	} {
		if x, y := encode(field.theirs), encode(field.ours); !bytes.Equal([]byte(x), []byte(y)) {
			return fmt.Sprintf("%s: theirs %s, ours %s", field.name, x, y)
		}
	}
	lifeA, lifeB := a.NotAfter.Sub(a.NotBefore), b.NotAfter.Sub(b.NotBefore)
	if (lifeA-lifeB).Abs() > time.Second && !a.NotAfter.Equal(b.NotAfter) || a.NotBefore.Sub(b.NotBefore).Abs() > time.Minute {
		return fmt.Sprintf("valid: theirs %v to %v, ours %v to %v", a.NotBefore, a.NotAfter, b.NotBefore, b.NotAfter)
	}
	return ""
}

// parseIssued parses an issued certificate, which is one PEM block.
func parseIssued(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		return nil, fmt.Errorf("not one PEM block: %q", text)
	}
	return x509.ParseCertificate(block.Bytes)
}
