package flags

import (
	"crypto/tls"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

// TestDefaults holds the flags' defaults against those of the zero Config: serve without flags is New(Config{}).
func TestDefaults(t *testing.T) {
	c := parse(t, Serve())
	for name, tt := range map[string]struct{ got, want any }{
		"data dir":       {c.DataDir, ".coracle"},
		"bind address":   {c.Serving.BindAddress, "127.0.0.1"},
		"secure port":    {c.Serving.SecurePort, 6443},
		"http port":      {c.Serving.HTTPPort, server.NoPort},
		"authorization":  {strings.Join(c.Authorization.Modes, ","), server.AuthorizeByRoles},
		"tokens":         {c.Authentication.ServiceAccounts, server.ServiceAccountsConfig{Issuers: []string{"https://kubernetes.default.svc.cluster.local"}}},
		"anonymous":      {c.Authentication.Anonymous, (*bool)(nil)},
		"controllers":    {c.Controllers, []string{"*"}},
		"event ttl":      {c.API.EventTTL, time.Hour},
		"min watch":      {c.Limits.MinWatch, 30 * time.Minute},
		"privileged":     {c.API.AllowPrivileged, false},
		"protobuf":       {c.Storage.Protobuf, false},
		"reads, writes":  {[]int{c.Limits.MaxReads, c.Limits.MaxWrites}, []int{400, 200}},
		"cors":           {len(c.Serving.CORSOrigins), 0},
		"storage engine": {c.Storage.Engine, ""},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
}

// TestMeanings checks the flags that do not go into the Config as they are.
func TestMeanings(t *testing.T) {
	c := parse(t, Serve(), "--secure-port=0", "--max-requests-inflight=0", "--controllers=", "--anonymous-auth=false",
		"--runtime-config=v1,apps/v1/deployments=false", "--runtime-config=api/all=true", "--profile=crd-only",
		"--service-account-lookup=false", "--service-account-extend-token-expiration=false",
		"--etcd-compaction-interval=0", "--event-ttl=0", "--storage-media-type=application/vnd.kubernetes.protobuf", "--min-request-timeout=5")
	if c.Serving.SecurePort != server.NoPort || c.Limits.MaxReads != -1 || len(c.Controllers) != 0 || c.Controllers == nil ||
		c.Authentication.Anonymous == nil || *c.Authentication.Anonymous || !c.Authentication.ServiceAccounts.NoLookup || !c.Authentication.ServiceAccounts.NoExtension ||
		c.Storage.CompactionInterval >= 0 || c.API.EventTTL >= 0 || !c.Storage.Protobuf || c.Limits.MinWatch != 5*time.Second {
		t.Errorf("got %+v", c)
	}
	if want := map[string]string{"/v1": "", "apps/v1/deployments": "false", "api/all": "true"}; !maps.Equal(c.API.Runtime, want) ||
		c.API.Profile != server.ProfileCRDOnly {
		t.Errorf("got %q and %q, want %q", c.API.Runtime, c.API.Profile, want)
	}
}

// TestAuthenticationFlags checks that each flag about authentication goes where it belongs.
func TestAuthenticationFlags(t *testing.T) {
	got := parse(t, Serve(), "--client-ca-file=a", "--token-auth-file=b", "--basic-auth-file=c",
		"--requestheader-client-ca-file=d", "--requestheader-allowed-names=e,f", "--requestheader-username-headers=g",
		"--requestheader-uid-headers=h,X-Remote-Uid", "--requestheader-group-headers=i,j", "--requestheader-extra-headers-prefix=k",
		"--api-audiences=l,m", "--authentication-token-webhook-config-file=n", "--authentication-token-webhook-version=v1",
		"--authentication-token-webhook-cache-ttl=0", "--oidc-issuer-url=p", "--oidc-client-id=q", "--oidc-ca-file=r",
		"--oidc-username-claim=s", "--oidc-username-prefix=t", "--oidc-groups-claim=u", "--oidc-groups-prefix=v",
		"--oidc-signing-algs=w,x", "--oidc-required-claim=y=a,b=c", "--oidc-required-claim=z=").Authentication
	want := server.AuthenticationConfig{ClientCAFile: "a", TokenAuthFile: "b", BasicAuthFile: "c", Audiences: []string{"l", "m"}}
	want.Webhook = server.TokenWebhookConfig{File: "n", Version: "v1", CacheTTL: -1}
	want.FrontProxy.ClientCAFile, want.FrontProxy.AllowedNames = "d", []string{"e", "f"}
	headers := &want.FrontProxy.Headers
	headers.Names, headers.UIDs, headers.Groups, headers.ExtraPrefixes = []string{"g"}, []string{"h", "X-Remote-Uid"}, []string{"i", "j"}, []string{"k"}
	want.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	want.OIDC = server.OIDCConfig{
		IssuerURL: "p", ClientID: "q", CAFile: "r", UsernameClaim: "s", UsernamePrefix: "t", GroupsClaim: "u", GroupsPrefix: "v",
		SigningAlgs: []string{"w", "x"}, RequiredClaims: map[string]string{"y": "a,b=c", "z": ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// parse returns what a command line says.
func parse(t *testing.T, o *Options, args ...string) server.Config {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.Bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	c, err := o.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// needed are the flags that kube-apiserver does not start without.
func needed(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--etcd-servers=http://a:1", "--service-account-issuer=https://i", "--service-account-key-file=" + file,
		"--service-account-signing-key-file=" + file, "--log-level=error"}
}

// TestAuthorizationFlags: a configuration file stands in place of modes, unless these are given as well, which the server refuses.
func TestAuthorizationFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := parse(t, Serve(), "--authorization-config="+file, "--authorization-policy-file=p").Authorization
	if c.ConfigFile != file || c.PolicyFile != "p" || c.Modes != nil || c.Webhook != (server.AuthorizationWebhook{}) {
		t.Errorf("a file: got %+v", c)
	}
	c = parse(t, Serve(), "--authorization-mode=Node,Webhook", "--authorization-webhook-config-file=k", "--authorization-webhook-cache-authorized-ttl=0",
		"--authorization-webhook-cache-unauthorized-ttl=7s").Authorization
	if w := c.Webhook; strings.Join(c.Modes, ",") != "Node,Webhook" || w.ConfigFile != "k" || w.AuthorizedTTL != -1 || w.UnauthorizedTTL != 7*time.Second {
		t.Errorf("modes: got %+v", c)
	}
}

// TestServingFlags checks that each flag about the secure port, and about the end of requests, goes where it belongs.
func TestServingFlags(t *testing.T) {
	c := parse(t, KubeAPIServer(), append(needed(t), "--bind-address=::1", "--secure-port=1", "--permit-port-sharing", "--permit-address-sharing", "--disable-http2-serving",
		"--http2-max-streams-per-connection=9", "--tls-cert-file=a", "--tls-private-key-file=b", "--tls-sni-cert-key=c,d", "--tls-sni-cert-key=e, f: *.g, h",
		"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_RSA_WITH_AES_128_CBC_SHA", "--tls-curve-preferences=23,29", "--tls-min-version=VersionTLS13",
		"--goaway-chance=0.01", "--strict-transport-security-directives=max-age=1,preload", "--livez-grace-period=1s", "--debug-socket-path=s",
		"--contention-profiling", "--profiling=false", "--shutdown-delay-duration=2s", "--shutdown-send-retry-after", "--shutdown-watch-termination-grace-period=3s")...)
	want := server.ServingConfig{
		BindAddress: "::1", SecurePort: 1, HTTPPort: server.NoPort, SharePort: true, ShareAddress: true,
		TLS: server.TLSConfig{
			CertFile: "a", KeyFile: "b", CertDir: "/var/run/kubernetes", ByName: []server.NamedCertificate{{CertFile: "c", KeyFile: "d"}, {CertFile: "e", KeyFile: "f", Names: []string{"*.g", "h"}}},
			CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA},
			Curves:       []tls.CurveID{tls.CurveP256, tls.X25519}, MinVersion: tls.VersionTLS13,
		},
		HTTP:       server.HTTPConfig{HTTP1Only: true, MaxStreams: 9, GoawayChance: 0.01, HSTS: []string{"max-age=1", "preload"}},
		LivezGrace: time.Second, Profiles: server.ProfilesConfig{Socket: "s", Contention: true},
	}
	if !reflect.DeepEqual(c.Serving, want) {
		t.Errorf("got  %+v\nwant %+v", c.Serving, want)
	}
	if want := (server.ShutdownConfig{Delay: 2 * time.Second, RefuseNew: true, WatchGrace: 3 * time.Second}); c.Shutdown != want {
		t.Errorf("got %+v, want %+v", c.Shutdown, want)
	}
}
