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

// A Set is a Config at work: chains for resources, and running plugins. Current holds the Set in
// force and Choice remembers the chain of one resource. The server opens a Set, puts it in force,
// and closes the one before after Grace.

// Options are what Config.Open needs besides the Config.
type Options struct {
	// Dial returns a client of the KMS plugin name at the URL endpoint. It does not wait for the
	// plugin. It is required if the Config has plugins.
	Dial func(name, endpoint string) (KMS, error)
	// Hooks are called on events of plugins and for each value.
	Hooks Hooks
}

// Set holds the chains that encrypt the values of each resource, and the plugins that they need.
// Close it.
type Set struct {
	chains  map[pattern]Chain
	hooks   *Hooks // every hook is set
	plugins []*plugin
	stop    context.CancelFunc // ends the polls
	polls   sync.WaitGroup     // one goroutine per plugin
}

// Open makes a Set and begins to poll its plugins. Check waits for their answers.
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

// providers returns the providers of one element of the file: one for each key, or one for a plugin
// or identity.
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

// providers returns one provider for each key, made by build.
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

// For returns the chain of a resource, or nil if it is not encrypted. group is "" for the core
// group. The most specific pattern wins: the resource, then its group, then "*.*".
func (s *Set) For(group, resource string) Chain {
	for _, p := range []pattern{{resource, group}, {"*", group}, everything} {
		if chain, ok := s.chains[p]; ok {
			return chain
		}
	}
	return nil
}

// Plugins returns the number of KMS plugins.
func (s *Set) Plugins() int { return len(s.plugins) }

// Check returns an error that names the plugins that cannot be used, nil if all can. It polls
// plugins whose last answer is not recent, all at once.
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

// Grace returns how long requests may still be under way in the plugins after the Set has been
// replaced.
func (s *Set) Grace() time.Duration {
	var all time.Duration
	for _, p := range s.plugins {
		all += 2 * p.timeout
	}
	return all
}

// Close stops polling and closes the connections to the plugins. The Set must not be used
// afterwards.
func (s *Set) Close() {
	s.stop()
	for _, p := range s.plugins {
		p.service.Close()
	}
	s.polls.Wait()
}

// Current holds the Set in force, which another may replace while it is used. A nil *Current
// encrypts nothing.
type Current struct{ set atomic.Pointer[Set] }

// Set returns the Set in force, nil if there is none yet.
func (c *Current) Set() *Set { return c.set.Load() }

// Use puts a Set in force and returns the one before, which the caller closes after its Grace.
func (c *Current) Use(s *Set) (before *Set) { return c.set.Swap(s) }

// For returns the Choice of a resource, which follows the Set in force.
func (c *Current) For(group, resource string) *Choice {
	if c == nil {
		return nil
	}
	return &Choice{of: c, group: group, resource: resource}
}

// Choice is the chain of one resource in the Set in force. A nil *Choice has a nil chain.
type Choice struct {
	of              *Current
	group, resource string
	made            atomic.Pointer[chosen]
}

// chosen is the chain that one Set has for the resource of a Choice.
type chosen struct {
	by    *Set // the Set of chain
	chain Chain
}

// Chain returns the chain of the resource. It asks the Set only once after a Set was put in force,
// so it is quick enough to be called for each value.
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
