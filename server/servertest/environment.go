package servertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/schemetest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
)

// Environment is what a suite of tests works with: a server, and what is on it from the beginning.
// The zero Environment is a server with Kubernetes' own kinds, as Start runs for a test; one that
// is shared by tests is started and stopped where they begin and end:
//
//	func TestMain(m *testing.M) {
//		env := servertest.Environment{Paths: []string{"../config/crd/bases"}}
//		s, err := env.Start()
//		...
//		cfg, err := clientcmd.RESTConfigFromKubeConfig(s.Admin.Kubeconfig())
//		...
//		code := m.Run()
//		err = s.Stop()
//
// Environments are independent of each other, and any number of them may run at a time.
type Environment struct {
	// Config is the server. What it leaves out is: memory for the store, a temporary DataDir, free
	// ports.
	Config server.Config
	// Paths are files and folders. The definitions of resources in them, and the configurations of
	// admission webhooks, are on the server when Start returns; other objects are passed over.
	// Folders are not searched for folders. A path that does not exist is an error.
	Paths []string
	// Definitions are further definitions, as anything that encoding/json makes a
	// CustomResourceDefinition of, such as those of k8s.io/apiextensions-apiserver. They need not
	// say their apiVersion and kind. Of two definitions with the same name the last counts, and
	// these come after those of Paths.
	Definitions []any
	// Webhooks is where the suite serves webhooks itself. With nil, what is installed is left as it
	// is.
	Webhooks *Webhooks
}

// Start runs a server and returns when it is ready, and all definitions are established and served.
// The server runs until Stop.
//
// A conversion of the Config's groups that loses a field on the way to the hub and back is an
// error.
func (e Environment) Start() (*Server, error) {
	s, err := e.start()
	if err == nil {
		err = errors.Join(s.losses(e.Config.API.Groups)...)
	}
	if err != nil && s != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, err
}

// start is Start without the look at conversions.
func (e Environment) start() (*Server, error) {
	s := &Server{Token: Token, transport: &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true}}
	s.Client = &http.Client{Transport: &authorized{next: &watched{s.transport}, header: "Bearer " + Token}}
	removeData := func() error { return nil }
	if e.Config.DataDir == "" {
		dir, err := os.MkdirTemp("", "servertest-")
		if err != nil {
			return nil, err
		}
		e.Config.DataDir, removeData = dir, func() error { return os.RemoveAll(dir) }
	}
	err := e.complete(s)
	if err == nil {
		s.Server, err = server.New(context.Background(), e.Config)
	}
	if err == nil {
		err = s.run()
	}
	if err == nil {
		err = s.connect()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("servertest: %w", err), s.end(), removeData())
	}
	s.stop = sync.OnceValue(func() error { return errors.Join(s.end(), removeData()) })
	return s, nil
}

// linger is how long clients that are left at the end may keep their connections. Nobody misses
// them.
const linger = 100 * time.Millisecond

// complete fills in what the Config leaves out, and adds what is to be on the server.
func (e *Environment) complete(s *Server) error {
	if st := &e.Config.Storage; st.Engine == "" && st.Store == nil && len(st.Etcd.Servers) == 0 {
		st.Engine = server.StorageMemory
	}
	if e.Config.Serving.SecurePort == 0 {
		e.Config.Serving.SecurePort = server.AnyPort
	}
	if e.Config.Shutdown.Linger == 0 {
		e.Config.Shutdown.Linger = linger
	}
	tokens, err := authn.ReadTokens(strings.NewReader(Token + ",admin,admin,system:masters\n"))
	if err != nil {
		return err
	}
	known := &e.Config.Authentication.Authenticators
	*known = append([]request.Authenticator{authn.Bearer(tokens)}, *known...)
	if e.Webhooks != nil {
		if s.Webhooks, err = e.Webhooks.complete(filepath.Join(e.Config.DataDir, "webhooks")); err != nil {
			return err
		}
	}
	installed, err := installed(e.Paths, e.Definitions, s.Webhooks)
	api := &e.Config.API
	api.Objects = append(api.Objects[:len(api.Objects):len(api.Objects)], installed...)
	return err
}

// losses are the fields that no object of the groups brings back from the hub.
func (s *Server) losses(groups []server.Group) (losses []error) {
	for _, g := range groups {
		for _, loss := range schemetest.Losses(s.Server.Scheme, nil, g.Name) {
			if loss.Never {
				losses = append(losses, fmt.Errorf("servertest: %s", loss))
			}
		}
	}
	return losses
}

// run serves in the background until end is called, and waits until the server is ready.
func (s *Server) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Server.Run(ctx) }()
	select {
	case <-s.Server.Ready():
		s.ended, s.cancel = ended, cancel
		return nil
	case err := <-ended:
		cancel()
		return fmt.Errorf("the server ended before it was ready: %w", err)
	}
}

// end ends a server that runs, and waits for it.
func (s *Server) end() error {
	if s.cancel == nil {
		return nil
	}
	s.transport.CloseIdleConnections()
	s.cancel()
	err := <-s.ended
	s.transport.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("servertest: the server ended with %w", err)
	}
	return nil
}

// connect fills in what a client needs.
func (s *Server) connect() (err error) {
	if s.Server.Address() == nil {
		s.URL = "http://" + identity.Reachable(s.Server.PlainAddress())
		return nil
	}
	s.URL, s.Kubeconfig = "https://"+identity.Reachable(s.Server.Address()), s.Server.Kubeconfig()
	if s.CAPEM, err = s.Server.CA(); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CAPEM) {
		return errors.New("the server's authority is no certificate")
	}
	s.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if s.Kubeconfig != "" {
		s.Admin, err = s.Server.NewUser("admin", request.GroupMasters)
	}
	return err
}
