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

// This file starts and stops a server with its objects. Start (servertest.go) and Environment.Start
// both go through start: complete the Config, make the server, run it, and fill in the Server.

// Environment describes a server for a suite of tests, and the objects that it has from the
// beginning. The zero Environment is a server with Kubernetes' own kinds. A suite whose tests share
// an Environment starts it before the first test, and stops it after the last:
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
	// Config is the configuration of the server. The defaults of its zero fields are a store in
	// memory, a temporary DataDir, and free ports.
	Config server.Config
	// Paths are files and folders of manifests. The CustomResourceDefinitions in them, and the
	// configurations of admission webhooks, are on the server when Start returns. Start skips other
	// objects, and folders in folders. A path that does not exist is an error.
	Paths []string
	// Definitions are further CustomResourceDefinitions: values that encoding/json encodes to one,
	// such as the type of k8s.io/apiextensions-apiserver. They need no apiVersion and kind. If two
	// definitions have the same name, the last one counts; these come after those of Paths.
	Definitions []any
	// Webhooks says where the suite serves webhooks. If it is nil, objects are installed as they
	// are written.
	Webhooks *Webhooks
}

// Start runs a server, and returns when it is ready and all definitions are established and served.
// The server runs until Stop.
//
// Start returns an error if a conversion of the Config's groups loses a field on the way to the hub
// and back.
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

// start does the work of Start without the check of conversions.
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

// linger is how long clients may keep their connections after the server has been told to end. It
// is short, because tests no longer need the connections.
const linger = 100 * time.Millisecond

// complete sets the defaults of the Config, and adds the administrator's token and the objects to
// install.
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
	authenticators := &e.Config.Authentication.Authenticators
	*authenticators = append([]request.Authenticator{authn.Bearer(tokens)}, *authenticators...)
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

// losses returns an error for each field of the groups' kinds whose value is always lost when an
// object is converted to the hub and back.
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

// end ends the server and waits for it. It does nothing if the server never became ready.
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

// connect sets the fields of s that clients need.
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
		return errors.New("the server's authority is not a certificate")
	}
	s.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if s.Kubeconfig != "" {
		s.Admin, err = s.Server.NewUser("admin", request.GroupMasters)
	}
	return err
}
