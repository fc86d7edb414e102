package plugins

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/hookfiles"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/reload"
)

// This file gives plugins the webhooks and policies in files. They are read when the plugin is
// made, so that they are in force before the first request, and again when a file has changed.

// manifests are the hooks in the directory of a plugin. T is what the plugin makes of them.
type manifests[T any] struct {
	plugin, dir string
	load        loader[T]
	hash        string // reload.HashLabel of the content in force
	hooks       atomic.Pointer[T]
	metrics     *reload.Metrics
	log         *zap.Logger
}

// loader reads a directory. It returns its content, and a function that makes the hooks.
type loader[T any] func(dir string) (hooks func() T, content []byte, err error)

// newManifests reads the directory of a plugin, and follows it until the server closes. what is the
// sort of hooks, for the error.
func newManifests[T any](n *needs, plugin, what, dir string, load loader[T]) (*manifests[T], error) {
	m := &manifests[T]{plugin: plugin, dir: dir, load: load, metrics: reload.NewManifestMetrics(plugin), log: n.Log}
	if err := n.Metrics.Register(m.metrics); err != nil {
		return nil, err
	}
	state := reload.NewDir(dir)
	if err := m.read(); err != nil {
		return nil, fmt.Errorf("failed to load static %s manifests from %q: %w", what, dir, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { state.Follow(ctx, m.reread) }) // ends when the server closes
	n.OnClose(func() error {
		cancel()
		running.Wait()
		return nil
	})
	return m, nil
}

// now returns the hooks in force.
func (m *manifests[T]) now() T { return *m.hooks.Load() }

// read reads the directory, and puts its hooks into force if its content has changed.
func (m *manifests[T]) read() error {
	hooks, content, err := m.load(m.dir)
	switch {
	case err != nil:
		return err
	case m.hooks.Load() != nil && reload.HashLabel(content) == m.hash:
		return nil
	}
	made := hooks()
	m.hash = reload.HashLabel(content)
	m.hooks.Store(&made)
	m.metrics.Reloaded(content, nil)
	m.log.Info("read the manifests of an admission plugin",
		zap.String("plugin", m.plugin), zap.String("directory", m.dir))
	return nil
}

// reread reads the directory after a change.
func (m *manifests[T]) reread() {
	if err := m.read(); err != nil {
		m.metrics.Reloaded(nil, err)
		m.log.Error("cannot use the manifests of an admission plugin; the last ones stay in force",
			zap.String("plugin", m.plugin), zap.String("directory", m.dir), zap.Error(err))
	}
}

// policyManifests returns a function for the present policies in the directory that the
// configuration of a plugin names. It returns nil if the configuration names none.
func policyManifests[P, B meta.Object](
	n *needs, plugin string, read func(dir string) (hookfiles.Policies[P, B], []byte, error),
) (func() *admissionpolicy.Files[P, B], error) {
	dir, err := hookfiles.ReadPolicyConfiguration(plugin, n.configuration)
	if err == nil {
		err = hookfiles.CheckDir(dir, n.config.Manifests)
	}
	if err != nil || dir == "" {
		return nil, err
	}
	m, err := newManifests(n, plugin, "policy", dir,
		func(dir string) (func() *admissionpolicy.Files[P, B], []byte, error) {
			found, content, err := read(dir)
			return func() *admissionpolicy.Files[P, B] {
				return admissionpolicy.NewFiles(found.Policies, found.Bindings)
			}, content, err
		})
	if err != nil {
		return nil, err
	}
	return m.now, nil
}

// webhookManifests returns a function for the present webhooks in a directory. compile makes hooks
// of the configurations with a Compiler of files.
func webhookManifests[C meta.Object](
	n *needs, plugin, dir string, clients *callout.Pool, read func(dir string) ([]C, []byte, error),
	compile func(*webhooks.Compiler, []C) *webhooks.Hooks,
) (func() *webhooks.Hooks, error) {
	compiler := webhooks.NewFileCompiler(clients)
	m, err := newManifests(n, plugin, "webhook", dir, func(dir string) (func() *webhooks.Hooks, []byte, error) {
		list, content, err := read(dir)
		return func() *webhooks.Hooks { return compile(compiler, list) }, content, err
	})
	if err != nil {
		return nil, err
	}
	return m.now, nil
}
