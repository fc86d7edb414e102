package differential

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app" // registers the feature gates of logging
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/coracle-project/coracle/cmd/flags"
)

// flagValues are values for flags of kube-apiserver, right, wrong and empty ones. FILE stands for a
// file that exists, NONE for one that does not. Flags that are in no group of the help are tried as
// well.
var flagValues = map[string][]string{
	"advertise-address":    {"10.1.2.3", "::1", "here", " 10.0.0.1", "2001:db8::1", ""},
	"cors-allowed-origins": {"^https://a$", "//a:", "*", "a", "^https://a$,(", "", ","},
	"emulated-version": {
		"1.36", "kube=1.36", "1.36.0", "1.36.1", "1.37", "1.30", "2.0", "x", "1", "01.36", "wardle=1.2", "kube=1.36,1.36", "v1.36", "",
		"kube=",
	},
	"min-compatibility-version":                   {"1.35", "kube=1.35", "1.33", "1.34", "1.36", "1.32", "1.37", "1.31", "1.x", "1.35.2", "kube=1.35,kube=1.35", "other=1.35", ""},
	"emulation-forward-compatible":                {"true", "false", "x", ""},
	"runtime-config-emulation-forward-compatible": {"true", "false"},
	"external-hostname":                           {"a.example", ""},
	"feature-gates": {
		"", "WatchList=false", "kube:WatchList=true", "NoSuchGate=true", "WatchList", "WatchList=x", "WatchList=", "=true",
		"AllAlpha=true,GenericWorkload=false", "AllAlpha=false", "AllBeta=false", "AllAlpha=true", "AllBeta=true", "BtreeWatchCache=false",
		"BtreeWatchCache=true", "SidecarContainers=false,ImageVolume=false", "wardle:A=true", "kube:WatchList=true,WatchList=true",
		" APIResponseCompression = false ", "RemoteRequestHeaderUID=false", "LoggingBetaOptions=false", "LoggingAlphaOptions=true",
		"UnknownVersionInteroperabilityProxy=false", "GangScheduling=true", "GangScheduling=true,GenericWorkload=true",
		"APIServerIdentity=false", "DRADeviceTaints=false,DRADeviceTaintRules=true", "KMSv1=true", "WatchList=true,WatchList=false",
		"a:b:c", ":WatchList=true", "PodLevelResources=false", "ContextualLogging=T",
	},
	"max-mutating-requests-inflight":          {"0", "5", "-1", "x", ""},
	"max-requests-inflight":                   {"0", "7", "-2", "1.5", "0x10"},
	"min-request-timeout":                     {"0", "60", "-1", "1h"},
	"request-timeout":                         {"30s", "-1s", "0", "x", "30", ""},
	"shutdown-delay-duration":                 {"1s", "-1s"},
	"shutdown-send-retry-after":               {"true", "x"},
	"shutdown-watch-termination-grace-period": {"1s", "-1s"},
	"goaway-chance":                           {"0.02", "0.03", "-0.1", "x", ""},
	"livez-grace-period":                      {"1s", "-1s"},
	"strict-transport-security-directives":    {"max-age=1,preload", "", "max-age=1=2", "includeSubDomains", "x,y", ",", "max-age"},

	"bind-address":                     {"127.0.0.1", "x", ""},
	"secure-port":                      {"0", "1", "65536", "-1", "x"},
	"disable-http2-serving":            {"true"},
	"http2-max-streams-per-connection": {"5", "-1", "x"},
	"permit-address-sharing":           {"true"},
	"tls-curve-preferences":            {"23", "x", ""},
	"tls-sni-cert-key":                 {"a,b", "a", "a,b:", "a,b:c,d", "a,b,c", ""},
	"contention-profiling":             {"true", "x"},
	"debug-socket-path":                {"s", ""},

	"delete-collection-workers":                   {"0", "5", "-1", "x"},
	"encryption-provider-config":                  {"NONE", ""},
	"encryption-provider-config-automatic-reload": {"true", "false"},
	"etcd-count-metric-poll-period":               {"0", "1s", "x"},
	"etcd-db-metric-poll-interval":                {"0", "x"},
	"etcd-healthcheck-timeout":                    {"1s", "0", "-1s"},
	"etcd-readycheck-timeout":                     {"1s", "x"},
	"etcd-servers-overrides": {
		"/events#http://a:1;http://b:2", "", "events#http://a:1", "/events", "/events#", "/events#http://a:1;", "a/b/c#http://a:1",
		"apps/deployments#http://a:1,/pods#http://b:1",
	},
	"storage-initialization-timeout":   {"1s", "-1s", "0"},
	"service-account-signing-endpoint": {""},
	"enable-garbage-collector":         {"true", "false", "maybe"},
	"etcd-cafile":                      {"NONE", ""},
	"etcd-compaction-interval":         {"0", "1m", "x"},
	"etcd-prefix":                      {"/other", ""},
	"etcd-servers":                     {"http://a:1", "http://a:1,http://b:2", ""},
	"lease-reuse-duration-seconds":     {"60", "0", "-1", "x"},
	"storage-backend":                  {"etcd3", "", "etcd2"},
	"storage-media-type":               {"application/json", "application/vnd.kubernetes.protobuf", "application/yaml", "", "text/plain"},
	"watch-cache":                      {"true", "false"},
	"watch-cache-sizes":                {"pods#0", "pods#5,deployments.apps#7", "pods", "pods#x", "pods#-1", "a#b#c", ""},
	"default-watch-cache-size":         {"5", "x"},

	"audit-log-path":                    {"-", "", "NONE"},
	"audit-log-maxage":                  {"-1", "5"},
	"audit-log-maxbackup":               {"-1", "0"},
	"audit-log-maxsize":                 {"-1", "x"},
	"audit-log-mode":                    {"batch", "blocking", "blocking-strict", "other", ""},
	"audit-log-format":                  {"json", "legacy", "xml"},
	"audit-log-version":                 {"audit.k8s.io/v1", "audit.k8s.io/v1beta1", "a/b/c", ""},
	"audit-log-batch-buffer-size":       {"0", "5"},
	"audit-log-batch-max-size":          {"0", "-5"},
	"audit-log-batch-throttle-enable":   {"true"},
	"audit-log-batch-throttle-qps":      {"0", "-1.5", "3", "x"},
	"audit-log-batch-throttle-burst":    {"0", "3"},
	"audit-log-truncate-max-batch-size": {"0", "5", "x"},
	"audit-log-truncate-max-event-size": {"0", "5"},
	"audit-log-compress":                {"true", "2"},
	"audit-webhook-config-file":         {"NONE", ""},
	"audit-webhook-mode":                {"batch", "other"},
	"audit-webhook-batch-throttle-qps":  {"0"},
	"audit-webhook-batch-max-wait":      {"x", "1s"},
	"audit-webhook-version":             {"v1"},
	"audit-webhook-initial-backoff":     {"1s", "x"},
	"audit-policy-file":                 {"NONE", ""},

	"profiling":                    {"true", "false", "x"},
	"enable-priority-and-fairness": {"true", "false"},

	"anonymous-auth":                          {"true", "false", "x"},
	"api-audiences":                           {"a", "a,b", ""},
	"authentication-config":                   {"NONE", ""},
	"authentication-token-webhook-cache-ttl":  {"0", "1m", "x"},
	"authentication-token-webhook-version":    {"v1", "v9"},
	"client-ca-file":                          {"NONE", ""},
	"enable-bootstrap-token-auth":             {"true", "x"},
	"oidc-issuer-url":                         {"https://a", "http://a", ""},
	"oidc-client-id":                          {"a", ""},
	"oidc-username-claim":                     {"sub", "email", ""},
	"oidc-groups-claim":                       {"g"},
	"oidc-required-claim":                     {"a=b", "a", "", "a=b=c,d"},
	"oidc-signing-algs":                       {"RS256", "none", ""},
	"requestheader-allowed-names":             {"a", "", "a, ", " "},
	"requestheader-client-ca-file":            {"NONE", ""},
	"requestheader-extra-headers-prefix":      {"X-Remote-Extra-", " "},
	"requestheader-group-headers":             {"X-Remote-Group", ",", "a,a"},
	"requestheader-uid-headers":               {"X-Remote-Uid", "x-remote-uid", "X-Uid", " ,X-Remote-Uid", ""},
	"requestheader-username-headers":          {"X-Remote-User", " ", "a"},
	"service-account-extend-token-expiration": {"true", "false"},
	"service-account-issuer":                  {"https://a", "", "a:b", "a", ":", "https://a:b", "https://b"},
	"service-account-jwks-uri":                {"https://a/keys", "http://a", "a", ":", ""},
	"service-account-key-file":                {"FILE", ""},
	"service-account-lookup":                  {"true", "false", "x"},
	"service-account-max-token-expiration":    {"1h", "59m", "0", "-1h", "2000000h", "x"},
	"service-account-signing-key-file":        {"FILE", "NONE", ""},
	"token-auth-file":                         {"NONE"},

	"authorization-config": {"NONE", ""},
	"authorization-mode": {
		"RBAC", "Node,RBAC", "AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "rbac", "RBAC,RBAC", "", "Webhook,Webhook,Maybe",
	},
	"authorization-policy-file":                    {"NONE", ""},
	"authorization-webhook-config-file":            {"NONE", ""},
	"authorization-webhook-version":                {"v1", ""},
	"authorization-webhook-cache-authorized-ttl":   {"0", "1s", "x"},
	"authorization-webhook-cache-unauthorized-ttl": {"0"},

	"runtime-config": {
		"", "api/all=false", "api/all=true", "api/all", "api/ga=false", "apps/v1=false", "apps/v1/deployments=false", "v1=true",
		"/v1=true", "api/v1=true", "v1/pods=false", "flowcontrol.apiserver.k8s.io/v1=false",
		"flowcontrol.apiserver.k8s.io/v1=true,api/all=false", "no.io/v1=true", "a=b", "a/b/c/d", "no.io/v1,other.io/v2", "api/legacy",
		"api/legacy=false", "api/beta=true", "batch/v1", "apps/v9=true", "api/all=false,batch/v1=true", "x", "/", "=true",
	},

	"egress-selector-config-file": {"NONE", ""},

	"admission-control":             {"NodeRestriction", "", "Nope", "AlwaysAdmit,Priority", "Nope,Nope"},
	"admission-control-config-file": {"NONE", ""},
	"enable-admission-plugins": {
		"NodeRestriction", "", "Nope", "NodeRestriction,Priority", "ImagePolicyWebhook", "PodSecurity", "AlwaysAdmit",
		"NodeRestriction,NodeRestriction", "noderestriction", "PodSecurityPolicy", "Priority,SecurityContextDeny",
	},
	"disable-admission-plugins":              {"ServiceAccount", "", "Nope", "NodeRestriction,Priority", "Priority", "PodSecurity,ResourceQuota", "a,b"},
	"default-not-ready-toleration-seconds":   {"0", "60", "-1", "x"},
	"default-unreachable-toleration-seconds": {"0", "1.5"},

	"allow-metric-labels":          {"a,b='c,d'", "a,b=c", "a=b", "9,b=c", "", "a"},
	"allow-metric-labels-manifest": {"NONE", "LABELS", "BADLABELS", "FILE", ""},
	"disabled-metrics":             {"a_b", "a b", "", "a,9", "a:b"},

	"log-flush-frequency":       {"1s", "0", "-1s", "x"},
	"log-json-info-buffer-size": {"0", "4Ki", "x", "-1", ""},
	"log-json-split-stream":     {"true", "false"},
	"log-text-info-buffer-size": {"0", "1k"},
	"log-text-split-stream":     {"true", "x"},
	"logging-format":            {"text", "json", "xml", ""},
	"v":                         {"0", "4", "10", "-1", "x", "", "99999999999"},
	"vmodule":                   {"a=1", "a", "a=x", "a=1,b=2", "", "=1", "a=-1"},

	"tracing-config-file": {"NONE", ""},

	"aggregator-reject-forwarding-redirect": {"false", "x"},
	"allow-privileged":                      {"true", "x"},
	"apiserver-count":                       {"0", "3", "-1", "x"},
	"coordinated-leadership-lease-duration": {"1s", "20s", "x"},
	"coordinated-leadership-renew-deadline": {"1s", "15s", "20s"},
	"coordinated-leadership-retry-period":   {"1s", "10s", "-1s"},
	"enable-aggregator-routing":             {"true"},
	"enable-logs-handler":                   {"true"},
	"endpoint-reconciler-type":              {"lease", "master-count", "none"},
	"event-ttl":                             {"1m", "x"},
	"kubelet-certificate-authority":         {"NONE"},
	"kubelet-client-certificate":            {"NONE"},
	"kubelet-preferred-address-types":       {"InternalIP", "Nope", ""},
	"kubelet-port":                          {"10250", "-1", "x"},
	"kubelet-timeout":                       {"1s", "x"},
	"kubernetes-service-node-port":          {"0", "30000", "80", "-1", "70000", "x"},
	"max-connection-bytes-per-sec":          {"0", "5", "-5", "x"},
	"peer-advertise-ip":                     {"10.0.0.1", "x", ""},
	"peer-advertise-port":                   {"1", "x"},
	"peer-ca-file":                          {"NONE", ""},
	"proxy-client-cert-file":                {"", "NONE"},
	"service-cluster-ip-range": {
		"10.0.0.0/24", "", "x", "10.0.0.0/30", "10.0.0.0/29", "10.0.0.0/24,fd00::/112", "10.0.0.0/24,10.1.0.0/24", "fd00::/112",
		"10.0.0.0/24,x", "10.0.0.0/24,fd00::/112,10.2.0.0/24", "010.0.0.0/24", "fd00::/126", "10.0.0.0/24,", "10.0.0.5/24",
	},
	"service-node-port-range": {"30000-32767", "", "1000", "1000+5", "x", "5-4", "5-x", "70000-80000", "1-2+3", "x+1", " 100-200 ", "-5"},
	"no-such-flag":            {"x"},
}

// related are prefixes of flags that are checked together.
var related = [][]string{
	{"audit-log"}, {"audit-webhook"}, {"oidc", "authentication-config"}, {"requestheader", "feature-gates"}, {"service-account", "api-audiences"},
	{"authorization"}, {"coordinated"}, {"service-cluster", "service-node", "kubernetes-service", "advertise", "endpoint"}, {"log", "v", "feature-gates"},
	{"peer", "feature-gates"}, {"enable-admission", "disable-admission", "admission-control"}, {"allow-metric", "disabled-metrics"},
	{"runtime-config", "enable-priority"}, {"emul", "min-compat", "runtime-config-emul"}, {"watch-cache", "storage", "etcd"},
}

// needed are the arguments without which kube-apiserver does not start.
var needed = []string{"--etcd-servers=http://127.0.0.1:1", "--service-account-issuer=https://i", "--service-account-key-file=FILE",
	"--service-account-signing-key-file=FILE"}

// commandLine makes up the arguments of a kube-apiserver: most of the needed ones, and some more.
func commandLine(rnd *rand.Rand) []string {
	args := []string{"--advertise-address=192.0.2.1"}
	for _, arg := range needed {
		if rnd.IntN(12) > 0 {
			args = append(args, arg)
		}
	}
	names := slices.Sorted(maps.Keys(flagValues))
	if rnd.IntN(2) == 0 { // flags that are checked together
		about := related[rnd.IntN(len(related))]
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(about, func(begin string) bool { return strings.HasPrefix(name, begin) })
		})
	}
	for range 1 + rnd.IntN(4) {
		name := names[rnd.IntN(len(names))]
		value := flagValues[name][rnd.IntN(len(flagValues[name]))]
		if rnd.IntN(8) == 0 {
			name = strings.ReplaceAll(name, "-", "_")
		}
		args = append(args, "--"+name+"="+value)
	}
	return args
}

// TestCommandLines compares the errors of kube-apiserver's own options and of Coracle's about
// made-up command lines.
func TestCommandLines(t *testing.T) {
	files := madeFiles(t)
	wrong, tried := map[string]int{}, 0
	for i := range times(5000) {
		args := commandLine(random("command line", i))
		for j := range args {
			args[j] = files.Replace(args[j])
		}
		theirs, ours := theirMistakes(args), ourMistakes(args)
		if tried++; theirs == ours {
			continue
		}
		reason := meant(theirs, ours)
		if reason == "" && byChance(args, theirs, ours) {
			continue
		}
		if reason == "" {
			t.Errorf("%q\n  kube-apiserver: %s\n  coracle:        %s", args, theirs, ours)
			if wrong[""]++; wrong[""] > 20 {
				break
			}
		}
		wrong[reason]++
	}
	t.Logf("%d command lines; intended differences: %v", tried, wrong)
}

// TestFlags compares every flag that kube-apiserver declares, also hidden ones, with Coracle's:
// default, shorthand, the value of a flag without a value, and the text about a deprecated flag.
func TestFlags(t *testing.T) {
	ours := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	flags.KubeAPIServer().Bind(ours)
	declared := 0
	for _, section := range options.NewServerRunOptions().Flags().FlagSets {
		section.VisitAll(func(their *pflag.Flag) {
			declared++
			our := ours.Lookup(their.Name)
			if our == nil {
				t.Errorf("--%s is missing", their.Name)
				return
			}
			if our.DefValue != their.DefValue || our.Shorthand != their.Shorthand || our.NoOptDefVal != their.NoOptDefVal ||
				our.Hidden != their.Hidden || our.Deprecated != their.Deprecated {
				t.Errorf("got  %+v\nwant %+v", our, their)
			}
		})
	}
	t.Logf("%d flags", declared)
}

// TestNames turns every feature gate and admission plugin of kube-apiserver on and off.
func TestNames(t *testing.T) {
	files := madeFiles(t)
	var asked []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		asked = append(asked, fmt.Sprintf("--feature-gates=%s=true", name), fmt.Sprintf("--feature-gates=%s=false", name))
	}
	for _, name := range options.NewServerRunOptions().Admission.GenericAdmission.Plugins.Registered() {
		asked = append(asked, "--enable-admission-plugins="+name, "--disable-admission-plugins="+name, "--admission-control="+name)
	}
	for _, arg := range asked {
		args := append([]string{"--advertise-address=192.0.2.1", arg}, needed...)
		for i := range args {
			args[i] = files.Replace(args[i])
		}
		theirs, ours := theirMistakes(args), ourMistakes(args)
		if theirs != ours && meant(theirs, ours) == "" && !byChance(args, theirs, ours) {
			t.Errorf("%s\n  kube-apiserver: %s\n  coracle:        %s", arg, theirs, ours)
		}
	}
	t.Logf("%d names", len(asked))
}

// byChance reports whether kube-apiserver gives Coracle's errors at another try, or in another
// order. It visits gates, components and keys of --runtime-config in the random order of maps, and
// often stops at the first error.
func byChance(args []string, theirs, ours string) bool {
	parts := func(s string) []string {
		return slices.Sorted(slices.Values(strings.Split(strings.NewReplacer("[", "", "]", "").Replace(s), ", ")))
	}
	for range 50 {
		if theirs == ours || strings.Contains(theirs, " feature") && slices.Equal(parts(theirs), parts(ours)) {
			return true
		}
		theirs = theirMistakes(args)
	}
	return false
}

// refusals are the arguments that Coracle refuses and kube-apiserver accepts, by the name that a
// refusal gives. Each is intended: docs/flags.md has the reason.
var refusals = map[string]string{
	"--egress-selector-config-file":                  "--egress-selector-config-file=NONE",
	"--emulated-version 1.33":                        "--emulated-version=1.33",
	"--emulated-version 1.34":                        "--emulated-version=1.34 --emulation-forward-compatible",
	"--emulated-version 1.35":                        "--emulated-version=1.35 --runtime-config-emulation-forward-compatible",
	"--feature-gates ConstrainedImpersonation=false": "--feature-gates=ConstrainedImpersonation=false",
}

// refused reports whether all errors of Coracle are refusals of the list.
func refused(ours string) bool {
	for line := range strings.SplitSeq(ours, "\n") {
		what, _, is := strings.Cut(line, " is refused: ")
		if _, listed := refusals[what]; !is || !listed {
			return false
		}
	}
	return true
}

// TestRefusals checks that Coracle refuses each of the refusals, and that kube-apiserver accepts
// it.
func TestRefusals(t *testing.T) {
	files := madeFiles(t)
	for what, asked := range refusals {
		var args []string
		for _, arg := range slices.Concat([]string{"--advertise-address=192.0.2.1"}, strings.Fields(asked), needed) {
			args = append(args, files.Replace(arg))
		}
		if theirs := theirMistakes(args); theirs != "" {
			t.Errorf("%s\n  kube-apiserver: %s", asked, theirs)
		}
		if ours := ourMistakes(args); !strings.HasPrefix(ours, what+" is refused: ") {
			t.Errorf("%s\n  coracle: %s", asked, ours)
		}
	}
}

// removedPlugin finds the text that Coracle adds to kube-apiserver's error about a plugin that
// Kubernetes has removed.
var removedPlugin = regexp.MustCompile(`: Kubernetes 1\.[0-9]+ removed it; use [^"]+ instead`)

// meant returns the reason of an intended difference; "" if the difference is not intended.
func meant(theirs, ours string) string {
	switch {
	case theirs == "" && refused(ours):
		return "refused: it would be dangerous to ignore"
	case strings.Contains(theirs, "emulation version") && strings.Contains(ours, "emulation version"):
		return "gates are those of this release, whichever is to be emulated"
	case theirs != "" && theirs == removedPlugin.ReplaceAllString(ours, ""):
		return "what took the place of an admission plugin that Kubernetes has removed"
	}
	return ""
}

// madeFiles makes the files that command lines name.
func madeFiles(t *testing.T) *strings.Replacer {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for name, text := range map[string]string{
		"BADLABELS": "9,b: c\n", "LABELS": "a,b: c,d\n",
		"FILE": string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
	} {
		path := filepath.Join(dir, strings.ToLower(name))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, "="+name, "="+path)
	}
	return strings.NewReplacer(append(pairs, "=NONE", "="+filepath.Join(dir, "none"))...)
}

// ourMistakes returns Coracle's errors about a command line.
func ourMistakes(args []string) string {
	o := flags.KubeAPIServer()
	f := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.Bind(f)
	err := f.Parse(append([]string{"--log-level=error"}, args...))
	if err == nil {
		_, err = o.Finish()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// theirMistakes returns the errors of the command of kube-apiserver (app.NewAPIServerCommand) about
// a command line.
func theirMistakes(args []string) string {
	registry, known := basecompatibility.NewComponentGlobalsRegistry(), utilfeature.DefaultMutableFeatureGate
	gate := known.DeepCopy()
	utilfeature.DefaultMutableFeatureGate, utilfeature.DefaultFeatureGate = gate, gate
	defer func() { utilfeature.DefaultMutableFeatureGate, utilfeature.DefaultFeatureGate = known, known }()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), gate); err != nil {
		return err.Error()
	}
	s := options.NewServerRunOptions()
	s.GenericServerRunOptions = genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry)
	s.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: "made", KeyFile: "made"} // so that it generates no certificate
	f := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, section := range s.Flags().FlagSets {
		section.SetOutput(io.Discard)
		f.AddFlagSet(section)
	}
	defer func() { // these flags set global variables
		for _, name := range []string{"default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds"} {
			if err := f.Set(name, "300"); err != nil {
				panic(err)
			}
		}
	}()
	err := func() error {
		if err := f.Parse(args); err != nil {
			return err
		}
		if err := registry.Set(); err != nil {
			return err
		}
		if errs := logsapi.Validate(s.Logs, gate, nil); len(errs) > 0 {
			return errs.ToAggregate()
		}
		completed, err := s.Complete(context.Background())
		if err != nil {
			return err
		}
		return utilerrors.NewAggregate(completed.Validate())
	}()
	if err != nil {
		return err.Error()
	}
	return ""
}
