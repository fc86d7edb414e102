package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/server"
)

// asCoracle makes a process of the test binary the program itself.
const asCoracle = "TEST_AS_CORACLE"

func TestMain(m *testing.M) {
	if os.Getenv(asCoracle) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// run runs the command with args and returns what it printed.
func run(ctx context.Context, out io.Writer, args ...string) error {
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	return cmd.ExecuteContext(ctx)
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "version"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "coracle ") || !strings.Contains(got, server.KubernetesVersion) {
		t.Errorf("version: got %q, want the versions of coracle and of the API", got)
	}
}

// TestDefaults holds the flags' defaults against those of the zero Config: serve without flags is New(Config{}).
func TestDefaults(t *testing.T) {
	o := parse(t)
	for name, tt := range map[string]struct{ got, want any }{
		"data dir":       {o.config.DataDir, ".coracle"},
		"bind address":   {o.config.Serving.BindAddress, "127.0.0.1"},
		"secure port":    {o.config.Serving.SecurePort, 6443},
		"http port":      {o.config.Serving.HTTPPort, server.NoPort},
		"authorization":  {strings.Join(o.config.Authorization.Modes, ","), server.AuthorizeByRoles},
		"tokens":         {o.config.Authentication.ServiceAccounts, server.ServiceAccountsConfig{Issuers: []string{"https://kubernetes.default.svc.cluster.local"}}},
		"anonymous":      {o.config.Authentication.Anonymous, (*bool)(nil)},
		"controllers":    {o.config.Controllers, []string{"*"}},
		"event ttl":      {o.config.API.EventTTL, time.Hour},
		"min watch":      {o.config.Limits.MinWatch, 30 * time.Minute},
		"privileged":     {o.config.API.AllowPrivileged, false},
		"protobuf":       {o.config.Storage.Protobuf, false},
		"reads, writes":  {[]int{o.config.Limits.MaxReads, o.config.Limits.MaxWrites}, []int{400, 200}},
		"cors":           {len(o.config.Serving.CORSOrigins), 0},
		"storage engine": {o.config.Storage.Engine, ""},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
}

// TestMeanings checks the flags that do not go into the Config as they are.
func TestMeanings(t *testing.T) {
	o := parse(t, "--secure-port=0", "--max-requests-inflight=0", "--controllers=", "--anonymous-auth=false",
		"--runtime-config=v1,apps/v1/deployments=false", "--runtime-config=api/all=true", "--profile=crd-only",
		"--service-account-lookup=false", "--service-account-extend-token-expiration=false",
		"--etcd-compaction-interval=0", "--storage-media-type=application/vnd.kubernetes.protobuf", "--min-request-timeout=5")
	c := o.config
	if c.Serving.SecurePort != server.NoPort || c.Limits.MaxReads != -1 || len(c.Controllers) != 0 || c.Controllers == nil ||
		c.Authentication.Anonymous == nil || *c.Authentication.Anonymous || !c.Authentication.ServiceAccounts.NoLookup || !c.Authentication.ServiceAccounts.NoExtension ||
		c.Storage.CompactionInterval >= 0 || !c.Storage.Protobuf || c.Limits.MinWatch != 5*time.Second {
		t.Errorf("got %+v", c)
	}
	if want := map[string]string{"v1": "", "apps/v1/deployments": "false", "api/all": "true"}; !maps.Equal(c.API.Runtime, want) ||
		c.API.Profile != server.ProfileCRDOnly {
		t.Errorf("got %q and %q, want %q", c.API.Runtime, c.API.Profile, want)
	}
}

// TestAuthenticationFlags checks that each flag about authentication goes where it belongs.
func TestAuthenticationFlags(t *testing.T) {
	got := parse(t, "--client-ca-file=a", "--token-auth-file=b", "--basic-auth-file=c",
		"--requestheader-client-ca-file=d", "--requestheader-allowed-names=e,f", "--requestheader-username-headers=g",
		"--requestheader-uid-headers=h", "--requestheader-group-headers=i,j", "--requestheader-extra-headers-prefix=k",
		"--api-audiences=l,m", "--authentication-token-webhook-config-file=n", "--authentication-token-webhook-version=v1",
		"--authentication-token-webhook-cache-ttl=0", "--authentication-config=o", "--oidc-issuer-url=p", "--oidc-client-id=q", "--oidc-ca-file=r",
		"--oidc-username-claim=s", "--oidc-username-prefix=t", "--oidc-groups-claim=u", "--oidc-groups-prefix=v",
		"--oidc-signing-algs=w,x", "--oidc-required-claim=y=a,b=c", "--oidc-required-claim=z=").config.Authentication
	want := server.AuthenticationConfig{ClientCAFile: "a", TokenAuthFile: "b", BasicAuthFile: "c", Audiences: []string{"l", "m"}}
	want.Webhook = server.TokenWebhookConfig{File: "n", Version: "v1", CacheTTL: -1}
	want.FrontProxy.ClientCAFile, want.FrontProxy.AllowedNames = "d", []string{"e", "f"}
	headers := &want.FrontProxy.Headers
	headers.Names, headers.UIDs, headers.Groups, headers.ExtraPrefixes = []string{"g"}, []string{"h"}, []string{"i", "j"}, []string{"k"}
	want.File, want.ServiceAccounts.Issuers = "o", []string{"https://kubernetes.default.svc.cluster.local"}
	want.OIDC = server.OIDCConfig{
		IssuerURL: "p", ClientID: "q", CAFile: "r", UsernameClaim: "s", UsernamePrefix: "t", GroupsClaim: "u", GroupsPrefix: "v",
		SigningAlgs: []string{"w", "x"}, RequiredClaims: map[string]string{"y": "a,b=c", "z": ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--storage=floppy"},
		{"--runtime-config=no.io/v1=true"},
		{"--profile=none"},
		{"--storage-media-type=text/plain"},
		{"--log-level=loud"},
		{"--log-format=xml"},
		{"--authorization-mode=Maybe"},
		{"--controllers=nope"},
		{"--bind-address=here"},
		{"--service-account-issuer=https://a", "--service-account-issuer=https://a"},
		{"--service-account-issuer="},
		{"--service-account-issuer=https://a:b"},
		{"--service-account-jwks-uri=http://a"},
		{"--service-account-max-token-expiration=59m"},
		{"--service-account-signing-key-file=none"},
		{"--service-account-key-file=none"},
		{"--tls-cert-file=only-half"},
		{"--oidc-issuer-url=https://alone"},
		{"--oidc-required-claim=no-value"},
		{"--authentication-config=none"},
		{"--no-such-flag"},
		{"argument"},
	} {
		args = append([]string{"serve", "--data-dir", t.TempDir(), "--storage=memory"}, args...)
		if err := run(t.Context(), io.Discard, args...); err == nil {
			t.Errorf("%v: got no error", args)
		}
	}
}

// anyPort is the value of a flag for a port that is free.
var anyPort = strconv.Itoa(server.AnyPort)

// TestServe starts the server as a user does, waits for its greeting and stops it.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, write, "serve", "--data-dir", dir, "--storage=memory", "--log-level=error", "--secure-port", anyPort)
		write.Close()
	}()
	greeting := make([]byte, 4096)
	n, err := read.Read(greeting)
	if err != nil {
		t.Fatalf("greeting: %v, %v", err, <-done)
	}
	go io.Copy(io.Discard, read)
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	if got := string(greeting[:n]); !strings.Contains(got, "export KUBECONFIG="+kubeconfig) {
		t.Errorf("greeting: got %q, want it to name %s", got, kubeconfig)
	}
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: got %v, %v, want a file for its owner alone", info, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func parse(t *testing.T, args ...string) *options {
	t.Helper()
	o, flags := &options{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := o.finish(); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAuthorizationFlags: a configuration file stands in place of modes, unless these are given as well, which the server refuses.
func TestAuthorizationFlags(t *testing.T) {
	c := parse(t, "--authorization-config=f", "--authorization-policy-file=p").config.Authorization
	if c.ConfigFile != "f" || c.PolicyFile != "p" || c.Modes != nil || c.Webhook != (server.AuthorizationWebhook{}) {
		t.Errorf("a file: got %+v", c)
	}
	c = parse(t, "--authorization-config=f", "--authorization-webhook-version=v1").config.Authorization
	if c.Modes == nil || c.Webhook.Version != "v1" {
		t.Errorf("a file and a flag: got %+v", c)
	}
	c = parse(t, "--authorization-mode=Node,Webhook", "--authorization-webhook-config-file=k", "--authorization-webhook-cache-authorized-ttl=0",
		"--authorization-webhook-cache-unauthorized-ttl=7s").config.Authorization
	if w := c.Webhook; strings.Join(c.Modes, ",") != "Node,Webhook" || w.ConfigFile != "k" || w.AuthorizedTTL != -1 || w.UnauthorizedTTL != 7*time.Second {
		t.Errorf("modes: got %+v", c)
	}
}
