// The store of a server and its data folder, as New and assemble open them: engines, overrides, and
// the stand-in, a process that runs in etcd's place and whose folder the server opens itself.

package server

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/standin"
)

// newStore makes the store that the configuration describes; Open opens it. accept decides which
// files a store of files takes; nil takes all.
func (c *completed) newStore(t *generic.Table, m *backing.Metrics, e *backing.Encryption,
	accept generic.Acceptor) *backing.Store {
	cfg := backing.Config{Keys: t, Metrics: m, Encryption: e}
	cfg.Location = c.locationOf(c.Storage, accept)
	for _, other := range c.Storage.others() {
		location := c.locationOf(other.StorageConfig, accept)
		location.Keeps = other.keeps
		cfg.Others = append(cfg.Others, location)
	}
	return backing.New(cfg)
}

// locationOf returns the Location that a StorageConfig describes: a Store that is open already, or
// the function that opens one.
func (c *completed) locationOf(storing StorageConfig, accept generic.Acceptor) backing.Location {
	p := backing.Location{Engine: storing.Store, Remote: storing.Engine == StorageEtcd}
	p.Open = func(ctx context.Context) (storage.Store, error) {
		store, err := c.openEngine(ctx, &storing, accept)
		if err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", storing.Engine, err)
		}
		return store, nil
	}
	if in := c.standIn; in != nil && storing.Engine == StorageEmbedded {
		p.CheckStandIn = func(ctx context.Context) error { return in.Check(ctx, in.url) }
	}
	return p
}

// openEngine opens the engine that storing names. The embedded engine opens the store of the
// stand-in if there is one.
func (c *completed) openEngine(ctx context.Context, storing *StorageConfig,
	accept generic.Acceptor) (storage.Store, error) {
	switch storing.Engine {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: c.path("objects"), Accept: accept, Failed: func(path string, err error) {
			if err == nil {
				c.Log.Info("a file of the store that could not be used is valid again or gone", zap.String("path", path))
				return
			}
			c.Log.Warn("a file of the store cannot be read or written", zap.String("path", path), zap.Error(err))
		}})
	case StorageEtcd:
		e := storing.Etcd
		return etcd.Open(ctx, etcd.Config{
			Endpoints: e.Servers, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Logger: c.Log,
			OpenTimeout: storing.InitTimeout, Headers: request.TraceHeaders,
		})
	default:
		cfg := embedded.Config{Dir: c.path("etcd"), Logger: warnings(c.Log)}
		if c.standIn != nil {
			cfg.Dir, cfg.NoSync = c.standIn.Dir, c.standIn.NoSync
		}
		return embedded.Open(ctx, cfg)
	}
}

// warnings returns log without entries below a warning: an etcd server logs much at the level info.
func warnings(log *zap.Logger) *zap.Logger {
	if !log.Core().Enabled(zap.InfoLevel) {
		return log // it drops them already
	}
	return log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
}

// compatible returns the minor release of MinCompatibility: 35 for "1.35".
func (c *StorageConfig) compatible() (minor int, err error) {
	number, of1 := strings.CutPrefix(c.MinCompatibility, "1.")
	minor, err = strconv.Atoi(number)
	if !of1 || err != nil || minor < generic.OldestCompatible || minor > generic.NewestCompatible {
		return 0, fmt.Errorf("--min-compatibility-version %q is not between 1.%d and 1.%d", c.MinCompatibility,
			generic.OldestCompatible, generic.NewestCompatible)
	}
	return minor, nil
}

// defaultInitTimeout is short, so that a program with a server inside does not hang if its etcd is
// wrong. The flag's default is a minute, because the processes of a cluster start in any order.
const defaultInitTimeout = 5 * time.Second

// standIn is a process that listens at etcd's URL and names the folder of an embedded store, which
// the server then opens itself.
type standIn struct {
	*standin.Location
	url string
}

// recognize asks the configured etcd servers whether they are a stand-in. If so it selects the
// embedded engine with the stand-in's folder. No other server works on such a store, so it counts
// as not shared.
func (c *completed) recognize(ctx context.Context) {
	if c.Storage.Engine != StorageEtcd || c.Storage.Store != nil {
		return
	}
	began, patience := time.Now(), cmp.Or(c.Storage.InitTimeout, defaultInitTimeout)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	location := standin.Find(waiting, c.Storage.Etcd.Servers, func() {
		c.Log.Warn("etcd is unreachable", zap.Strings("endpoints", c.Storage.Etcd.Servers),
			zap.String("reason", "nobody listens"))
	})
	c.Storage.InitTimeout = max(patience-time.Since(began), time.Millisecond) // the time that is left for an etcd
	if location != nil {
		c.standIn = &standIn{location, c.Storage.Etcd.Servers[0]}
		c.Storage.Engine = StorageEmbedded
	}
}

// dataMode is the mode of all folders that the server makes; its files have mode 0600. They hold
// keys and secrets.
const dataMode = 0o700

// makeDataDir makes the data folder, once, before the store, the certificates and the kubeconfig
// are written into it concurrently. It makes none if nothing will be written.
//
// If others may read an existing data folder makeDataDir warns and goes on: a program often cannot
// choose the mode of a mounted volume, and the files that the server makes in it are closed to
// others anyway.
func (c completed) makeDataDir() error {
	stores := c.Storage.Store == nil && c.standIn == nil &&
		(c.Storage.Engine == StorageEmbedded || c.Storage.Engine == StorageFile)
	if !stores && !c.Serving.authority() && c.Authentication.ServiceAccounts.SigningKeyFile != "" {
		return nil
	}
	if err := os.MkdirAll(c.DataDir, dataMode); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	info, err := os.Stat(c.DataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if mode := info.Mode().Perm(); mode&^dataMode != 0 && runtime.GOOS != "windows" { // Windows has no such modes
		c.Log.Warn("the data folder is open to others: it holds private keys and secrets; set its mode to 0700",
			zap.String("path", c.DataDir), zap.String("mode", fmt.Sprintf("%04o", mode)))
	}
	return nil
}
