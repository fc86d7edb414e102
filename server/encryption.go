package server

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/reload"
	"github.com/coracle-project/coracle/storage/encryption"
)

// encryptor decides how values are encrypted on their way to the store: by an EncryptionConfiguration, which may be taken up again
// when its file changes. A nil one encrypts nothing.
type encryptor struct {
	current encryption.Current
	options encryption.Options
	file    *reload.File
	reload  bool
	metrics *encryptionMetrics
	log     *zap.Logger
	closing sync.Once
}

// newEncryptor reads the configuration of c; nil for none. KMS plugins are being asked from now on, but not waited for.
func newEncryptor(c *completed, reg prometheus.Registerer) (*encryptor, error) {
	if c.Storage.EncryptionConfigFile == "" {
		return nil, nil
	}
	e := &encryptor{reload: c.Storage.EncryptionReload, log: c.Log.Named("encryption")}
	var err error
	if e.file, err = reload.Read(c.Storage.EncryptionConfigFile); err != nil {
		return nil, fmt.Errorf("server: error while parsing file: error while loading file: error reading encryption provider configuration file %q: %w",
			c.Storage.EncryptionConfigFile, err)
	}
	if e.metrics, err = newEncryptionMetrics(reg); err != nil {
		return nil, err
	}
	e.options = encryption.Options{Dial: e.dial, Hooks: e.metrics.hooks(e.log)}
	set, err := e.open(e.file.Data)
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", e.file.Path, err)
	}
	e.current.Use(set)
	e.metrics.InForce(e.file.Data)
	return e, nil
}

// open makes what a configuration says.
func (e *encryptor) open(data []byte) (*encryption.Set, error) {
	parsed, err := encryption.Parse(data)
	if err != nil {
		return nil, err
	}
	return parsed.Open(e.options)
}

// of is how a resource is encrypted.
func (e *encryptor) of(gr meta.GroupResource) *encryption.Choice {
	if e == nil {
		return nil
	}
	return e.current.For(gr.Group, gr.Resource)
}

// forget deletes what was counted of the values of a resource that is gone.
func (e *encryptor) forget(gr meta.GroupResource) {
	if e != nil {
		e.metrics.forget(gr)
	}
}

// changes reports whether what cannot be read may be readable another time.
func (e *encryptor) changes() bool {
	return e != nil && (e.reload || e.current.Set().Plugins() > 0)
}

// ask waits until plugins have answered, or have had the time to.
func (e *encryptor) ask(ctx context.Context) {
	if e != nil {
		_ = e.current.Set().Check(ctx) // it is logged, and health tells of it
	}
}

// checks are what health says of plugins: one check for all, as kube-apiserver has it.
func (e *encryptor) checks() []healthCheck {
	if !e.changes() {
		return nil
	}
	return []healthCheck{{"kms-providers", func(ctx context.Context) error { return e.current.Set().Check(ctx) }}}
}

func (e *encryptor) close() {
	if e != nil {
		e.closing.Do(func() { e.current.Set().Close() })
	}
}

// addEncryptionReload follows the configuration if that is wanted.
func (s *Server) addEncryptionReload() error {
	e := s.backend.encryptor
	if e == nil || !e.reload {
		return nil
	}
	return s.AddPostStartHook(Hook{Name: "start-encryption-provider-config-automatic-reload", Run: func(_ context.Context, s *Server) error {
		s.Go(func(ctx context.Context) { e.follow(ctx, s.life.work) })
		return nil
	}})
}

// follow takes the configuration up again when it changes, until ctx ends.
func (e *encryptor) follow(ctx context.Context, work *background) {
	e.file.Follow(ctx, func(ctx context.Context, data []byte) (lasting bool, err error) {
		return e.replace(ctx, work, data)
	}, func(data []byte, err error) {
		e.metrics.Reloaded(data, err)
		if err != nil {
			e.log.Error("error processing encryption config file: the configuration before stays in force", zap.String("file", e.file.Path), zap.Error(err))
			return
		}
		e.log.Info("took up a new encryption configuration", zap.String("file", e.file.Path))
	})
}

const (
	// wellTime is how long the plugins of a new configuration may take to be well, at least. It is not in force before.
	wellTime = 10 * time.Second
	// wellEvery is how often they are looked at.
	wellEvery = 100 * time.Millisecond
)

// replace puts another configuration in force. lasting says that trying again would not help.
func (e *encryptor) replace(ctx context.Context, work *background, data []byte) (lasting bool, err error) {
	next, err := e.open(data)
	if err != nil {
		return true, err
	}
	bound, cancel := context.WithTimeout(ctx, max(wellTime, next.Grace()))
	defer cancel()
	for {
		if err = next.Check(bound); err == nil {
			break
		}
		select {
		case <-bound.Done():
			next.Close()
			return false, fmt.Errorf("health check for new transformers failed: %w", err)
		case <-time.After(wellEvery):
		}
	}
	before := e.current.Use(next)
	work.run(func(ctx context.Context) {
		select { // others may be reading by it
		case <-ctx.Done():
		case <-time.After(before.Grace()):
		}
		before.Close()
	})
	return false, nil
}

// dial connects to a KMS plugin.
func (e *encryptor) dial(name, endpoint string) (encryption.KMS, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	path := u.Path
	if strings.HasPrefix(path, "/@") { // an abstract socket
		path = path[1:]
	}
	socket, err := callout.DialSocket(path, e.metrics.called(name))
	if err != nil {
		return nil, err
	}
	return kmsClient{socket}, nil
}
