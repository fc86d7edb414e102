package backing

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

// The EncryptionConfiguration of a server: it is read at the start, read again when its file
// changes if StorageConfig.EncryptionReload is set, and asked by every Record for the providers of
// its resource. Package server makes and follows it.

// Encryption decides how values are encrypted on their way to the store, by an
// EncryptionConfiguration, which may be read again when its file changes. A nil Encryption encrypts
// nothing. All methods may be called at once, but Follow runs once.
type Encryption struct {
	current encryption.Current
	options encryption.Options
	file    *reload.File
	reload  bool
	metrics *encryptionMetrics
	log     *zap.Logger
	closing sync.Once
}

// NewEncryption reads the configuration in a file, and registers its metrics in reg. It returns nil
// if path is "". If reloads is set, Follow reads the file again when it changes. The health checks
// of KMS plugins begin, but NewEncryption does not wait for them.
func NewEncryption(path string, reloads bool, reg prometheus.Registerer, log *zap.Logger) (*Encryption, error) {
	if path == "" {
		return nil, nil
	}
	e := &Encryption{reload: reloads, log: log.Named("encryption")}
	var err error
	if e.file, err = reload.Read(path); err != nil {
		return nil, fmt.Errorf("server: error while parsing file: error while loading file: error reading encryption provider configuration file %q: %w",
			path, err)
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

// open parses a configuration and makes its providers.
func (e *Encryption) open(data []byte) (*encryption.Set, error) {
	parsed, err := encryption.Parse(data)
	if err != nil {
		return nil, err
	}
	return parsed.Open(e.options)
}

// choiceOf returns the choice of providers for a resource, which follows changes of the
// configuration.
func (e *Encryption) choiceOf(gr meta.GroupResource) *encryption.Choice {
	if e == nil {
		return nil
	}
	return e.current.For(gr.Group, gr.Resource)
}

// forget deletes the metrics of the values of a resource that is gone.
func (e *Encryption) forget(gr meta.GroupResource) {
	if e != nil {
		e.metrics.forget(gr)
	}
}

// changes reports whether a value that cannot be decrypted may become readable: keys may be
// reloaded, or a KMS plugin may come back.
func (e *Encryption) changes() bool {
	return e != nil && (e.reload || e.current.Set().Plugins() > 0)
}

// WaitForPlugins waits until all KMS plugins have answered a health check, or their time is over,
// so that the first reads do not fail because a plugin is not connected yet.
func (e *Encryption) WaitForPlugins(ctx context.Context) {
	if e != nil {
		_ = e.current.Set().Check(ctx) // the hooks have logged the error, and the health check shows it
	}
}

// Checked reports whether the server needs a health check for KMS plugins.
func (e *Encryption) Checked() bool { return e.changes() }

// Check returns an error unless all KMS plugins are healthy.
func (e *Encryption) Check(ctx context.Context) error { return e.current.Set().Check(ctx) }

// close closes the connections to KMS plugins, once.
func (e *Encryption) close() {
	if e != nil {
		e.closing.Do(func() { e.current.Set().Close() })
	}
}

// Follows reports whether the configuration is read again when its file changes.
func (e *Encryption) Follows() bool { return e != nil && e.reload }

// Follow reads the configuration again when its file changes, until ctx ends. run starts
// goroutines, which close replaced configurations after a grace.
func (e *Encryption) Follow(ctx context.Context, run func(func(context.Context))) {
	e.file.Follow(ctx, func(ctx context.Context, data []byte) (lasting bool, err error) {
		return e.replace(ctx, run, data)
	}, func(data []byte, err error) {
		e.metrics.Reloaded(data, err)
		if err != nil {
			e.log.Error("cannot use the new encryption configuration: the configuration before stays in force",
				zap.String("file", e.file.Path), zap.Error(err))
			return
		}
		e.log.Info("read the encryption configuration again", zap.String("file", e.file.Path))
	})
}

const (
	// wellTime is the least time that the plugins of a new configuration get to become healthy. The
	// configuration comes into force only when all are healthy.
	wellTime = 10 * time.Second
	// wellEvery is the time between two checks of these plugins.
	wellEvery = 100 * time.Millisecond
)

// replace puts another configuration in force when its plugins are healthy, and closes the old one
// after a grace. lasting reports that another attempt with the same data would fail, too.
func (e *Encryption) replace(ctx context.Context, run func(func(context.Context)),
	data []byte) (lasting bool, err error) {
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
	run(func(ctx context.Context) {
		select { // reads that have begun may still use the old configuration
		case <-ctx.Done():
		case <-time.After(before.Grace()):
		}
		before.Close()
	})
	return false, nil
}

// dial connects to a KMS plugin.
func (e *Encryption) dial(name, endpoint string) (encryption.KMS, error) {
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
