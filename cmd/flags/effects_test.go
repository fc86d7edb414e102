package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/inspect"
)

// The flags that each flag about OpenID Connect needs beside it, and their effect.
const (
	withProvider = " --oidc-issuer-url=https://i --oidc-client-id=c"
	provider     = "Authentication.OIDC.IssuerURL=https://i, Authentication.OIDC.ClientID=c"
)

// effects are the honoured flags, each with a value that is not its default and the fields of the
// Config that this value changes.
var effects = map[string]struct{ value, effect string }{
	"advertise-address":                       {"192.0.2.7", "Serving.AdvertiseAddress=192.0.2.7"},
	"cors-allowed-origins":                    {"^https://a$,//b:", "Serving.CORSOrigins=[^https://a$ //b:]"},
	"external-hostname":                       {"api.example", "Serving.ExternalHostname=api.example"},
	"feature-gates":                           {"WatchList=false", "API.Without.WatchLists=true"},
	"max-mutating-requests-inflight":          {"7", "Limits.MaxWrites=7"},
	"max-requests-inflight":                   {"0", "Limits.MaxReads=-1"},
	"min-compatibility-version":               {"1.33", "Storage.MinCompatibility=1.33"},
	"min-request-timeout":                     {"60", "Limits.MinWatch=1m0s"},
	"request-timeout":                         {"30s", "Limits.RequestTimeout=30s"},
	"shutdown-delay-duration":                 {"3s", "Shutdown.Delay=3s"},
	"shutdown-send-retry-after":               {"true", "Shutdown.RefuseNew=true"},
	"goaway-chance":                           {"0.02", "Serving.HTTP.Settings.GoawayChance=0.02"},
	"livez-grace-period":                      {"1s", "Serving.LivezGrace=1s"},
	"storage-initialization-timeout":          {"2s", "Storage.InitTimeout=2s"},
	"shutdown-watch-termination-grace-period": {"2s", "Shutdown.WatchGrace=2s"},
	"strict-transport-security-directives":    {"max-age=1,preload", "Serving.HTTP.Settings.HSTS=[max-age=1 preload]"},

	"enable-garbage-collector":                    {"false", "API.Without.GarbageCollection=true"},
	"enable-priority-and-fairness":                {"false", "API.Without.PriorityAndFairness=true"},
	"encryption-provider-config":                  {"f", "Storage.EncryptionConfigFile=f"},
	"encryption-provider-config-automatic-reload": {"true --encryption-provider-config=f", "Storage.EncryptionConfigFile=f, Storage.EncryptionReload=true"},
	"proxy-client-cert-file":                      {"PAIR --proxy-client-key-file=PAIR", "API.Aggregation.CertFile=PAIR, API.Aggregation.KeyFile=PAIR"},
	"proxy-client-key-file":                       {"PAIR --proxy-client-cert-file=PAIR", "API.Aggregation.CertFile=PAIR, API.Aggregation.KeyFile=PAIR"},
	"enable-aggregator-routing":                   {"true", "API.Aggregation.ByEndpoints=true"},
	"aggregator-reject-forwarding-redirect":       {"false", "API.Aggregation.ForwardRedirects=true"},
	"delete-collection-workers":                   {"3", "Limits.DeleteWorkers=3"},
	"etcd-healthcheck-timeout":                    {"1s", "Storage.Timeouts.HealthTimeout=1s"},
	"etcd-readycheck-timeout":                     {"1s", "Storage.Timeouts.ReadyTimeout=1s"},
	"etcd-servers-overrides":                      {"/events#http://a:1;http://b:2", "Storage.Overrides=[{events [http://a:1 http://b:2] <nil>}]"},
	"etcd-cafile":                                 {"f", "Storage.Etcd.CAFile=f"},
	"etcd-certfile":                               {"f", "Storage.Etcd.CertFile=f"},
	"etcd-compaction-interval":                    {"0", "Storage.CompactionInterval=-1ns"},
	"etcd-keyfile":                                {"f", "Storage.Etcd.KeyFile=f"},
	"etcd-prefix":                                 {"/other", "Storage.Prefix=/other"},
	"etcd-servers":                                {"http://a:1,http://b:2", "Storage.Etcd.Servers=[http://a:1 http://b:2]"},
	"storage-media-type":                          {"", "Storage.Protobuf=true"},

	"bind-address":         {"::", "Serving.BindAddress=::"},
	"secure-port":          {"1234", "Serving.SecurePort=1234"},
	"tls-cert-file":        {"f", "Serving.TLS.CertFile=f"},
	"tls-private-key-file": {"f", "Serving.TLS.KeyFile=f"},

	"cert-dir":                         {"d", "Serving.TLS.CertDir=d"},
	"disable-http2-serving":            {"true", "Serving.HTTP.HTTP1Only=true"},
	"http2-max-streams-per-connection": {"7", "Serving.HTTP.MaxStreams=7"},
	"permit-address-sharing":           {"true", "Serving.Share.Address=true"},
	"permit-port-sharing":              {"true", "Serving.Share.Port=true"},
	"tls-cipher-suites":                {"TLS_AES_128_GCM_SHA256", "Serving.TLS.CipherSuites=[4865]"},
	"tls-curve-preferences":            {"29", "Serving.TLS.Curves=[X25519]"},
	"tls-min-version":                  {"VersionTLS13", "Serving.TLS.MinVersion=772"},
	"tls-sni-cert-key":                 {"c,k:n", "Serving.TLS.ByName=[{c k [n]}]"},

	"contention-profiling": {"true", "Serving.Debug.Profiles.Contention=true"},
	"debug-socket-path":    {"s", "Serving.Debug.Profiles.Socket=s"},
	"profiling":            {"false", "Serving.Debug.Profiles.Serve=false"},

	"anonymous-auth":                           {"false", "Authentication.Anonymous=false"},
	"api-audiences":                            {"a,b", "Authentication.Audiences=[a b]"},
	"authentication-config":                    {"f", "Authentication.File=f"},
	"authentication-token-webhook-cache-ttl":   {"0", "Authentication.Webhook.CacheTTL=-1ns"},
	"authentication-token-webhook-config-file": {"f", "Authentication.Webhook.File=f"},
	"authentication-token-webhook-version":     {"v1", "Authentication.Webhook.Version=v1"},
	"client-ca-file":                           {"f", "Authentication.ClientCAFile=f"},
	"enable-bootstrap-token-auth":              {"true", "Authentication.BootstrapTokens=true"},
	"oidc-ca-file":                             {"f" + withProvider, provider + ", Authentication.OIDC.CAFile=f"},
	"oidc-client-id":                           {"c --oidc-issuer-url=https://i", "Authentication.OIDC.IssuerURL=https://i, Authentication.OIDC.ClientID=c"},
	"oidc-groups-claim":                        {"g" + withProvider, provider + ", Authentication.OIDC.GroupsClaim=g"},
	"oidc-groups-prefix":                       {"p" + withProvider, provider + ", Authentication.OIDC.GroupsPrefix=p"},
	"oidc-issuer-url":                          {"https://i --oidc-client-id=c", provider},
	"oidc-required-claim":                      {"a=b,c" + withProvider, provider + ", Authentication.OIDC.RequiredClaims=map[a:b,c]"},
	"oidc-signing-algs":                        {"ES256" + withProvider, provider + ", Authentication.OIDC.SigningAlgs=[ES256]"},
	"oidc-username-claim":                      {"email" + withProvider, provider + ", Authentication.OIDC.UsernameClaim=email"},
	"oidc-username-prefix":                     {"-" + withProvider, provider + ", Authentication.OIDC.UsernamePrefix=-"},
	"requestheader-allowed-names":              {"a,b", "Authentication.FrontProxy.AllowedNames=[a b]"},
	"requestheader-client-ca-file":             {"f", "Authentication.FrontProxy.ClientCAFile=f"},
	"requestheader-extra-headers-prefix":       {"E-", "Authentication.FrontProxy.Headers.ExtraPrefixes=[E-]"},
	"requestheader-group-headers":              {"G", "Authentication.FrontProxy.Headers.Groups=[G]"},
	"requestheader-uid-headers":                {"X-Remote-Uid", "Authentication.FrontProxy.Headers.UIDs=[X-Remote-Uid]"},
	"requestheader-username-headers":           {"U", "Authentication.FrontProxy.Headers.Names=[U]"},
	"service-account-extend-token-expiration":  {"false", "Authentication.ServiceAccounts.NoExtension=true"},
	"service-account-issuer":                   {"https://a", "Authentication.ServiceAccounts.Issuers=[https://a]"},
	"service-account-jwks-uri":                 {"https://a/k", "Authentication.ServiceAccounts.KeysURL=https://a/k"},
	"service-account-key-file":                 {"f", "Authentication.ServiceAccounts.KeyFiles=[f]"},
	"service-account-lookup":                   {"false", "Authentication.ServiceAccounts.NoLookup=true"},
	"service-account-max-token-expiration":     {"2h", "Authentication.ServiceAccounts.Longest=2h0m0s"},
	"token-auth-file":                          {"f", "Authentication.TokenAuthFile=f"},

	"authorization-config": {"FILE", "Authorization.Modes=[], Authorization.Webhook.Version=, Authorization.Webhook.AuthorizedTTL=0s, " +
		"Authorization.Webhook.UnauthorizedTTL=0s, Authorization.ConfigFile=FILE"},
	"authorization-mode":                           {"Node,RBAC", "Authorization.Modes=[Node RBAC]"},
	"authorization-policy-file":                    {"f --authorization-mode=ABAC", "Authorization.Modes=[ABAC], Authorization.PolicyFile=f"},
	"authorization-webhook-cache-authorized-ttl":   {"0", "Authorization.Webhook.AuthorizedTTL=-1ns"},
	"authorization-webhook-cache-unauthorized-ttl": {"1s", "Authorization.Webhook.UnauthorizedTTL=1s"},
	"authorization-webhook-config-file":            {"f --authorization-mode=Webhook", "Authorization.Modes=[Webhook], Authorization.Webhook.ConfigFile=f"},
	"authorization-webhook-version":                {"v1", "Authorization.Webhook.Version=v1"},

	"audit-policy-file":                     {"f", "Serving.Audit.PolicyFile=f"},
	"audit-log-path":                        {"-", "Serving.Audit.Log.Path=-"},
	"audit-log-maxage":                      {"7", "Serving.Audit.Log.MaxAge=7"},
	"audit-log-maxbackup":                   {"8", "Serving.Audit.Log.MaxBackups=8"},
	"audit-log-maxsize":                     {"9", "Serving.Audit.Log.MaxSize=9"},
	"audit-log-compress":                    {"true", "Serving.Audit.Log.Compress=true"},
	"audit-log-format":                      {"legacy", "Serving.Audit.Log.Format=legacy"},
	"audit-webhook-config-file":             {"f", "Serving.Audit.Webhook.Kubeconfig=f"},
	"audit-webhook-initial-backoff":         {"1s", "Serving.Audit.Webhook.InitialBackoff=1s"},
	"audit-webhook-batch-initial-backoff":   {"2s", "Serving.Audit.Webhook.InitialBackoff=2s"},
	"audit-log-mode":                        {"blocking-strict", "Serving.Audit.Log.Delivery.Mode=blocking-strict"},
	"audit-log-version":                     {"v", "Serving.Audit.Log.Delivery.Version=v"},
	"audit-log-batch-buffer-size":           {"3", "Serving.Audit.Log.Delivery.Batch.Buffer=3"},
	"audit-log-batch-max-size":              {"4", "Serving.Audit.Log.Delivery.Batch.Size=4"},
	"audit-log-batch-max-wait":              {"5s", "Serving.Audit.Log.Delivery.Batch.Wait=5s"},
	"audit-log-batch-throttle-enable":       {"true", "Serving.Audit.Log.Delivery.Batch.Throttle=true"},
	"audit-log-batch-throttle-qps":          {"1.5", "Serving.Audit.Log.Delivery.Batch.QPS=1.5"},
	"audit-log-batch-throttle-burst":        {"2", "Serving.Audit.Log.Delivery.Batch.Burst=2"},
	"audit-log-truncate-enabled":            {"true", "Serving.Audit.Log.Delivery.Truncate.Enabled=true"},
	"audit-log-truncate-max-batch-size":     {"6", "Serving.Audit.Log.Delivery.Truncate.BatchBytes=6"},
	"audit-log-truncate-max-event-size":     {"5", "Serving.Audit.Log.Delivery.Truncate.EventBytes=5"},
	"audit-webhook-mode":                    {"blocking-strict", "Serving.Audit.Webhook.Delivery.Mode=blocking-strict"},
	"audit-webhook-version":                 {"v", "Serving.Audit.Webhook.Delivery.Version=v"},
	"audit-webhook-batch-buffer-size":       {"3", "Serving.Audit.Webhook.Delivery.Batch.Buffer=3"},
	"audit-webhook-batch-max-size":          {"4", "Serving.Audit.Webhook.Delivery.Batch.Size=4"},
	"audit-webhook-batch-max-wait":          {"5s", "Serving.Audit.Webhook.Delivery.Batch.Wait=5s"},
	"audit-webhook-batch-throttle-enable":   {"false", "Serving.Audit.Webhook.Delivery.Batch.Throttle=false"},
	"audit-webhook-batch-throttle-qps":      {"1.5", "Serving.Audit.Webhook.Delivery.Batch.QPS=1.5"},
	"audit-webhook-batch-throttle-burst":    {"2", "Serving.Audit.Webhook.Delivery.Batch.Burst=2"},
	"audit-webhook-truncate-enabled":        {"true", "Serving.Audit.Webhook.Delivery.Truncate.Enabled=true"},
	"audit-webhook-truncate-max-batch-size": {"6", "Serving.Audit.Webhook.Delivery.Truncate.BatchBytes=6"},
	"audit-webhook-truncate-max-event-size": {"5", "Serving.Audit.Webhook.Delivery.Truncate.EventBytes=5"},

	"runtime-config": {"api/v1=false,batch/v1", "API.Runtime=map[/v1:false batch/v1:]"},

	"admission-control": {"Priority,NodeRestriction", "Admission.Enable=[Priority NodeRestriction], " +
		"Admission.Disable=[NamespaceLifecycle LimitRanger ServiceAccount TaintNodesByCondition PodSecurity " +
		"DefaultTolerationSeconds DefaultStorageClass " +
		"StorageObjectInUseProtection PodGroupProtection PersistentVolumeClaimResize RuntimeClass CertificateApproval CertificateSigning " +
		"ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass PodTopologyLabels PodGroupWorkloadExists NodeDeclaredFeatureValidator " +
		"JobValidation PodResizeValidator MutatingAdmissionPolicy MutatingAdmissionWebhook ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota]"},
	"admission-control-config-file":          {"f", "Admission.ConfigFile=f"},
	"default-not-ready-toleration-seconds":   {"0", "Admission.NotReadySeconds=0"},
	"default-unreachable-toleration-seconds": {"7", "Admission.UnreachableSeconds=7"},
	"disable-admission-plugins":              {"ServiceAccount,Priority", "Admission.Disable=[ServiceAccount Priority]"},
	"enable-admission-plugins":               {"NodeRestriction", "Admission.Enable=[NodeRestriction]"},

	"allow-metric-labels":             {"a,b=c,d --allow-metric-labels=a,e=f", "Serving.Debug.Metrics.LabelValues=map[a:map[b:[c d] e:[f]]]"},
	"allow-metric-labels-manifest":    {"LABELS", "Serving.Debug.Metrics.LabelValues=map[a:map[b:[c d]]]"},
	"disabled-metrics":                {"a,b", "Serving.Debug.Metrics.Disabled=[a b]"},
	"show-hidden-metrics-for-version": {"1.35", "Serving.Debug.Metrics.Hidden=true"},

	"tracing-config-file": {"f", "Serving.Debug.TracingFile=f"},

	"allow-privileged":                 {"true", "API.AllowPrivileged=true"},
	"enable-logs-handler":              {"true", "Serving.Debug.LogDir=/var/log"},
	"endpoint-reconciler-type":         {"none", "API.Services.NoKubernetesEndpoints=true"},
	"event-ttl":                        {"1m", "API.EventTTL=1m0s"},
	"kubernetes-service-node-port":     {"30001", "API.Services.KubernetesNodePort=30001"},
	"service-account-signing-endpoint": {"@a", "Authentication.ServiceAccounts.SigningEndpoint=@a"},
	"service-account-signing-key-file": {"FILE", "Authentication.ServiceAccounts.SigningKeyFile=FILE"},
	"service-cluster-ip-range":         {"10.1.0.0/16,fd00::/112", "API.Services.ClusterIPRanges=[10.1.0.0/16 fd00::/112]"},
	"service-node-port-range":          {"1000+5", "API.Services.NodePortRange=1000-1005"},

	"cluster-signing-cert-file":                       {"f --cluster-signing-key-file=k", "Serving.TLS.Signing.All.CertFile=f, Serving.TLS.Signing.All.KeyFile=k"},
	"cluster-signing-key-file":                        {"k --cluster-signing-cert-file=f", "Serving.TLS.Signing.All.CertFile=f, Serving.TLS.Signing.All.KeyFile=k"},
	"cluster-signing-duration":                        {"1h", "Serving.TLS.Signing.Longest=1h0m0s"},
	"cluster-signing-kubelet-serving-cert-file":       {"f", "Serving.TLS.Signing.KubeletServing.CertFile=f"},
	"cluster-signing-kubelet-serving-key-file":        {"f", "Serving.TLS.Signing.KubeletServing.KeyFile=f"},
	"cluster-signing-kubelet-client-cert-file":        {"f", "Serving.TLS.Signing.KubeletClient.CertFile=f"},
	"cluster-signing-kubelet-client-key-file":         {"f", "Serving.TLS.Signing.KubeletClient.KeyFile=f"},
	"cluster-signing-kube-apiserver-client-cert-file": {"f", "Serving.TLS.Signing.APIServerClient.CertFile=f"},
	"cluster-signing-kube-apiserver-client-key-file":  {"f", "Serving.TLS.Signing.APIServerClient.KeyFile=f"},
	"cluster-signing-legacy-unknown-cert-file":        {"f", "Serving.TLS.Signing.LegacyUnknown.CertFile=f"},
	"cluster-signing-legacy-unknown-key-file":         {"f", "Serving.TLS.Signing.LegacyUnknown.KeyFile=f"},

	"basic-auth-file":      {"f", "Authentication.BasicAuthFile=f"},
	"controllers":          {"*,-namespace", "Controllers=[* -namespace]"},
	"data-dir":             {"d", "DataDir=d"},
	"http-port":            {"8080", "Serving.HTTPPort=8080"},
	"manifests":            {"d", "API.Manifests=d"},
	"max-watches-inflight": {"5", "Limits.MaxWatches=5"},
	"profile":              {"crd-only", "API.Profile=crd-only"},
	"storage":              {"memory", "Storage.Engine=memory"},
	"tls-san":              {"a,b", "Serving.TLS.SANs=[a b]"},
}

// checked are honoured flags that have one valid value only, so that no value changes the Config.
// Each has a wrong value and the mistake that it gets.
var checked = map[string]struct{ value, err string }{
	"emulated-version":                            {"1.37", "[emulation version 1.37 is not between [1.33, 1.36.0]]"},
	"emulation-forward-compatible":                {"true", "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version is the same as the binary version"},
	"runtime-config-emulation-forward-compatible": {"true", "ServerRunOptions.RuntimeConfigEmulationForwardCompatible cannot be set to true if the emulation version is the same as the binary version"},
	"storage-backend":                             {"etcd2", "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"},
	"logging-format":                              {"xml", `format: Invalid value: "xml": Unsupported log format`},
	"log-flush-frequency":                         {"0s", `flushFrequency: Invalid value: "0s": Must be greater than zero`},
	"log-json-info-buffer-size":                   {"1", "options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled"},
	"log-json-split-stream":                       {"true", "options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled"},
	"log-text-info-buffer-size":                   {"1", "options.text.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled"},
	"log-text-split-stream":                       {"true", "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled"},
	"log-level":                                   {"loud", `--log-level: unrecognized level: "loud": give debug, info, warn or error`},
	"v":                                           {"-1", `invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax`},
}

// TestEffects gives each honoured flag another value than its default, and compares the fields of
// the Config that change with effects. A flag that has no entry fails.
func TestEffects(t *testing.T) {
	file, labels := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "labels")
	for path, text := range map[string]string{file: "", labels: "a,b: c,d\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := pkitest.SelfSigned(t)
	pair := pkitest.Write(t, filepath.Join(t.TempDir(), "pair"), append(one.CertPEM, one.KeyPEM...))
	files := strings.NewReplacer("FILE", file, "LABELS", labels, "PAIR", pair)
	names := 0
	for _, s := range Serve().sections {
		s.VisitAll(func(f *pflag.Flag) {
			if annotation(f, ignored) != "" || annotation(f, refused) != "" {
				return
			}
			names++
			if tt, is := checked[f.Name]; is {
				if _, err := outcome([]string{"--" + f.Name + "=" + tt.value}); strings.Trim(text(err), "[]") != strings.Trim(tt.err, "[]") {
					t.Errorf("--%s=%s: got error %v, want %s", f.Name, tt.value, err, tt.err)
				}
				return
			}
			tt := effects[f.Name]
			args := strings.Fields("--" + f.Name + "=" + files.Replace(tt.value))
			got := changes("", reflect.ValueOf(parse(t, Serve(), "--log-level=error")), reflect.ValueOf(parse(t, Serve(), append(args, "--log-level=error")...)))
			if want := files.Replace(tt.effect); strings.Join(got, ", ") != want || want == "" {
				t.Errorf("%q: got %q, want %q", args, got, want)
			}
		})
	}
	if want := len(effects) + len(checked); names != want {
		t.Errorf("%d flags are honoured, %d are tried", names, want)
	}
}

// TestRemoteUIDs checks that without the gate RemoteRequestHeaderUID the servers behind this one do
// not get the uids of users.
func TestRemoteUIDs(t *testing.T) {
	for args, want := range map[string]bool{"": false, "--feature-gates=RemoteRequestHeaderUID=false": true, "--feature-gates=WatchList=false": false} {
		if got := parse(t, Serve(), strings.Fields(args+" --log-level=error")...).API.Aggregation.NoUIDs; got != want {
			t.Errorf("%q: NoUIDs is %t", args, got)
		}
	}
}

// TestPluginGate checks that a plugin that a gate turns off stays off, whatever the flags about
// plugins say.
func TestPluginGate(t *testing.T) {
	c := parse(t, Serve(), "--feature-gates=PodTopologyLabelsAdmission=false", "--disable-admission-plugins=Priority", "--log-level=error")
	if got := strings.Join(c.Admission.Disable, " "); got != "PodTopologyLabels Priority" {
		t.Errorf("got %s", got)
	}
}

// TestManifestGate checks that the gate ManifestBasedAdmissionControlConfig allows webhooks and
// policies in files.
func TestManifestGate(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--feature-gates=ManifestBasedAdmissionControlConfig=true": true, "--feature-gates=WatchList=false": false,
		"--feature-gates=AllAlpha=true,AllBeta=true": true,
	} {
		if got := parse(t, Serve(), strings.Fields(args+" --log-level=error")...).Admission.Manifests; got != want {
			t.Errorf("%q: Manifests is %t", args, got)
		}
	}
}

// TestPages checks that gates turn on the pages about the server and its flags.
func TestPages(t *testing.T) {
	for args, want := range map[string]struct{ status, flags bool }{
		"": {true, true}, "--feature-gates=ComponentFlagz=false": {true, false}, "--feature-gates=ComponentStatusz=false": {false, true},
		"--feature-gates=AllBeta=false": {false, false},
	} {
		debug := parse(t, Serve(), strings.Fields(args+" --log-level=error")...).Serving.Debug
		if debug.NoStatus == want.status || (debug.Flags != nil) != want.flags {
			t.Errorf("%q: got %+v, want %+v", args, debug, want)
		}
	}
	flags := parse(t, Serve(), "--etcd-prefix=/a", "--runtime-config=api/beta=true", "--log-level=error").Serving.Debug.Flags()
	for name, want := range map[string]string{"etcd-prefix": "/a", "runtime-config": "api/beta=true", "secure-port": "6443", "v": "0"} {
		if flags[name] != want {
			t.Errorf("--%s is shown as %q, want %q", name, flags[name], want)
		}
	}
}

// TestFeatureMetric: the metric of feature gates shows all of them. A gate that decides nothing
// shows what the server has.
func TestFeatureMetric(t *testing.T) {
	for args, want := range map[string][]inspect.Feature{
		"": {
			{Name: "WatchList", Stage: "BETA", Enabled: true}, {Name: "APIServerTracing", Enabled: true},
			{Name: "CBORServingAndStorage", Stage: "ALPHA", Enabled: false},
		},
		"--feature-gates=WatchList=false,CBORServingAndStorage=true": {
			{Name: "WatchList", Stage: "BETA", Enabled: false}, {Name: "CBORServingAndStorage", Stage: "ALPHA", Enabled: false},
		},
	} {
		list := parse(t, Serve(), strings.Fields(args+" --log-level=error")...).Serving.Debug.Features()
		if len(list) != len(allGates()) {
			t.Errorf("%q: got %d features, want %d", args, len(list), len(allGates()))
		}
		for _, f := range want {
			if !slices.Contains(list, f) {
				t.Errorf("%q: got no %+v", args, f)
			}
		}
	}
}

// changes returns the fields that differ, each as path=value. It does not look into logs and
// functions.
func changes(path string, was, is reflect.Value) (list []string) {
	for i := range was.NumField() {
		name := strings.TrimPrefix(path+"."+was.Type().Field(i).Name, ".")
		a, b := was.Field(i), is.Field(i)
		switch {
		case name == "Log", a.Kind() == reflect.Func && a.IsNil() == b.IsNil():
		case a.Kind() == reflect.Struct:
			list = append(list, changes(name, a, b)...)
		case !reflect.DeepEqual(a.Interface(), b.Interface()):
			list = append(list, fmt.Sprintf("%s=%v", name, reflect.Indirect(b).Interface()))
		}
	}
	return list
}

// TestLogLevel checks --log-level and -v together.
func TestLogLevel(t *testing.T) {
	for args, want := range map[string]zapcore.Level{
		"":                  zapcore.InfoLevel,
		"--log-level=warn":  zapcore.WarnLevel,
		"-v=2":              zapcore.InfoLevel,
		"-v=3":              zapcore.DebugLevel,
		"--v=10":            zapcore.DebugLevel,
		"--log-level=debug": zapcore.DebugLevel,
		"--logging-format=json --log-level=error": zapcore.ErrorLevel,
	} {
		if got := parse(t, Serve(), strings.Fields(args)...).Log.Level(); got != want {
			t.Errorf("%s: got %v, want %v", args, got, want)
		}
	}
}

// TestLogStreams checks that errors and other lines go to different streams if the flags say so,
// and that the other lines can wait in a buffer.
func TestLogStreams(t *testing.T) {
	const alpha = "--feature-gates=LoggingAlphaOptions=true --logging-format="
	for _, tt := range []struct {
		args                string
		stdout, later, both int // lines
	}{
		{"", 0, 0, 2},
		{alpha + "text --log-text-split-stream", 1, 1, 2},
		{alpha + "json --log-json-split-stream", 1, 1, 2},
		{alpha + "json --log-text-split-stream", 0, 0, 2},
		{alpha + "text --log-text-split-stream --log-text-info-buffer-size=4Ki", 0, 1, 2},
		{alpha + "json --log-json-split-stream --log-json-info-buffer-size=4Ki", 0, 1, 2},
	} {
		t.Run(tt.args, func(t *testing.T) {
			lines := captured(t)
			log := parse(t, Serve(), strings.Fields(tt.args)...).Log
			log.Debug("a detail")
			log.Info("something")
			log.Error("wrong")
			if out, _ := lines(); out != tt.stdout {
				t.Errorf("got %d lines at standard output, want %d", out, tt.stdout)
			}
			if err := log.Sync(); err != nil {
				t.Error(err)
			}
			if out, errors := lines(); out != tt.later || out+errors != tt.both {
				t.Errorf("then got %d and %d lines, want %d of %d", out, errors, tt.later, tt.both)
			}
		})
	}
}

// captured replaces the standard streams by files until the test ends. lines returns how many lines
// each file has.
func captured(t *testing.T) (lines func() (out, errors int)) {
	t.Helper()
	dir := t.TempDir()
	stdout, stderr := os.Stdout, os.Stderr
	files := map[string]**os.File{"out": &os.Stdout, "err": &os.Stderr}
	for name, stream := range files {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*stream = file
		t.Cleanup(func() { file.Close() })
	}
	t.Cleanup(func() { os.Stdout, os.Stderr = stdout, stderr })
	count := func(name string) int {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	return func() (int, int) { return count("out"), count("err") }
}

// TestUnderscores checks that underscores in names of flags are read as dashes.
func TestUnderscores(t *testing.T) {
	if c := parse(t, Serve(), "--etcd_prefix=/a", "--max_requests-inflight=3"); c.Storage.Prefix != "/a" || c.Limits.MaxReads != 3 {
		t.Errorf("got %+v", c)
	}
}

// TestRequired checks the error about the flags without which kube-apiserver does not start.
// `coracle serve` starts without them.
func TestRequired(t *testing.T) {
	want := "[--etcd-servers must be specified, service-account-issuer is a required flag, either `--service-account-key-file` or `--service-account-signing-endpoint` must be set, " +
		"--service-account-signing-key-file and --service-account-issuer are required flags]"
	o := KubeAPIServer()
	o.Bind(pflag.NewFlagSet("test", pflag.ContinueOnError))
	if _, err := o.Finish(); text(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestAnonymous checks that the authorizer AlwaysAllow turns anonymous requests off, unless an
// AuthenticationConfiguration file decides about them. `coracle serve` leaves them on.
func TestAnonymous(t *testing.T) {
	dir := t.TempDir()
	says, silent := filepath.Join(dir, "says"), filepath.Join(dir, "silent")
	for file, text := range map[string]string{says: "anonymous:\n  enabled: true\n", silent: "kind: AuthenticationConfiguration\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	needed := []string{"--etcd-servers=http://a:1", "--service-account-issuer=https://i", "--service-account-key-file=" + silent,
		"--service-account-signing-key-file=" + silent, "--log-level=error"}
	for args, want := range map[string]string{
		"--authorization-mode=RBAC":                       "nothing",
		"--authorization-mode=RBAC --anonymous-auth=true": "true",
		"--authorization-mode=AlwaysDeny":                 "nothing",
		"":                                                "false",
		"--authorization-mode=AlwaysAllow":                "false",
		"--authorization-mode=RBAC,AlwaysAllow --anonymous-auth=true":                 "false",
		"--authorization-mode=AlwaysAllow --authentication-config=" + says:            "nothing",
		"--authorization-mode=AlwaysAllow --authentication-config=" + silent:          "false",
		"--authorization-mode= --authentication-config=" + says + " --anonymous-auth": "false",
	} {
		o := KubeAPIServer()
		if got := anonymous(parse(t, o, append(strings.Fields(args), needed...)...)); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
		warned := slices.ContainsFunc(o.warnings, func(w warning) bool {
			return w.message == "AnonymousAuth is not allowed with the AlwaysAllow authorizer. "+
				"Resetting AnonymousAuth to false. You should use a different authorizer"
		})
		if warned != (want == "false") {
			t.Errorf("%s: got lines %v", args, o.warnings)
		}
	}
	if got := anonymous(parse(t, Serve(), "--authorization-mode=AlwaysAllow")); got != "nothing" {
		t.Errorf("serve: got %s, want nothing", got)
	}
}

// anonymous returns Config.Authentication.Anonymous as text.
func anonymous(c server.Config) string {
	if a := c.Authentication.Anonymous; a != nil {
		return fmt.Sprint(*a)
	}
	return "nothing"
}
