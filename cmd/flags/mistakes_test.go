package flags

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestMistakes checks that several mistakes are worded as kube-apiserver words them: each mistake
// once, and a nested list is part of the outer one.
func TestMistakes(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	for _, tt := range []struct {
		m    mistakes
		want string
	}{
		{mistakes{a}, "a"},
		{mistakes{a, b}, "[a, b]"},
		{mistakes{a, mistakes{b, a}, c}, "[a, b, c]"},
		{mistakes{mistakes{a}, a}, "a"},
	} {
		if got := tt.m.Error(); got != tt.want || !errors.Is(tt.m, a) {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	if err := (mistakes{}).err(); err != nil {
		t.Errorf("none: got %v", err)
	}
}

// TestOrder checks the order in which Finish finds mistakes: those that end it at once, those that
// are reported together, those that are found late, and refusals.
func TestOrder(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	const refusal = "--egress-selector-config-file=f"
	const late = "--tls-min-version=VersionTLS09"
	const fewAddresses = "error determining service IP ranges for primary service cidr: " +
		"the service cluster IP range must be at least 8 IP addresses"
	const wrong = "--apiserver-count=0 --request-timeout=-1s --request-timeout=-2s"
	for _, tt := range []struct{ args, want string }{
		{refusal, "--egress-selector-config-file is refused: this server connects without a proxy, so its connections would bypass the proxies of the file"},
		{refusal + " " + late, `unknown tls version "VersionTLS09"`},
		{refusal + " " + late + " " + wrong, "[--request-timeout can not be negative value, --apiserver-count should be a positive number, but value '0' provided]"},
		{wrong + " --watch-cache-sizes=x", "invalid value of watch cache size: x"},
		{wrong + " --watch-cache-sizes=x --service-cluster-ip-range=x", "service-cluster-ip-range[0] is not a valid cidr"},
		{wrong + " --service-cluster-ip-range=x --logging-format=x", `format: Invalid value: "x": Unsupported log format`},
		{wrong + " --logging-format=x --feature-gates=X=true", "unrecognized feature gate: X"},
		{"--feature-gates=X=true --emulated-version=x", `could not parse "x" as version`},
		{"--emulated-version=x --event-ttl=x", `invalid argument "x" for "--event-ttl" flag: time: invalid duration "x"`},
		{"--service-account-signing-key-file=" + none + " --service-account-signing-endpoint=@a " + wrong,
			"service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time"},
		{"--endpoint-reconciler-type=x", "unknown endpoint reconciler type: x"},
		{"--proxy-client-key-file=" + none + " --proxy-client-cert-file=" + none, "open " + none + ": no such file or directory"},
		{"--proxy-client-cert-file=" + none, ""},
		{"--enable-admission-plugins=Nope --disable-admission-plugins=PodSecurityPolicy",
			`[enable-admission-plugins plugin "Nope" is unknown, disable-admission-plugins plugin "PodSecurityPolicy" is unknown: Kubernetes 1.25 removed it; use PodSecurity instead]`},
		{"--goaway-chance=NaN", "--goaway-chance can not be less than 0 or greater than 0.02"},
		{"--service-node-port-range=0-65535",
			"--service-node-port-range 0-65535 must be between 1 and 65535, inclusive: 0 is no node port"},
		{"--service-node-port-range=1-65535", ""},
		{"--service-cluster-ip-range=0.0.0.0/0", fewAddresses},
		{"--service-cluster-ip-range=128.0.0.0/1", fewAddresses},
		{"--service-cluster-ip-range=::/1", fewAddresses},
		{"--service-cluster-ip-range=0.0.0.0/2", ""},
		{"--authorization-config=/dev/zero", "read /dev/zero: neither a regular file nor a pipe"},
		{"--service-account-signing-key-file=/dev/zero --service-account-issuer=https://x",
			"failed to parse service-account-issuer-key-file: read /dev/zero: neither a regular file nor a pipe"},
	} {
		if _, err := outcome(strings.Fields(tt.args)); text(err) != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.args, err, tt.want)
		}
	}
}
