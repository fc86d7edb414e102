// The parts that a request passes between its connection and a resource (openingParts and
// frontParts in parts.go): store and identity, authentication, authorization, filters, listeners;
// and the client of the server itself.

package server

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
)

// makeMetrics makes the registry of metrics, the table of resources, and the metrics in which
// several parts count.
func (a *assembly) makeMetrics() (err error) {
	a.registry, a.table, a.self = prometheus.NewRegistry(), generic.NewTable(a.Storage.Prefix+"/"), a.Serving.self()
	a.metrics, err = newMetrics(a.registry, a.table, a.Log)
	return err
}

// opening is the state of the store and the identity while goroutines of their own open them. Each
// goroutine writes fields of its own; other goroutines read the fields after Wait.
type opening struct {
	sync.WaitGroup
	declared chan struct{} // closed when all resources are in the table; a store of files waits for that
	close    func()        // closes declared once

	encryptionErr, storeErr, identityErr error
	identity                             *identity.Identity
	told                                 bool // the method errors has returned the errors
}

// beginOpening begins to open the store and to make keys and certificates, which takes most of the
// time of a start; the declared parts are made meanwhile. If a declared part fails, the end that is
// pushed here adds the errors of the opening, so that New reports everything that is wrong at once.
func (a *assembly) beginOpening() error {
	o := &opening{declared: make(chan struct{})}
	o.close = sync.OnceFunc(func() { close(o.declared) })
	a.opening = o
	a.encryption, o.encryptionErr = backing.NewEncryption(a.Storage.EncryptionConfigFile, a.Storage.EncryptionReload,
		a.registry, a.Log)
	a.store = a.newStore(a.table, a.metrics.store, a.encryption, generic.AcceptorOf(a.table, o.declared))
	a.ends.push(func() error {
		o.close()
		o.Wait()
		if o.identity != nil {
			o.identity.Accounts.Close()
		}
		return errors.Join(o.errors(), a.store.Close())
	})
	o.Go(func() { o.storeErr = a.store.Open(a.ctx) })
	o.Go(func() { a.encryption.WaitForPlugins(a.ctx) })
	o.Go(func() { o.identity, o.identityErr = identity.New(a.ctx, a.identityNeeds(a.self, a.registry)) })
	return nil
}

// errors returns the errors of the opening at its first call, and nil afterwards, so that New does
// not return one error twice.
func (o *opening) errors() error {
	if o.told {
		return nil
	}
	o.told = true
	return errors.Join(o.encryptionErr, o.storeErr, o.identityErr)
}

// awaitOpening waits until the store is open and the identity is complete.
func (a *assembly) awaitOpening() error {
	a.opening.close()
	a.opening.Wait()
	if err := a.opening.errors(); err != nil {
		return err
	}
	a.identity = a.opening.identity
	a.identity.Accounts.Follow(a.work.Run, a.Log)
	return nil
}

// openStore opens the store for a Judge or CheckStore, which write nothing to it. A store of files
// takes every file, also those that a server would refuse.
func (a *assembly) openStore() (err error) {
	a.encryption, err = backing.NewEncryption(a.Storage.EncryptionConfigFile, false, a.registry, a.Log)
	if err != nil {
		return err
	}
	a.store = a.newStore(a.table, a.metrics.store, a.encryption, nil)
	a.ends.push(a.store.Close)
	if err := a.store.Open(a.ctx); err != nil {
		return err
	}
	a.encryption.WaitForPlugins(a.ctx)
	return nil
}

// makeAuthenticators makes the chain of authenticators.
func (a *assembly) makeAuthenticators() (err error) {
	a.authenticator, a.tokens, err = a.identity.Authenticators(&a.Authentication, identity.AuthenticatorNeeds{
		Stores: a.resources.Stores, Run: a.work.Run, Metrics: a.registry, Flawed: a.metrics.flaws.webhooks, Log: a.Log,
	})
	return err
}

// makeAuthorizers makes the chain of authorizers, and sets it in the access.Promise that resources
// and plugins hold.
func (a *assembly) makeAuthorizers() (err error) {
	a.authorizers, err = access.New(a.access, access.Needs{
		Stores: a.resources.Stores, Metrics: a.registry, Flawed: a.metrics.flaws.webhooks, Run: a.work.Run, Log: a.Log,
	})
	if err != nil {
		return err
	}
	a.promised.Keep(access.Promised{
		Tokens:      a.tokens,
		Audiences:   a.Authentication.Audiences,
		Authorizers: a.authorizers,
		Issuer:      a.identity.Accounts,
	})
	return nil
}

// makeAggregator makes the aggregator, which begins the delegation chain, and the gate that bounds
// how many requests run.
func (a *assembly) makeAggregator() (err error) {
	a.gate = newGate(a.Limits, a.registry)
	a.behind, err = aggregator.New(aggregator.Needs{
		Config: a.API.Aggregation, Host: a.resources, On: a.on.Aggregator, Resolve: a.resolve,
		Certificate: a.identity.Proxy, Gate: a.gate, Flawed: a.metrics.flaws.behind, Metrics: a.registry,
		Ends: a.life.controllers.Context(), Loop: a.life.controllers.Run,
	})
	return err
}

// newGate makes the gate that decides which requests may run. A negative number in the
// configuration means no bound; in filters.Limits, 0 means no bound.
func newGate(c LimitsConfig, reg prometheus.Registerer) filters.Gate {
	limit := func(n int) int64 { return int64(max(n, 0)) }
	return filters.NewInFlight(filters.Limits{
		Reads:  limit(c.MaxReads),
		Writes: limit(c.MaxWrites),
		Long:   limit(c.MaxWatches),
	}, reg)
}

// makeHandler puts the filters in front of the delegation chain.
func (a *assembly) makeHandler() error {
	tracer, err := inspect.NewTracer(a.Serving.Debug.TracingFile, a.work.Run, a.Log)
	if err != nil {
		return err
	}
	a.handler = filters.Chain(a.behind, filters.Config{
		Fail:           router.WriteError,
		Authenticator:  connections.MarkAuthenticated(a.authenticator),
		Authorizer:     a.authorizers,
		Log:            a.Log,
		Registry:       a.registry,
		Metrics:        a.metrics.requests,
		Tracer:         tracer,
		Auditing:       a.auditing,
		Drain:          a.life.drain,
		Gate:           a.gate,
		RequestTimeout: a.Limits.RequestTimeout,
		Origins:        a.origins,
		NoCompression:  a.API.Without.Compression,
		Server:         "Coracle/" + Version,
		Settings:       a.Serving.HTTP.Settings,
	}.Steps()...)
	return nil
}

// makeClient makes the client by which the server calls itself.
func (a *assembly) makeClient() (err error) {
	a.client, err = newLoopback(a.handler, a.identity.Loopback, a.codecs, a.resources, a.metrics)
	return err
}

// makeListeners makes the listeners. They open no port before Run.
func (a *assembly) makeListeners() (err error) {
	cfg := a.Serving.connections(a.identity.TLSConfig(a.Serving.protocols()), a.Limits.longest(), a.life.bursts,
		filters.LimitLog(a.Log))
	a.listeners, err = connections.New(cfg, a.registry)
	return err
}

// makeAddresses makes the part that repairs the allocation of cluster IPs and node ports, and
// publishes the addresses of the server.
func (a *assembly) makeAddresses() (err error) {
	a.givenAddresses, err = addresses.New(a.API.Services, addresses.Needs{
		Resources:      a.resources,
		NodePorts:      a.nodePorts,
		Self:           a.self,
		Peers:          a.peers,
		Client:         a.client,
		Loops:          a.life.controllers,
		Shared:         a.Storage.shared(),
		Lease:          !a.API.Without.IdentityLease,
		RequestTimeout: a.Limits.RequestTimeout,
	})
	return err
}

// makeServer makes the Server from the parts before it. The parts after it add hooks to it.
func (a *assembly) makeServer() error {
	a.server = &Server{
		Scheme: a.scheme, Codecs: a.codecs, Chain: a.on, Metrics: a.registry,
		Resources: a.resources, links: links{a.definitions, a.behind}, addresses: a.givenAddresses,
		handler: a.handler, client: a.client, identity: a.identity, listeners: a.listeners, life: a.life,
	}
	return nil
}
