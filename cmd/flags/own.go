package flags

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
)

// own holds the values of Coracle's own flags that do not go into the Config as they are.
type own struct {
	logLevel string
}

// bindOwn declares the flags that kube-apiserver does not have.
func (o *Options) bindOwn(s *section) {
	c := &o.config
	s.StringVar(&c.DataDir, "data-dir", o.defaults.dataDir,
		"folder for the store, the certificates and the administrator's kubeconfig")
	s.StringVar(&c.API.Manifests, "manifests", "",
		"YAML or JSON file, or folder of such files, whose objects are applied at each start before the server is ready: CustomResourceDefinitions, then Namespaces, then all others")
	s.StringVar(&c.Storage.Engine, "storage", "",
		"where objects are stored: embedded and file keep them in --data-dir, etcd in --etcd-servers, memory loses them at the end (default embedded, or etcd with --etcd-servers)")
	s.IntVar(&c.Serving.HTTPPort, "http-port", 0, "port for plain HTTP at --bind-address; 0 for none")
	s.StringSliceVar(&c.Serving.TLS.SANs, "tls-san", nil,
		"further host names and IP addresses for a serving certificate that the server makes itself, separated by commas")
	s.StringVar(&c.Authentication.BasicAuthFile, "basic-auth-file", "",
		"CSV file of passwords, with a line password,user,uid,\"group1,group2\" for each; "+
			"tokens and certificates are safer")
	s.StringSliceVar(&c.Controllers, "controllers", o.defaults.controllers,
		"controllers to run, separated by commas: names, * for all, -name to leave one out; empty for none")
	s.StringVar(&c.API.Profile, "profile", "",
		"which built-in resources are served: crd-only for the few that a server of custom resources needs; by default all")
	s.IntVar(&c.Limits.MaxWatches, "max-watches-inflight", 10_000, "bound on the watches that are served at once; 0 for no bound")
	s.StringVar(&o.own.logLevel, "log-level", "info", "least severe level that is logged: debug, info, warn or error")
	if !o.defaults.strict {
		o.bindSigning(s)
	}
}

// bindSigning declares the flags of kube-controller-manager about the authorities that sign
// requested certificates. kube-apiserver does not know them, because kube-controller-manager signs.
func (o *Options) bindSigning(s *section) {
	c := &o.config.Serving.TLS.Signing
	for _, of := range []struct {
		part, signer string
		files        *identity.AuthorityFiles
	}{
		{"", "all signers, in place of the server's own; excludes the other --cluster-signing-*-file flags", &c.All},
		{"kubelet-serving-", certificatesv1.KubeletServingSignerName, &c.KubeletServing},
		{"kubelet-client-", certificatesv1.KubeAPIServerClientKubeletSignerName, &c.KubeletClient},
		{"kube-apiserver-client-", certificatesv1.KubeAPIServerClientSignerName, &c.APIServerClient},
		{"legacy-unknown-", certificatesv1.LegacyUnknownSignerName, &c.LegacyUnknown},
	} {
		cert, key := "cluster-signing-"+of.part+"cert-file", "cluster-signing-"+of.part+"key-file"
		s.StringVar(&of.files.CertFile, cert, "",
			"PEM file with the certificate of the authority that signs requested certificates for "+of.signer)
		s.StringVar(&of.files.KeyFile, key, "",
			"PEM file with the RSA or ECDSA key of the authority that signs requested certificates for "+of.signer)
		s.explain("as by kube-controller-manager; without any of these the server's own authority signs", cert, key)
	}
	s.DurationVar(&c.Longest, "cluster-signing-duration", identity.DefaultSigningLife,
		"longest life of requested certificates; a request may ask for a shorter one")
}

// finishOwn writes the values into the Config. In kube-apiserver's place the data folder has no
// default, so what needs one is refused without --data-dir.
func (o *Options) finishOwn() error {
	c := &o.config
	noneAtZero(&c.Limits.MaxWatches, -1)
	portAtZero(&c.Serving.HTTPPort)
	if len(c.Controllers) == 0 || len(c.Controllers) == 1 && strings.TrimSpace(c.Controllers[0]) == "" {
		c.Controllers = []string{}
	}
	if o.defaults.strict && c.DataDir == "" {
		if what := o.keptByFlag(); what != "" {
			o.refusals = append(o.refusals, fmt.Errorf("%s needs --data-dir: give a folder for what the server keeps", what))
		}
	}
	return nil
}

// keptByFlag returns the flag because of which the server keeps something in its data folder, or ""
// if it keeps nothing there. The data folder of `coracle serve` is ./.coracle. But nobody expects
// that `coracle kube-apiserver` makes a folder in the directory where it was started, so there such
// a flag needs --data-dir.
func (o *Options) keptByFlag() string {
	switch engine := o.config.Storage.Engine; {
	case engine == server.StorageEmbedded || engine == server.StorageFile:
		return "--storage=" + engine
	case o.config.Serving.TLS.CertDir == "":
		return `--cert-dir=""`
	}
	return ""
}
