// What a server keeps on disk, as New opens it: the data folder, the stores, and a stand-in for
// etcd that has a store of its own.

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

	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/standin"
)

// newStore makes the store that the configuration describes, which is not open yet. accept judges
// files that are found in a store of files; nil takes them as they are.
func (c *completed) newStore(t *generic.Table, m *backing.Metrics, e *backing.Encryption,
	accept generic.Acceptor) *backing.Store {
	cfg := backing.Config{Keys: t, Metrics: m, Encryption: e}
	cfg.Place = c.place(c.Storage, accept)
	for _, other := range c.Storage.others() {
		place := c.place(other.StorageConfig, accept)
		place.Keeps = other.keeps
		cfg.Others = append(cfg.Others, place)
	}
	return backing.New(cfg)
}

// place is where a StorageConfig has objects stored.
func (c *completed) place(storing StorageConfig, accept generic.Acceptor) backing.Place {
	p := backing.Place{Engine: storing.Store, Open: func(ctx context.Context) (storage.Store, error) {
		store, err := c.openEngine(ctx, &storing, accept)
		if err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", storing.Engine, err)
		}
		return store, nil
	}}
	if in := c.standIn; in != nil && storing.Engine == StorageEmbedded {
		p.Answers = func(ctx context.Context) error { return in.Answers(ctx, in.url) }
	}
	return p
}

func (c *completed) openEngine(ctx context.Context, storing *StorageConfig,
	accept generic.Acceptor) (storage.Store, error) {
	switch storing.Engine {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: c.path("objects"), Accept: accept, Failed: func(path string, err error) {
			if err == nil {
				c.Log.Info("a file of the store that was refused is all right again, or gone", zap.String("path", path))
				return
			}
			c.Log.Warn("a file of the store cannot be read or written", zap.String("path", path), zap.Error(err))
		}})
	case StorageEtcd:
		e := storing.Etcd
		return etcd.Open(ctx, etcd.Config{
			Endpoints: e.Servers, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Logger: c.Log,
			OpenTimeout: storing.InitTimeout,
		})
	default:
		cfg := embedded.Config{Dir: c.path("etcd"), Logger: warnings(c.Log)}
		if c.standIn != nil {
			cfg.Dir, cfg.NoSync = c.standIn.Dir, c.standIn.NoSync
		}
		return embedded.Open(ctx, cfg)
	}
}

// warnings returns log without what is below a warning: an etcd server has much to say.
func warnings(log *zap.Logger) *zap.Logger {
	if !log.Core().Enabled(zap.InfoLevel) {
		return log // it is that quiet already
	}
	return log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
}

// compatible returns the minor release that a StorageConfig names.
func (c *StorageConfig) compatible() (minor int, err error) {
	number, of1 := strings.CutPrefix(c.MinCompatibility, "1.")
	minor, err = strconv.Atoi(number)
	if !of1 || err != nil || minor < generic.OldestCompatible || minor > generic.NewestCompatible {
		return 0, fmt.Errorf("minimum compatibility version %q is not between 1.%d and 1.%d", c.MinCompatibility, generic.OldestCompatible, generic.NewestCompatible)
	}
	return minor, nil
}

// defaultInitTimeout is short: a program with a server inside should not hang if its etcd is wrong.
// The processes of a cluster, which start in any order, have the minute of the flag.
const defaultInitTimeout = 5 * time.Second

// standIn is a process in the place of etcd, with the embedded store that it stands for.
type standIn struct {
	*standin.Place
	url string
}

// recognize selects the embedded store if what answers as etcd is a stand-in for that store. No
// other server works on such a store, so there is none to agree with.
func (c *completed) recognize(ctx context.Context) {
	if c.Storage.Engine != StorageEtcd || c.Storage.Store != nil {
		return
	}
	began, patience := time.Now(), cmp.Or(c.Storage.InitTimeout, defaultInitTimeout)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	place := standin.Find(waiting, c.Storage.Etcd.Servers, func() {
		c.Log.Warn("etcd is away", zap.Strings("endpoints", c.Storage.Etcd.Servers),
			zap.String("reason", "nobody listens"))
	})
	c.Storage.InitTimeout = max(patience-time.Since(began), time.Millisecond) // what is left of it for an etcd
	if place != nil {
		c.standIn = &standIn{place, c.Storage.Etcd.Servers[0]}
		c.Storage.Engine = StorageEmbedded
	}
}

// dataMode is the mode of all folders that the server makes. Files have it without the right to
// search: there are keys and secrets among them.
const dataMode = 0o700

// makeDataDir makes the folder for what the server keeps, once and before the store, the
// certificates and the kubeconfig are put into it, which happens at the same time.
//
// A folder that is already open to others is warned about and not refused: the mode of a mounted
// volume is often not ours to choose, and what the server makes in the folder is closed
// nevertheless.
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
	if mode := info.Mode().Perm(); mode&^dataMode != 0 && runtime.GOOS != "windows" { // where modes say nothing
		c.Log.Warn("the data folder is open to others: it holds private keys and secrets, and should have mode 0700",
			zap.String("path", c.DataDir), zap.String("mode", fmt.Sprintf("%04o", mode)))
	}
	return nil
}
