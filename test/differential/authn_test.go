package differential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
)

// TestFrontProxy has both sides read the user from random headers, which a front proxy or another
// client sends.
func TestFrontProxy(t *testing.T) {
	rnd := random("front proxy")
	proxies, others := newAuthorityPool(t), newAuthorityPool(t)
	headers := authn.Headers{
		Names: []string{"X-Remote-User", "x-other-user"}, UIDs: []string{"X-Remote-Uid"}, Groups: []string{"X-Remote-Group", "X-TEAM"},
		ExtraPrefixes: []string{"X-Remote-Extra-", "x-more-"},
	}
	us := authn.NewFrontProxy(func() *x509.CertPool { return proxies.pool }, []string{"front", ""}, headers)
	options := func() (x509.VerifyOptions, bool) {
		return x509.VerifyOptions{Roots: proxies.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
	}
	static := func(s []string) headerrequest.StringSliceProvider { return headerrequest.StaticStringSlice(s) }
	them := headerrequest.NewDynamicVerifyOptionsSecure(options, static([]string{"front", ""}), static(headers.Names), static(headers.UIDs),
		static(headers.Groups), static(headers.ExtraPrefixes))
	certs := []*x509.Certificate{
		proxies.client(t, "front"), proxies.client(t, "front"), proxies.client(t, "back"), proxies.client(t, ""), others.client(t, "front"), nil,
	}
	names := []string{
		"X-Remote-User", "X-Remote-User", "x-remote-user", "X-Other-User", "X-Remote-Uid", "X-Remote-Group", "X-Team", "x-team", "X-Remote-Extra-A", "X-Remote-Extra-a%2fb",
		"X-Remote-Extra-A%2Fb", "X-More-A", "x-more-%zz", "X-More-", "X-Remote-Extra-", "X-Remote-Extra", "X-Remote-Extras", "Accept",
	}
	values := []string{"alice", "bob", "", " ", "a,b", "\xff", "system:masters", "system:anonymous"}
	for n := range times(20_000) {
		r, theirs := httptest.NewRequest("GET", "/", nil), httptest.NewRequest("GET", "/", nil)
		if c := pick(rnd, certs...); c != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
			theirs.TLS = r.TLS
		}
		// Kubernetes reads several headers of one extra in random order, so the test sends one for
		// each extra.
		used := map[string]bool{}
		for range rnd.IntN(8) {
			name, value := pick(rnd, names...), pick(rnd, values...)
			key := strings.ToLower(http.CanonicalHeaderKey(name))
			if used[key] && strings.Contains(key, "%") {
				continue
			}
			used[key] = true
			r.Header.Add(name, value)
			theirs.Header.Add(name, value)
		}
		user, err := us.Authenticate(r)
		want, ok, theirErr := them.AuthenticateRequest(theirs)
		if r.Header.Get("X-Remote-User") == "" && r.Header.Get("X-Other-User") == "" {
			if user != nil || err != nil { // Coracle ignores a request that names no user; Kubernetes refuses it if the certificate is wrong
				t.Fatalf("%d: %q: got %v, %v", n, r.Header, user, err)
			}
			ok, theirErr = false, nil
		}
		if (err != nil) != (theirErr != nil) || (user != nil) != ok {
			t.Fatalf("%d: %q: got %v, %v, want %v, %v", n, r.Header, user, err, ok, theirErr)
		}
		if ok {
			compareUsers(t, fmt.Sprintf("%d: %q", n, r.Header), user, want.User)
		}
	}
}

// compareUsers compares a user of ours with one of theirs, who is not yet in system:authenticated.
func compareUsers(t *testing.T, what string, got *request.User, want user.Info) {
	t.Helper()
	groups := slices.Clone(want.GetGroups())
	if want.GetName() != user.Anonymous && !slices.Contains(groups, user.AllAuthenticated) && !slices.Contains(groups, user.AllUnauthenticated) {
		groups = append(groups, user.AllAuthenticated)
	}
	extra := want.GetExtra()
	if got.Name != want.GetName() || got.UID != want.GetUID() || !slices.Equal(got.Groups, groups) ||
		len(got.Extra)+len(extra) > 0 && !reflect.DeepEqual(got.Extra, extra) {
		t.Errorf("%s:\ngot  %+v\nwant %+v in %q", what, got, want, groups)
	}
}

// TestClientCertificates has both sides name the users of certificates with uids of all sorts.
func TestClientCertificates(t *testing.T) {
	ca := newAuthorityPool(t)
	rnd := random("client certificates")
	us := authn.NewX509(func() *x509.CertPool { return ca.pool })
	them := x509request.New(x509.VerifyOptions{Roots: ca.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, x509request.CommonNameUserConversion)
	for n := range times(300) {
		subject := pkix.Name{CommonName: pick(rnd, "alice", "bob", ""), Organization: []string{"a", "b", "system:authenticated"}[:rnd.IntN(4)]}
		for range rnd.IntN(3) {
			subject.ExtraNames = append(subject.ExtraNames, pkix.AttributeTypeAndValue{
				Type: pick(rnd, []int{1, 3, 6, 1, 4, 1, 57683, 2}, []int{1, 3, 6, 1, 4, 1, 57683, 3}), Value: pick(rnd, "7", "", "uid"),
			})
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ca.sign(t, &x509.Certificate{
			Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{pick(rnd, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth)},
		})}}
		got, err := us.Authenticate(r)
		want, ok, theirErr := them.AuthenticateRequest(r)
		if (err != nil) != (theirErr != nil) || (got != nil) != ok {
			t.Fatalf("%d: %+v: got %v, %v, want %v, %v", n, subject, got, err, ok, theirErr)
		}
		if ok {
			compareUsers(t, fmt.Sprintf("%d: %+v", n, subject), got, want.User)
		}
	}
}

// authorityPool is a certificate authority with a pool that trusts it.
type authorityPool struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthorityPool(t testing.TB) *authorityPool {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authorityPool{key: key, pool: x509.NewCertPool()}
	a.cert = a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a *authorityPool) sign(t testing.TB, c *x509.Certificate) *x509.Certificate {
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func (a *authorityPool) client(t testing.TB, name string) *x509.Certificate {
	return a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}
