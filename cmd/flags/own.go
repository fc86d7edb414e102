package flags

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/server"
)

// own holds the values of Coracle's own flags that do not go into the Config as they are.
type own struct {
	logLevel string
}

// bindOwn declares the flags that kube-apiserver does not have.
func (o *Options) bindOwn(s *section) {
	c := &o.config
	s.StringVar(&c.DataDir, "data-dir", o.defaults.dataDir,
		"folder for the store, certificates and the admin kubeconfig")
	s.StringVar(&c.API.Manifests, "manifests", "",
		"folder of YAML and JSON files to apply before the server is ready: definitions, then objects")
	s.StringVar(&c.Storage.Engine, "storage", "",
		"store: embedded, etcd, memory or file (default embedded, or etcd with --etcd-servers)")
	s.IntVar(&c.Serving.HTTPPort, "http-port", 0, "port for plain HTTP on the bind address; 0 for none")
	s.StringSliceVar(&c.Serving.TLS.SANs, "tls-san", nil,
		"further names and addresses for a self-made serving certificate")
	s.StringVar(&c.Authentication.BasicAuthFile, "basic-auth-file", "",
		"CSV file of passwords, which are weaker than all else: password,user,uid,\"group1,group2\"")
	s.StringSliceVar(&c.Controllers, "controllers", o.defaults.controllers,
		"controllers to run: names, * for all, -name to leave one out; empty for none")
	s.StringVar(&c.API.Profile, "profile", "",
		"crd-only serves of the built-in resources those alone that a server for resources of one's own needs")
	s.IntVar(&c.Limits.MaxWatches, "max-watches-inflight", 10_000, "watches served at once; 0 for no bound")
	s.StringVar(&o.own.logLevel, "log-level", "info", "debug, info, warn or error")
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
			o.refusals = append(o.refusals, fmt.Errorf("%s needs --data-dir", what))
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
