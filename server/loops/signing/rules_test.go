package signing

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// The names of the usages that the tests need.
const (
	digital   = certificatesv1.UsageDigitalSignature
	cipher    = certificatesv1.UsageKeyEncipherment
	forClient = certificatesv1.UsageClientAuth
	serving   = certificatesv1.UsageServerAuth
)

// asked returns a PKCS #10 request in PEM: that of the kubelet on node "a", with changes by change.
func asked(t *testing.T, change func(*x509.CertificateRequest)) []byte {
	t.Helper()
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, pkitest.Key(t))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// requestFor returns a request to a signer by the user of the node "a".
func requestFor(t *testing.T, signer string, change func(*x509.CertificateRequest), usages ...certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: asked(t, change), SignerName: signer, Usages: usages, Username: "system:node:a",
	}}
}

// The changes of a kubelet's request that the tests make.
var (
	noGroup   = func(r *x509.CertificateRequest) { r.Subject.Organization = nil }
	masters   = func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:nodes", "system:masters"} }
	user      = func(r *x509.CertificateRequest) { r.Subject.CommonName = "jane" }
	withDNS   = func(r *x509.CertificateRequest) { r.DNSNames = []string{"a.example.com"} }
	withIP    = func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1).To4()} }
	withEmail = func(r *x509.CertificateRequest) { withDNS(r); r.EmailAddresses = []string{"a@example.com"} }
	onlyEmail = func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@example.com"} }
	withURI   = func(r *x509.CertificateRequest) { withDNS(r); r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }
	onlyURI   = func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }
	userDNS   = func(r *x509.CertificateRequest) { user(r); withDNS(r) }
)

// TestRules answers requests to each signer: some get a certificate, and all others fail with the
// text of the first mistake.
func TestRules(t *testing.T) {
	const (
		anyClient     = certificatesv1.KubeAPIServerClientSignerName
		kubeletClient = certificatesv1.KubeAPIServerClientKubeletSignerName
		kubelet       = certificatesv1.KubeletServingSignerName
		legacy        = certificatesv1.LegacyUnknownSignerName
	)
	ca := pkitest.NewAuthority(t, "ca")
	type usages = []certificatesv1.KeyUsage
	for _, tt := range []struct {
		name, signer string
		change       func(*x509.CertificateRequest)
		usages       usages
		want         string // the message of the condition Failed; "" means a certificate
	}{
		{"a client", anyClient, user, usages{forClient}, ""},
		{"a client with an RSA key", anyClient, user, usages{cipher, forClient, digital}, ""},
		{"a client with a name", anyClient, userDNS, usages{forClient}, ""},
		{"no client", anyClient, user, usages{digital}, "missing required usage for client certificate: client auth"},
		{"a server", anyClient, user, usages{forClient, serving}, "invalid usage for client certificate: server auth"},

		{"a kubelet", kubeletClient, nil, usages{digital, forClient}, ""},
		{"a kubelet with an RSA key", kubeletClient, nil, usages{forClient, digital, cipher}, ""},
		{"without the group", kubeletClient, noGroup, usages{digital, forClient}, "subject organization is not system:nodes"},
		{"with another group", kubeletClient, masters, usages{digital, forClient}, "subject organization is not system:nodes"},
		{"with a DNS name", kubeletClient, withDNS, usages{digital, forClient}, "DNS subjectAltNames are not allowed"},
		{"with an email address", kubeletClient, onlyEmail, usages{digital, forClient}, "Email subjectAltNames are not allowed"},
		{"with an IP address", kubeletClient, withIP, usages{digital, forClient}, "IP subjectAltNames are not allowed"},
		{"with a URI", kubeletClient, onlyURI, usages{digital, forClient}, "URI subjectAltNames are not allowed"},
		{"no node", kubeletClient, user, usages{digital, forClient}, "subject common name does not begin with system:node:"},
		{"too few usages", kubeletClient, nil, usages{forClient}, "usages did not match [client auth digital signature key encipherment]"},
		{"too many usages", kubeletClient, nil, usages{digital, forClient, serving}, "usages did not match [client auth digital signature key encipherment]"},
		{"no usage for clients", kubeletClient, nil, usages{digital, cipher}, "usages did not match [client auth digital signature key encipherment]"},

		{"a kubelet's port by name", kubelet, withDNS, usages{digital, serving}, ""},
		{"a kubelet's port by address", kubelet, withIP, usages{digital, cipher, serving}, ""},
		{"a port without the group", kubelet, noGroup, usages{digital, serving}, "subject organization is not system:nodes"},
		{"a port without a name", kubelet, nil, usages{digital, serving}, "DNS or IP subjectAltName is required"},
		{"a port with an email address", kubelet, withEmail, usages{digital, serving}, "Email subjectAltNames are not allowed"},
		{"a port with a URI", kubelet, withURI, usages{digital, serving}, "URI subjectAltNames are not allowed"},
		{"a port of no node", kubelet, userDNS, usages{digital, serving}, "subject common name does not begin with system:node:"},
		{"a client's port", kubelet, userDNS, usages{digital, forClient}, "usages did not match [digital signature key encipherment server auth]"},

		{"anything", legacy, withURI, usages{certificatesv1.UsageAny, certificatesv1.UsageCertSign}, ""},
	} {
		r := requestFor(t, tt.signer, tt.change, tt.usages...)
		if err := Answer(r, time.Hour, ca.Cert, ca.Key); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.want == "" {
			block, _ := pem.Decode(r.Status.Certificate)
			if len(r.Status.Conditions) > 0 || block == nil {
				t.Errorf("%s: got %+v, want a certificate", tt.name, r.Status)
			} else if c, err := x509.ParseCertificate(block.Bytes); err != nil || c.NotAfter.IsZero() {
				t.Errorf("%s: got %+v, want a certificate", tt.name, r.Status)
			}
			continue
		}
		if len(r.Status.Certificate) > 0 || len(r.Status.Conditions) != 1 || r.Status.Conditions[0].Type != certificatesv1.CertificateFailed ||
			r.Status.Conditions[0].Status != corev1.ConditionTrue || r.Status.Conditions[0].Message != tt.want ||
			r.Status.Conditions[0].Reason != "SignerValidationFailure" || r.Status.Conditions[0].LastUpdateTime.IsZero() {
			t.Errorf("%s: got %+v, want the message %q", tt.name, r.Status, tt.want)
		}
	}
}

// TestApprovals lists the rights that allow requests to be approved.
func TestApprovals(t *testing.T) {
	const signer = certificatesv1.KubeAPIServerClientKubeletSignerName
	for _, tt := range []struct {
		name string
		r    *certificatesv1.CertificateSigningRequest
		user string
		want []string
	}{
		{"a node for itself", requestFor(t, signer, nil, digital, forClient), "system:node:a", []string{"selfnodeclient", "nodeclient"}},
		{"somebody for a node", requestFor(t, signer, nil, digital, forClient), "system:bootstrap:abcdef", []string{"nodeclient"}},
		{"a node for another signer", requestFor(t, certificatesv1.KubeAPIServerClientSignerName, nil, digital, forClient), "system:node:a", nil},
		{"a node that breaks a rule", requestFor(t, signer, withDNS, digital, forClient), "system:node:a", nil},
		{"a user for themselves", requestFor(t, signer, user, digital, forClient), "jane", nil},
	} {
		tt.r.Spec.Username = tt.user
		x, err := certificatesv1.ParseRequest(tt.r.Spec.Request)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range Approvals(tt.r, x) {
			got = append(got, one.Subresource)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestCertificate checks which parts of a request its certificate gets.
func TestCertificate(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	text := asked(t, func(r *x509.CertificateRequest) {
		withURI(r)
		withIP(r)
		r.EmailAddresses = []string{"a@example.com"}
		r.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3}, Value: []byte{5, 0}}}
	})
	x, err := certificatesv1.ParseRequest(text)
	if err != nil {
		t.Fatal(err)
	}
	all := []certificatesv1.KeyUsage{certificatesv1.UsageSMIME, serving, digital, forClient, certificatesv1.UsageEmailProtection, certificatesv1.UsageCertSign}
	der, err := issue(x, all, time.Minute, ca.Cert, ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if c.Subject.String() != x.Subject.String() || !reflect.DeepEqual(c.DNSNames, x.DNSNames) || !reflect.DeepEqual(c.URIs, x.URIs) ||
		!reflect.DeepEqual(c.EmailAddresses, x.EmailAddresses) || len(c.IPAddresses) != 1 || !c.IPAddresses[0].Equal(x.IPAddresses[0]) {
		t.Errorf("the certificate is for %v %v %v %v %v", c.Subject, c.DNSNames, c.IPAddresses, c.EmailAddresses, c.URIs)
	}
	if key, ok := x.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(c.PublicKey) {
		t.Error("the certificate has another key than the request")
	}
	ext := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageEmailProtection}
	if c.KeyUsage != x509.KeyUsageDigitalSignature|x509.KeyUsageCertSign || !reflect.DeepEqual(c.ExtKeyUsage, ext) {
		t.Errorf("usages: got %b and %v", c.KeyUsage, c.ExtKeyUsage)
	}
	if c.IsCA || !c.BasicConstraintsValid || c.CheckSignatureFrom(ca.Cert) != nil {
		t.Errorf("got an authority (%t), or a certificate that the authority has not signed", c.IsCA)
	}
	for _, e := range c.Extensions {
		if e.Id.Equal([]int{1, 2, 3}) {
			t.Error("the certificate has an extension that only the request may have")
		}
	}
	other, err := issue(x, all, time.Minute, ca.Cert, ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := x509.ParseCertificate(other); err != nil || o.SerialNumber.Cmp(c.SerialNumber) == 0 || c.SerialNumber.BitLen() > 128 {
		t.Errorf("got serial numbers %v and %v, %v", c.SerialNumber, o.SerialNumber, err)
	}
	x.Signature[len(x.Signature)-1] ^= 1
	if _, err := issue(x, all, time.Minute, ca.Cert, ca.Key); err == nil {
		t.Error("a request that its key has not signed gets a certificate")
	}
}

// TestValidity checks the validity period of a certificate.
func TestValidity(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	far := now.Add(10 * 365 * 24 * time.Hour)
	for _, tt := range []struct {
		asked   int32 // in seconds; 0 for none
		longest time.Duration
		ends    time.Time
		want    time.Duration // from now
	}{
		{0, 365 * 24 * time.Hour, far, 365*24*time.Hour - backdating},
		{0, time.Hour, far, time.Hour},
		{0, time.Minute, far, time.Minute},
		{600, 365 * 24 * time.Hour, far, 10 * time.Minute},
		{3600, 365 * 24 * time.Hour, far, time.Hour},
		{8*3600 - 1, 365 * 24 * time.Hour, far, 8*time.Hour - time.Second},
		{8 * 3600, 365 * 24 * time.Hour, far, 8*time.Hour - backdating},
		{7200, time.Hour, far, time.Hour},
		{599, time.Hour, far, 10 * time.Minute},
		{3600, 365 * 24 * time.Hour, now.Add(time.Minute), time.Minute},
	} {
		seconds := &tt.asked
		if tt.asked == 0 {
			seconds = nil
		}
		from, to := validity(now, life(seconds, tt.longest), tt.ends)
		if got := to.Sub(now); got != tt.want || !from.Equal(now.Add(-5*time.Minute)) {
			t.Errorf("%d s of %v, authority until %v: got %v to %v, want %v", tt.asked, tt.longest, tt.ends, from, to, tt.want)
		}
	}
	if _, err := template(&x509.CertificateRequest{}, []certificatesv1.KeyUsage{forClient, "flying"}); err == nil {
		t.Error("an unknown usage is accepted")
	}
}
