//go:build cluster

package interop

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// frontProxy is the authority for the client certificate of an API server at its extension servers,
// with the files of both.
type frontProxy struct {
	dir string
	ca  *x509.Certificate
	key crypto.Signer
}

func newFrontProxy(t *testing.T) *frontProxy {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "front-proxy-ca"}, key)
	if err != nil {
		t.Fatal(err)
	}
	p := &frontProxy{dir: t.TempDir(), ca: ca, key: key}
	p.write(t, "ca.crt", cert.CertificateBlockType, ca.Raw)
	return p
}

func (p *frontProxy) file(name string) string { return filepath.Join(p.dir, name) }

func (p *frontProxy) write(t *testing.T, name, block string, der []byte) {
	t.Helper()
	// Rename replaces the file at once, so that no reader sees half of it.
	err := os.WriteFile(p.file(name+".new"), pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der}), 0o600)
	if err := errors.Join(err, os.Rename(p.file(name+".new"), p.file(name))); err != nil {
		t.Fatal(err)
	}
}

// issue makes a new certificate, for a name.
func (p *frontProxy) issue(t *testing.T, name string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: p.ca.NotBefore, NotAfter: p.ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, key.Public(), p.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "client.key", keyutil.ECPrivateKeyBlockType, text)
	p.write(t, "client.crt", cert.CertificateBlockType, der)
}

// TestProxyClientCertificate reaches an extension server by the address of its service. The first
// client certificate is one that the extension server does not trust; a right one replaces it while
// the API server runs. Only Linux lets every process use all of 127/8.
func TestProxyClientCertificate(t *testing.T) {
	t.Parallel()
	p := newFrontProxy(t)
	p.issue(t, "stranger")
	s := newServer(t, "--service-cluster-ip-range=127.77.0.0/24", "--proxy-client-cert-file="+p.file("client.crt"), "--proxy-client-key-file="+p.file("client.key"),
		"--requestheader-client-ca-file="+p.file("ca.crt"), "--requestheader-allowed-names=front-proxy", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-")
	x := newExtension(t, s)
	x.register(t, s, corev1.ServiceSpec{ClusterIP: "127.77.0.9", Ports: []corev1.ServicePort{{Port: int32(x.port)}}})
	awaitAvailable(t, s, "v1beta1", apiregistrationv1.ConditionFalse, "EndpointsNotFound")
	_, err := s.client(t).DiscoveryV1().EndpointSlices(wardleSpace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "by-hand", Labels: map[string]string{discoveryv1.LabelServiceName: wardleService}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(x.port))}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitAvailable(t, s, "v1beta1", apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck") // 403: the headers of an untrusted client do not count

	p.issue(t, "front-proxy")
	eventually(t, 30*time.Second, func() error {
		recheck(t, s)
		return available(t, s, "v1beta1", apiregistrationv1.ConditionTrue, "Passed")
	})
	eventually(t, 10*time.Second, func() error {
		_, err := dynamicClient(t, s.config(t)).Resource(flunders).List(t.Context(), metav1.ListOptions{})
		return err
	})
}
