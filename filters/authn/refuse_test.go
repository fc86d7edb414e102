package authn

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

// nastyCredentials are values of Authorization that no authenticator knows, however often parts are
// repeated.
var nastyCredentials = []string{"Bearer x", "Bearer ", " ", "x", "Bearer\t", "Basic YTpi", "bearer a b ", "\xff", ",", "="}

// TestCredentialsBounded: unknown credentials cost little, however long they are.
func TestCredentialsBounded(t *testing.T) {
	tokens, err := ReadTokens(strings.NewReader("some-token,u,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := Anonymous(Union(NewX509(func() *x509.CertPool { return nil }), Bearer(tokens)))
	for _, piece := range nastyCredentials {
		for _, size := range []int{1, 600, 64 << 10} {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+strings.Repeat(piece, size/len(piece)))
			checkStranger(t, a, r)
			r.Header.Set("Authorization", strings.Repeat(piece, size/len(piece)))
			checkStranger(t, a, r)
		}
	}
}

// checkStranger authenticates r, which has no known credentials, and bounds the allocations: the
// list of errors of a Union, and the joined error.
func checkStranger(t *testing.T, a request.Authenticator, r *http.Request) {
	t.Helper()
	var before, after runtime.MemStats
	least := uint64(math.MaxUint64)
	for i := 0; i < 20 && least > 1<<10; i++ { // other goroutines allocate at the same time
		runtime.ReadMemStats(&before)
		user, _ := a.Authenticate(r)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
		if user != nil && user.Name != request.AnonymousUser {
			t.Errorf("Authorization %.40q: got %v", r.Header["Authorization"], user)
		}
	}
	if least > 1<<10 {
		t.Errorf("Authorization %.40q of %d bytes: got %d bytes, want at most 1 KiB", r.Header["Authorization"], len(r.Header.Get("Authorization")), least)
	}
}

// TestX509RemembersFailure: an invalid certificate is verified once for a connection.
func TestX509RemembersFailure(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	r := with(other.Client(strings.Repeat("a", 60_000)).Cert)
	if _, err := a.Authenticate(r); err == nil || len(err.Error()) > 4<<10 {
		t.Fatalf("got %.2000v, want a short error", err)
	}
	if got := testing.AllocsPerRun(100, func() { a.Authenticate(r) }); got > 0 {
		t.Errorf("again: got %v allocs, want 0", got)
	}
	if user, err := a.Authenticate(with(ca.Client("alice").Cert)); user == nil || err != nil {
		t.Errorf("on another connection: got %v, %v", user, err)
	}
	// The remembered failure counts only for the roots that were tried.
	if user, err := NewX509(func() *x509.CertPool { return other.Pool }).Authenticate(r); user == nil || err != nil {
		t.Errorf("under other roots: got %v, %v", user, err)
	}
}

// TestX509FailuresBounded: the number of remembered failures is bounded.
func TestX509FailuresBounded(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	for range verifiedMax {
		a.mu.failed[weak.Make(new(tls.ConnectionState))] = failed{}
	}
	if user, err := a.Authenticate(with(other.Client("alice").Cert)); user != nil || err == nil {
		t.Fatalf("got %v, %v, want an error", user, err)
	}
	if got := len(a.mu.failed); got > verifiedMax {
		t.Errorf("remembered: got %d, want at most %d", got, verifiedMax)
	}
}

// TestX509Serial: the error names the certificate's serial number, unless it is longer than
// allowed.
func TestX509Serial(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	longest := new(big.Int).Lsh(big.NewInt(1), 159) // 20 bytes
	for _, tt := range []struct {
		serial *big.Int
		want   string
	}{
		{big.NewInt(7), "SN=7 of"},
		{longest, "SN=" + longest.String() + " of"},
		{new(big.Int).Lsh(longest, 1), "SN=(too long) of"},
	} {
		cert := other.Client("alice").Cert
		cert.SerialNumber = tt.serial
		if _, err := a.Authenticate(with(cert)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q in it", err, tt.want)
		}
	}
}

func TestX509Chain(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	chain := []*x509.Certificate{ca.Client("alice").Cert}
	for len(chain) < maxChain {
		chain = append(chain, ca.Client("b").Cert)
	}
	if user, err := a.Authenticate(with(chain...)); user == nil || err != nil {
		t.Errorf("%d certificates: got %v, %v", len(chain), user, err)
	}
	chain[0] = ca.Client("carol").Cert
	const want = "it comes with 5 others, more than 4"
	if user, err := a.Authenticate(with(append(chain, ca.Client("b").Cert)...)); user != nil || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%d certificates: got %v, %v, want an error with %q", len(chain)+1, user, err, want)
	}
}

// FuzzCredentials sends random Authorization headers: only a known token has a user, and nothing
// else is expensive.
func FuzzCredentials(f *testing.F) {
	for _, piece := range nastyCredentials {
		f.Add(piece, uint16(1))
		f.Add(piece, uint16(9999))
	}
	f.Add("Bearer some-token", uint16(1))
	f.Add("\tBEARER some-token more ", uint16(1))
	tokens, err := ReadTokens(bytes.NewReader([]byte("some-token,u,1\n")))
	if err != nil {
		f.Fatal(err)
	}
	a := Anonymous(Union(NewX509(func() *x509.CertPool { return nil }), Bearer(tokens)))
	f.Fuzz(func(t *testing.T, value string, times uint16) {
		value = strings.Repeat(value, max(1, min(int(times), 64<<10/max(1, len(value)))))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"] = []string{value}
		// The plain implementation: words between single spaces, after leading blanks.
		words := strings.Split(strings.TrimSpace(value), " ")
		if len(words) > 1 && strings.EqualFold(words[0], "bearer") && words[1] == "some-token" {
			if user, err := a.Authenticate(r); err != nil || user.Name != "u" {
				t.Errorf("Authorization %.40q: got %v, %v, want u", value, user, err)
			}
			return
		}
		checkStranger(t, a, r)
	})
}
