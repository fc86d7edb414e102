package differential

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount/externaljwt/plugin"
	signer "k8s.io/kubernetes/pkg/serviceaccount/externaljwt/plugin/testing/v1"

	"github.com/coracle-project/coracle/filters/authn"
)

// TestExternalSigner has both sides use Kubernetes' mock of an external signer, with right and
// wrong answers.
func TestExternalSigner(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "signer")
	mock := signer.NewMockSigner(t, socket)
	const issuer = "https://issuer.example.com"
	hooks := authn.SignerHooks{Called: func(string, time.Duration, error) {}, Fetched: func(time.Time, error) {}, Signed: func(error) {}}
	public := signer.KeyT{Key: mock.GetSupportedKeys()["kid-1"].Key}
	keys := func(all map[string]signer.KeyT) func() { return func() { mock.SetSupportedKeys(all) } }
	for name, change := range map[string]func(){
		"as it should be": func() {},
		"a hidden key":    keys(map[string]signer.KeyT{"kid-1": {Key: public.Key, ExcludeFromOidcDiscovery: true}, "kid-2": public}),
		"an unknown key":  func() { mock.SigningKeyID = "kid-9" },
		"no key":          func() { mock.SigningKeyID = "" },
		"a long key":      func() { mock.SigningKeyID = strings.Repeat("k", 1025) },
		"another type":    func() { mock.TokenType = "JWS" },
		"no algorithm":    func() { mock.SigningAlg = "none" },
		"another":         func() { mock.SigningAlg = "PS256" },
		"no keys":         keys(nil),
		"an empty key":    keys(map[string]signer.KeyT{"k": {}}),
		"a key of no id":  keys(map[string]signer.KeyT{"": public}),
		"a long id":       keys(map[string]signer.KeyT{strings.Repeat("k", 1025): public}),
		"no key at all":   keys(map[string]signer.KeyT{"k": {Key: []byte("x")}}),
		"no answer":       func() { mock.FetchError = errors.New("tired") },
	} {
		t.Run(name, func(t *testing.T) {
			if err := mock.Reset(); err != nil {
				t.Fatal(err)
			}
			public.Key = mock.GetSupportedKeys()["kid-1"].Key
			change()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			theirs, _, theirErr := plugin.New(ctx, issuer, socket, 10*time.Second, false)
			ours, longest, err := authn.OpenExternalSigner(ctx, socket, hooks)
			if theirErr != nil || err != nil {
				if got, want := wordsOf(err), "while setting up external-jwt-signer: "+wordsOf(theirErr); got != want {
					t.Errorf("we say\n%s\nthey say\n%s", got, want)
				}
				return
			}
			defer ours.Close()
			if longest != 10*time.Minute {
				t.Errorf("tokens last %v", longest)
			}
			public, private, err := serviceaccount.Claims(core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u"}}, nil, nil, nil, 600, 0, []string{"api"})
			if err != nil {
				t.Fatal(err)
			}
			theirToken, theirErr := theirs.GenerateToken(ctx, public, private)
			token, _, err := ours.Signer(issuer).Sign(ctx, &authn.BoundToken{
				Namespace: "n", Account: authn.Ref{Name: "a", UID: "u"}, Audiences: []string{"api"}, Issued: time.Now(), Lasts: 10 * time.Minute,
			})
			if wordsOf(err) != wordsOf(theirErr) {
				t.Errorf("we say\n%v\nthey say\n%v", err, theirErr)
			}
			if err != nil {
				return
			}
			if strings.Split(token, ".")[0] != strings.Split(theirToken, ".")[0] {
				t.Errorf("the headers of\n%s and\n%s differ", token, theirToken)
			}
			accounts := authn.NewServiceAccounts(authn.ServiceAccountConfig{Issuers: []string{issuer}, Keys: ours, Audiences: []string{"api"}, Objects: present{}})
			for of, token := range map[string]string{"ours": token, "theirs": theirToken} {
				user, _, err := accounts.AuthenticateToken(ctx, token, nil)
				if known := err == nil && user != nil; known != (name != "an unknown key") {
					t.Errorf("%s: %v, %v", of, user, err)
				}
			}
		})
	}
}

// present is a reader of objects for which every object exists.
type present struct{}

func (present) Object(_, _, _ string) authn.Object           { return present{} }
func (present) Used(context.Context, string, string, string) {}
func (present) Get(context.Context) (*authn.ObjectState, error) {
	return &authn.ObjectState{UID: "u"}, nil
}

func wordsOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
