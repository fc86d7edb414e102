package encryption

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a Set needs besides its Config.
type Options struct {
	// Dial connects to the KMS plugin of a name behind a URL. It does not wait for the plugin.
	Dial func(name, endpoint string) (KMS, error)
	// Hooks are told what happens with plugins, and with values.
	Hooks Hooks
}

// Set is a Config at work: what encrypts the values of each resource, and the plugins that are needed for that. Close it.
type Set struct {
	chains  map[pattern]Chain
	hooks   *Hooks
	plugins []*plugin
	stop    context.CancelFunc
	polls   sync.WaitGroup
}

// Open makes a Set, which asks its plugins for their state from now on. Ready waits for the answers.
func (c *Config) Open(o Options) (*Set, error) {
	ctx, stop := context.WithCancel(context.Background())
	o.Hooks.fill()
	s := &Set{chains: map[pattern]Chain{}, hooks: &o.Hooks, stop: stop}
	for _, r := range c.rules {
		var chain Chain
		for i := range r.Providers {
			providers, err := s.providers(&r.Providers[i], &o)
			if err != nil {
				s.Close()
				return nil, fmt.Errorf("error while building transformers: %w", err)
			}
			chain = append(chain, providers...)
		}
		for _, name := range r.Resources {
			p := parsePattern(name)
			s.chains[p] = append(s.chains[p], chain...)
		}
	}
	for _, p := range s.plugins {
		s.polls.Go(func() { p.poll(ctx) })
	}
	return s, nil
}

// providers returns one Provider for each key.
func (s *Set) providers(f *fileProvider, o *Options) (Chain, error) {
	switch {
	case f.AESGCM != nil:
		return f.AESGCM.providers(AESGCM)
	case f.AESCBC != nil:
		return f.AESCBC.providers(AESCBC)
	case f.Secretbox != nil:
		return f.Secretbox.providers(Secretbox)
	case f.KMS != nil:
		service, err := o.Dial(f.KMS.Name, f.KMS.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("could not configure KMSv2-Plugin's probe %q, error: %w", f.KMS.Name, err)
		}
		p := newPlugin(f.KMS.Name, service, time.Duration(*f.KMS.Timeout), &o.Hooks)
		s.plugins = append(s.plugins, p)
		return Chain{{prefix: []byte("k8s:enc:kms:v2:" + f.KMS.Name + ":"), method: p}}, nil
	}
	return Chain{Identity()}, nil
}

func (f *fileKeys) providers(build func(name string, secret []byte) (Provider, error)) (Chain, error) {
	var chain Chain
	for _, k := range f.Keys {
		secret, err := base64.StdEncoding.DecodeString(k.Secret)
		if err != nil {
			return nil, err
		}
		p, err := build(k.Name, secret)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.Name, err)
		}
		chain = append(chain, p)
	}
	return chain, nil
}

// For returns the chain for a resource, nil if it is not encrypted. The core group is "".
func (s *Set) For(group, resource string) Chain {
	for _, p := range []pattern{{resource, group}, {"*", group}, everything} {
		if chain, ok := s.chains[p]; ok {
			return chain
		}
	}
	return nil
}

// Plugins is how many KMS plugins there are.
func (s *Set) Plugins() int { return len(s.plugins) }

// Check says which plugins cannot be used. It asks them if it does not know.
func (s *Set) Check(ctx context.Context) error {
	errs := make([]error, len(s.plugins))
	var checks sync.WaitGroup
	for i, p := range s.plugins {
		checks.Go(func() {
			if err := p.check(ctx); err != nil {
				errs[i] = fmt.Errorf("kms-provider-%d: %w", i, err)
			}
		})
	}
	checks.Wait()
	return errors.Join(errs...)
}

// Grace is for how long requests may be in the plugins at most.
func (s *Set) Grace() time.Duration {
	var all time.Duration
	for _, p := range s.plugins {
		all += 2 * p.timeout
	}
	return all
}

// Close ends what goes on with plugins. Nobody may use the Set any more.
func (s *Set) Close() {
	s.stop()
	for _, p := range s.plugins {
		p.service.Close()
	}
	s.polls.Wait()
}

// Current is the Set in force. It may be replaced while it is used. nil encrypts nothing.
type Current struct{ set atomic.Pointer[Set] }

// Set returns the Set in force.
func (c *Current) Set() *Set { return c.set.Load() }

// Use puts a Set in force, and returns the one before.
func (c *Current) Use(s *Set) (before *Set) { return c.set.Swap(s) }

// For follows what is said of a resource.
func (c *Current) For(group, resource string) *Choice {
	if c == nil {
		return nil
	}
	return &Choice{of: c, group: group, resource: resource}
}

// Choice is the chain of a resource by the Set in force. That of nil is nil.
type Choice struct {
	of              *Current
	group, resource string
	made            atomic.Pointer[chosen]
}

// chosen is what a Set has said.
type chosen struct {
	by    *Set
	chain Chain
}

// Chain returns the chain.
func (c *Choice) Chain() Chain {
	if c == nil {
		return nil
	}
	now, made := c.of.set.Load(), c.made.Load()
	if made == nil || made.by != now {
		made = &chosen{now, now.For(c.group, c.resource).metered(now.hooks, c.group, c.resource)}
		c.made.Store(made)
	}
	return made.chain
}
