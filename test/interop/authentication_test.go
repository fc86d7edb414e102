package interop

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// withToken is a client's configuration with a token only.
func (s *server) withToken(t *testing.T, token string) *rest.Config {
	t.Helper()
	config := rest.AnonymousClientConfig(s.config(t))
	config.BearerToken = token
	leaks.Learn(token)
	return config
}

// who returns the user name that a server reads from a token, "" if it refuses the token.
func who(t *testing.T, s *server, token string) string {
	t.Helper()
	_, err := clientset(t, s.withToken(t, token)).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return ""
	case !apierrors.IsForbidden(err):
		t.Fatalf("got %v, want a refusal", err)
	}
	_, after, _ := strings.Cut(err.Error(), `User "`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// caFile writes the certificate of a test server to a file.
func caFile(t *testing.T, s *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOpenIDConnect logs in at an independent OpenID provider and authenticates with its ID token.
func TestOpenIDConnect(t *testing.T) {
	t.Parallel()
	const client, secret, back = "coracle", "secret", "https://127.0.0.1/back"
	storage.RegisterClients(storage.WebClient(client, secret, back))
	var handler http.Handler
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(provider.Close)
	handler = exampleop.SetupServer(provider.URL, storage.NewStorage(storage.NewUserStore(provider.URL)), nil, false)

	s := newServer(t, "--oidc-issuer-url="+provider.URL, "--oidc-client-id="+client, "--oidc-ca-file="+caFile(t, provider), "--oidc-username-prefix=zitadel:")
	token := logIn(t, provider, client, secret, back)
	name := who(t, s, token)
	for end := time.Now().Add(20 * time.Second); name == "" && time.Now().Before(end); name = who(t, s, token) { // the server has to fetch the provider's keys first
		time.Sleep(100 * time.Millisecond)
	}
	if name != "zitadel:id1" {
		t.Errorf("got %q, want zitadel:id1", name)
	}
	head, rest, _ := strings.Cut(token, ".")
	if name := who(t, s, head+"x."+rest); name != "" {
		t.Errorf("a changed token is %q", name)
	}
}

// logIn goes through the pages of the provider as a browser would, and returns the ID token.
func logIn(t *testing.T, provider *httptest.Server, client, secret, back string) string {
	t.Helper()
	browser := provider.Client()
	browser.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), provider.URL) {
			return nil
		}
		return http.ErrUseLastResponse
	}
	found, err := browser.Get(provider.URL + "/.well-known/openid-configuration")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Body.Close()
	var at struct {
		Pages  string `json:"authorization_endpoint"`
		Tokens string `json:"token_endpoint"`
	}
	if err := json.NewDecoder(found.Body).Decode(&at); err != nil {
		t.Fatal(err)
	}
	page, err := browser.Get(at.Pages + "?" + url.Values{
		"client_id": {client}, "redirect_uri": {back}, "response_type": {"code"}, "scope": {"openid email"}, "state": {"state"},
	}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", page.Status, page.Header.Get("Location"))
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(provider.URL, "https://"), ":")
	done, err := browser.PostForm(provider.URL+"/login/username", url.Values{
		"username": {"test-user@" + host}, "password": {"verysecure"}, "id": {page.Request.URL.Query().Get("authRequestID")},
	})
	if err != nil {
		t.Fatal(err)
	}
	done.Body.Close()
	returned, err := done.Location()
	if err != nil {
		t.Fatalf("%s: %v", done.Status, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", at.Tokens, strings.NewReader(url.Values{
		"grant_type": {"authorization_code"}, "code": {returned.Query().Get("code")}, "redirect_uri": {back},
	}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(client, secret)
	resp, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"id_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("%s: no token, %v", resp.Status, err)
	}
	return answer.Token
}

// hookToken is the token with which servers authenticate to webhooks.
const hookToken = "of-the-server"

// hookFile makes the kubeconfig by which a server finds a webhook.
func hookFile(t *testing.T, hook *httptest.Server) string {
	t.Helper()
	leaks.Learn(hookToken)
	file := filepath.Join(t.TempDir(), "webhook.kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["hook"] = &clientcmdapi.Cluster{Server: hook.URL + "/review", CertificateAuthority: caFile(t, hook)}
	config.AuthInfos["server"] = &clientcmdapi.AuthInfo{Token: hookToken}
	config.Contexts["hook"] = &clientcmdapi.Context{Cluster: "hook", AuthInfo: "server"}
	config.CurrentContext = "hook"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTokenWebhook authenticates tokens by a webhook that is written with Kubernetes' types.
func TestTokenWebhook(t *testing.T) {
	t.Parallel()
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.APIVersion != "authentication.k8s.io/v1" || review.Kind != "TokenReview" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+hookToken {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		if review.Spec.Token == "sesame" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: "alice"}}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(hook.Close)
	s := newServer(t, "--authentication-token-webhook-config-file="+hookFile(t, hook), "--authentication-token-webhook-version=v1", "--api-audiences=api")
	for token, want := range map[string]string{"sesame": "alice", "other": ""} {
		if got := who(t, s, token); got != want {
			t.Errorf("%s: got %q, want %q", token, got, want)
		}
	}
}

// TestAuthorizationWebhook has a webhook that is written with Kubernetes' types decide what roles
// leave open, over TLS. It checks the reviews that the webhook gets.
func TestAuthorizationWebhook(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.APIVersion != "authorization.k8s.io/v1" || review.Kind != "SubjectAccessReview" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+hookToken {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		want := authorizationv1.ResourceAttributes{Namespace: "default", Verb: "get", Version: "v1", Resource: "configmaps", Name: "none"}
		switch about := review.Spec.ResourceAttributes; {
		case about == nil || *about != want || !slices.Contains(review.Spec.Groups, "system:authenticated"):
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "asked about something else"}
		case review.Spec.User == "alice" && slices.Contains(review.Spec.Groups, "dev") && slices.Equal(review.Spec.Extra["team"], []string{"red"}):
			review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
		case review.Spec.User == "bob":
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "bob has left"}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(hook.Close)
	s := newServer(t, "--authorization-mode=Webhook,RBAC", "--authorization-webhook-config-file="+hookFile(t, hook), "--authorization-webhook-version=v1",
		"--authorization-webhook-cache-unauthorized-ttl=0")
	for _, tt := range []struct {
		who  rest.ImpersonationConfig
		asks int64 // of two requests
		want string
	}{
		{rest.ImpersonationConfig{UserName: "alice", Groups: []string{"dev"}, Extra: map[string][]string{"team": {"red"}}}, 1, `configmaps "none" not found`},
		{rest.ImpersonationConfig{UserName: "alice", Groups: []string{"dev"}, Extra: map[string][]string{"team": {"blue"}}}, 2,
			`configmaps "none" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default"`},
		{rest.ImpersonationConfig{UserName: "bob"}, 2,
			`configmaps "none" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "default": bob has left`},
	} {
		config := s.config(t)
		config.Impersonate = tt.who
		c, before := clientset(t, config), asked.Load()
		for range 2 {
			if _, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "none", metav1.GetOptions{}); err == nil || err.Error() != tt.want {
				t.Errorf("%v: got %v, want %s", tt.who, err, tt.want)
			}
		}
		if got := asked.Load() - before; got != tt.asks {
			t.Errorf("%v: the webhook is asked %d times, want %d", tt.who, got, tt.asks)
		}
	}
	hook.Close()
	config := s.config(t)
	config.Impersonate.UserName = "carol"
	if _, err := clientset(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("without the webhook: got %v, want an internal error", err)
	}
}
