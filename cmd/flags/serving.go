package flags

import "github.com/coracle-project/coracle/server"

// serving is what flags about the secure port say in a way of their own.
type serving struct{}

func (o *Options) bindServing(s *section) {
	c := &o.config.Serving
	c.BindAddress = o.defaults.bindAddress
	s.Var(address{&c.BindAddress}, "bind-address", "IP address to listen on")
	s.IntVar(&c.SecurePort, "secure-port", 6443, "port for HTTPS; 0 for none")
	s.StringVar(&c.TLS.CertFile, "tls-cert-file", "", "serving certificate with its chain; in --cert-dir if not given")
	s.StringVar(&c.TLS.CertDir, "cert-dir", o.defaults.certDir, "folder with apiserver.crt and apiserver.key, which are made if neither is there; if empty, the server is an authority of its own, under the data directory")
	s.StringVar(&c.TLS.KeyFile, "tls-private-key-file", "", "key of the serving certificate")
}

func (o *Options) finishServing() error {
	portAtZero(&o.config.Serving.SecurePort)
	return nil
}

// portAtZero gives a port of which 0 means none the Config's word for that.
func portAtZero(port *int) { noneAtZero(port, server.NoPort) }
