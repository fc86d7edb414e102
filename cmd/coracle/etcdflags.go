package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The flags of etcd, as the stand-in takes them. The stand-in stores nothing, so a flag that
// tunes etcd's performance or its cluster is ignored. A flag whose effect somebody relies on, such
// as TLS, is refused. standInForEtcd calls parseEtcdFlags.

// etcdOptions are the values of the flags that the stand-in honours.
type etcdOptions struct {
	name, dataDir, clientURLs string
	noSync, version           bool
}

// The other flags of etcd. etcdTuning and etcdSwitches (boolean flags) are ignored. etcdRefused and
// etcdRefusedSwitches are refused for the reason given, because a script that gives one relies on
// it.
var (
	// Ignored: there is one member, which has no peers and no log of its own.
	etcdTuning = []string{
		"advertise-client-urls", "auth-token", "auth-token-ttl", "auto-compaction-mode", "auto-compaction-retention",
		"backend-batch-interval", "backend-batch-limit",
		"backend-bbolt-freelist-type", "bcrypt-cost", "bootstrap-defrag-threshold-megabytes", "compact-hash-check-time",
		"compaction-batch-limit",
		"compaction-sleep-interval", "corrupt-check-time", "downgrade-check-time", "election-timeout", "feature-gates",
		"grpc-keepalive-interval",
		"grpc-keepalive-min-time", "grpc-keepalive-timeout", "heartbeat-interval", "initial-advertise-peer-urls",
		"initial-cluster-state",
		"initial-cluster-token", "listen-peer-urls", "log-format", "log-level", "log-outputs", "logger",
		"max-concurrent-streams", "max-learners",
		"max-request-bytes", "max-snapshots", "max-txn-ops", "max-wals", "metrics", "quota-backend-bytes",
		"raft-read-timeout", "raft-write-timeout",
		"snapshot-catchup-entries", "snapshot-count", "v2-deprecation", "warning-apply-duration",
		"warning-unary-request-duration", "watch-progress-notify-interval",
	}
	etcdSwitches = []string{
		"enable-grpc-gateway", "enable-log-rotation", "enable-pprof", "initial-election-tick-advance", "memory-mlock",
		"pre-vote", "socket-reuse-address",
		"socket-reuse-port", "strict-reconfig-check",
	}
	etcdRefused = map[string]string{
		"config-file": "the stand-in reads flags only", "wal-dir": "the API server keeps its log under --data-dir",
		"listen-client-http-urls": "the listeners of --listen-client-urls serve all clients",
		"listen-metrics-urls":     "the stand-in has no metrics",
		"discovery":               "there are no other members", "discovery-srv": "there are no other members",
		"discovery-endpoints": "there are no other members",
		"cert-file":           noEtcdTLS, "key-file": noEtcdTLS,
		"trusted-ca-file": noEtcdTLS, "client-crl-file": noEtcdTLS,
		"client-cert-allowed-hostname": noEtcdTLS,
		"cipher-suites":                noEtcdTLS, "tls-min-version": noEtcdTLS, "tls-max-version": noEtcdTLS,
		"peer-cert-file": noEtcdTLS, "peer-key-file": noEtcdTLS, "peer-trusted-ca-file": noEtcdTLS,
	}
	etcdRefusedSwitches = map[string]string{
		"client-cert-auth": noEtcdTLS, "auto-tls": noEtcdTLS, "peer-client-cert-auth": noEtcdTLS,
		"peer-auto-tls":     noEtcdTLS,
		"force-new-cluster": "there are no other members",
	}
)

// noEtcdTLS is the reason why flags about TLS are refused.
const noEtcdTLS = "the stand-in listens on loopback addresses only, without TLS"

// parseEtcdFlags reads a command line of etcd. For -help and -version it prints the answer to out
// and returns nil.
func parseEtcdFlags(args []string, out io.Writer) (*etcdOptions, error) {
	o := new(etcdOptions)
	f := flag.NewFlagSet(etcdName, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.name, "name", "default", "name of the member; without --data-dir the data folder is NAME.etcd")
	f.StringVar(&o.dataDir, "data-dir", "", "data folder, in which the kube-apiserver stores the objects")
	f.StringVar(&o.clientURLs, "listen-client-urls", "http://localhost:2379",
		"http URLs to listen on, with loopback addresses, separated by commas")
	f.BoolVar(&o.noSync, "unsafe-no-fsync", false,
		"do not wait for the disk: a crash of the machine may lose or spoil all data")
	f.BoolVar(&o.version, "version", false, "print the version")
	cluster := f.String("initial-cluster", "", "the only member of the cluster, as NAME=URL")
	for _, name := range etcdTuning {
		f.String(name, "", "makes no difference here")
	}
	for _, name := range etcdSwitches {
		f.Bool(name, false, "makes no difference here")
	}
	for name, why := range etcdRefused {
		f.Func(name, "refused: "+why, func(value string) error { return refusal(value != "", why) })
	}
	for name, why := range etcdRefusedSwitches {
		f.BoolFunc(name, "refused: "+why, func(value string) error { return refusal(value != "false", why) })
	}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, printEtcdUsage(f, out)
	case err != nil:
		return nil, err
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is not a valid flag", f.Arg(0))
	case strings.Contains(*cluster, ","):
		return nil, errors.New("--initial-cluster: there can be only one member: give one NAME=URL")
	case o.version:
		return nil, printEtcdVersion(out)
	}
	return o, nil
}

// refusal returns an error with the reason if a refused flag has another value than its default.
func refusal(given bool, why string) error {
	if given {
		return errors.New(why)
	}
	return nil
}

// printEtcdUsage prints the flags. Each is at the beginning of a line, after two blanks: envtest
// searches etcd's help for flags that way.
func printEtcdUsage(f *flag.FlagSet, out io.Writer) error {
	text := []byte("Take the place of etcd for a kube-apiserver that is Coracle, which stores the objects itself.\n\nUsage:\n  etcd [flags]\n\n")
	var names []string
	f.VisitAll(func(flag *flag.Flag) { names = append(names, flag.Name) })
	slices.Sort(names)
	for _, name := range names {
		text = fmt.Appendf(text, "  --%s\n    %s\n", name, f.Lookup(name).Usage)
	}
	_, err := out.Write(text)
	return err
}
