package flags

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
)

// TestDefaults checks that `coracle serve` without flags is the server of the zero Config: each
// default is the same.
func TestDefaults(t *testing.T) {
	c := parse(t, Serve())
	for name, tt := range map[string]struct{ got, want any }{
		"data dir":       {c.DataDir, ".coracle"},
		"bind address":   {c.Serving.BindAddress, "127.0.0.1"},
		"secure port":    {c.Serving.SecurePort, 6443},
		"http port":      {c.Serving.HTTPPort, server.NoPort},
		"authorization":  {strings.Join(c.Authorization.Modes, ","), access.RBAC},
		"tokens":         {c.Authentication.ServiceAccounts, identity.ServiceAccounts{Issuers: []string{"https://kubernetes.default.svc.cluster.local"}}},
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

// TestKubeAPIServerDefaults checks the defaults of `coracle kube-apiserver` that differ from those
// of `coracle serve`. For example, it runs no controllers.
func TestKubeAPIServerDefaults(t *testing.T) {
	file := pkitest.KeyFile(t)
	required := []string{"--etcd-servers=http://127.0.0.1:1", "--service-account-issuer=https://a", "--service-account-key-file=" + file, "--service-account-signing-key-file=" + file}
	c := parse(t, KubeAPIServer(), required...)
	if c.Serving.TLS.CertDir != "/var/run/kubernetes" || c.Serving.BindAddress != "0.0.0.0" || !c.Storage.Protobuf || c.Controllers == nil || len(c.Controllers) != 0 {
		t.Errorf("got %+v", c)
	}
	if c = parse(t, KubeAPIServer(), append(required, "--controllers=*")...); !slices.Equal(c.Controllers, []string{"*"}) {
		t.Errorf("with controllers: got %q", c.Controllers)
	}
	for _, tt := range []struct{ args, want string }{
		{"--storage=memory", ""},
		{"--storage=embedded", "--storage=embedded needs --data-dir: give a folder for what the server keeps"},
		{"--storage=file", "--storage=file needs --data-dir: give a folder for what the server keeps"},
		{"--cert-dir=", `--cert-dir="" needs --data-dir: give a folder for what the server keeps`},
		{"--cert-dir= --storage=file --data-dir=d", ""},
	} {
		o := KubeAPIServer()
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.Bind(f)
		if err := f.Parse(append(strings.Fields(tt.args), required...)); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Finish(); text(err) != tt.want {
			t.Errorf("%s: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestMeanings checks flags whose value is translated before it goes into the Config.
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

// TestAuthenticationFlags checks that each flag about authentication sets its own field.
func TestAuthenticationFlags(t *testing.T) {
	got := parse(t, Serve(), "--client-ca-file=a", "--token-auth-file=b", "--basic-auth-file=c",
		"--requestheader-client-ca-file=d", "--requestheader-allowed-names=e,f", "--requestheader-username-headers=g",
		"--requestheader-uid-headers=h,X-Remote-Uid", "--requestheader-group-headers=i,j", "--requestheader-extra-headers-prefix=k",
		"--api-audiences=l,m", "--authentication-token-webhook-config-file=n", "--authentication-token-webhook-version=v1",
		"--authentication-token-webhook-cache-ttl=0", "--oidc-issuer-url=p", "--oidc-client-id=q", "--oidc-ca-file=r",
		"--oidc-username-claim=s", "--oidc-username-prefix=t", "--oidc-groups-claim=u", "--oidc-groups-prefix=v",
		"--oidc-signing-algs=w,x", "--oidc-required-claim=y=a,b=c", "--oidc-required-claim=z=").Authentication
	want := identity.Config{ClientCAFile: "a", TokenAuthFile: "b", BasicAuthFile: "c", Audiences: []string{"l", "m"}}
	want.Webhook = identity.TokenWebhook{File: "n", Version: "v1", CacheTTL: -1}
	want.FrontProxy.ClientCAFile, want.FrontProxy.AllowedNames = "d", []string{"e", "f"}
	headers := &want.FrontProxy.Headers
	headers.Names, headers.UIDs, headers.Groups, headers.ExtraPrefixes = []string{"g"}, []string{"h", "X-Remote-Uid"}, []string{"i", "j"}, []string{"k"}
	want.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	want.OIDC = identity.OIDC{
		IssuerURL: "p", ClientID: "q", CAFile: "r", UsernameClaim: "s", UsernamePrefix: "t", GroupsClaim: "u", GroupsPrefix: "v",
		SigningAlgs: []string{"w", "x"}, RequiredClaims: map[string]string{"y": "a,b=c", "z": ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// parse returns the Config of a command line, which must have no mistake.
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

// TestAuthorizationFlags checks that an AuthorizationConfiguration file replaces the modes and the
// webhook.
func TestAuthorizationFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := parse(t, Serve(), "--authorization-config="+file, "--authorization-policy-file=p").Authorization
	if c.ConfigFile != file || c.PolicyFile != "p" || c.Modes != nil || c.Webhook != (access.WebhookConfig{}) {
		t.Errorf("a file: got %+v", c)
	}
	c = parse(t, Serve(), "--authorization-mode=Node,Webhook", "--authorization-webhook-config-file=k", "--authorization-webhook-cache-authorized-ttl=0",
		"--authorization-webhook-cache-unauthorized-ttl=7s").Authorization
	if w := c.Webhook; strings.Join(c.Modes, ",") != "Node,Webhook" || w.ConfigFile != "k" || w.AuthorizedTTL != -1 || w.UnauthorizedTTL != 7*time.Second {
		t.Errorf("modes: got %+v", c)
	}
}
