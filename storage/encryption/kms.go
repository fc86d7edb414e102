package encryption

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The method of KMS v2. A plugin has one seed that writes (writing), caches the seeds that read
// (seeds.go), and is polled for its state. Chain.Encrypt and Decrypt call seal and open; Set runs
// poll and calls check for health checks.

// KMS is a client of a KMS plugin, which encrypts with keys of its own: version 2 of Kubernetes'
// interface (KEP-3299). All methods may be called at once.
type KMS interface {
	// Status asks for the state of the plugin.
	Status(ctx context.Context) (KMSStatus, error)
	// Encrypt encrypts plain with the plugin's present key. call is an id of the call, for the
	// plugin's log.
	Encrypt(ctx context.Context, call string, plain []byte) (KMSCipher, error)
	// Decrypt decrypts c with the key that c names. call is an id of the call, for the plugin's
	// log.
	Decrypt(ctx context.Context, call string, c KMSCipher) ([]byte, error)
	// Close ends the connection to the plugin.
	Close()
}

// KMSStatus is the state of a plugin: the version of the interface, "ok" in Healthz if the plugin
// is well, and the name of the key with which it encrypts.
type KMSStatus struct{ Version, Healthz, KeyID string }

// KMSCipher is the result of KMS.Encrypt. KMS.Decrypt needs all of it: the ciphertext, the name of
// the key, and annotations that only the plugin understands.
type KMSCipher struct {
	Data        []byte
	KeyID       string
	Annotations map[string][]byte
}

// Hooks are functions called on events, for metrics and logs. Each is nil or safe for concurrent
// use, and must return soon.
type Hooks struct {
	// Checked is called when a plugin was asked for its state. err says why it cannot be used, nil
	// if it can.
	Checked func(plugin string, err error)
	// KeyNamed is called when a plugin named its key. wrong is "empty" or "too_long" if the name is
	// invalid, else "".
	KeyNamed func(plugin, key, wrong string)
	// KeyUsed is called when a value was written or read with a key of the plugin.
	KeyUsed func(plugin, key string, written bool)
	// Missed is called when a plugin had to decrypt a seed, because it was not cached.
	Missed func(plugin string)
	// Seeds reports how many seeds of a plugin are cached.
	Seeds func(plugin string, n int)
	// SeedMade is called when a seed was made, before a plugin encrypts it.
	SeedMade func(took time.Duration)
	// Transforms returns a function that is called for each value of a resource that a provider has
	// encrypted (written) or decrypted. Transforms itself is called once for each resource,
	// provider and direction. The provider is named by its method's prefix, as
	// "k8s:enc:aesgcm:v1:", and again by its key's name and a colon. For identity the name is "" in
	// writing and "identity" in reading. "unknown" stands for values that no provider can read.
	Transforms func(resource, provider string, written bool) func(took time.Duration, err error)
}

// fill sets each nil hook to a function that does nothing.
func (h *Hooks) fill() {
	if h.Checked == nil {
		h.Checked = func(string, error) {}
	}
	if h.KeyNamed == nil {
		h.KeyNamed = func(string, string, string) {}
	}
	if h.KeyUsed == nil {
		h.KeyUsed = func(string, string, bool) {}
	}
	if h.Missed == nil {
		h.Missed = func(string) {}
	}
	if h.Seeds == nil {
		h.Seeds = func(string, int) {}
	}
	if h.SeedMade == nil {
		h.SeedMade = func(time.Duration) {}
	}
	if h.Transforms == nil {
		h.Transforms = func(string, string, bool) func(time.Duration, error) { return func(time.Duration, error) {} }
	}
}

// These are the times of a plugin, as in kube-apiserver. An operator who gives the plugin another
// key and waits for checkInterval and writeTime knows that values are written with that key, or not
// at all.
const (
	checkInterval = time.Minute      // between two polls of its state
	retryInterval = 10 * time.Second // between two polls while the plugin cannot be used
	writeTime     = 3 * time.Minute  // how long a seed may write after the last good answer
	goodTime      = 20 * time.Second // how long check repeats a good answer
	badTime       = 3 * time.Second  // how long check repeats a bad answer
	missTime      = time.Second      // how long a seed that the plugin could not decrypt is not asked for again
)

// plugin is the method of one KMS plugin.
type plugin struct {
	name    string
	service KMS
	timeout time.Duration // of each call
	hooks   *Hooks
	writing atomic.Pointer[writer] // nil until the plugin has encrypted a seed
	seeds   seeds                  // cached seeds that read
	asking  singleflight.Group     // one call per seed that is not cached
	misses  sync.Map               // *miss by seedID

	mu      sync.Mutex // one poll at a time; guards the fields below
	version string     // of the interface, in the first answer
	checked error      // result of the last poll
	again   time.Time  // when check polls again
}

// writer is the seed that writes, as it is and as the plugin has encrypted it. It is immutable.
type writer struct {
	wrapped
	seed  seed
	id    seedID    // of wrapped
	until time.Time // when it may no longer write
	tail  []byte    // the stored fields behind the data, the same for each value
}

// miss is the error for a seed that the plugin could not decrypt, and the time until which the
// plugin is not asked again.
type miss struct {
	err   error
	until time.Time
}

// newPlugin returns the method of the plugin name. It makes no call.
func newPlugin(name string, service KMS, timeout time.Duration, hooks *Hooks) *plugin {
	p := &plugin{name: name, service: service, timeout: timeout, hooks: hooks}
	p.seeds = seeds{all: map[seedID]*knownSeed{}, count: func(n int) { hooks.Seeds(name, n) }}
	return p
}

// passingError is an error after which another try may succeed.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// passing reports whether another try may succeed after err.
func passing(err error) bool { return errors.As(err, new(passingError)) }

// callError returns the error of a call to the plugin, as a passingError if its code says that the
// plugin could not answer.
func callError(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted:
		return passingError{err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return passingError{err}
	}
	return err
}

// seal implements method. It makes no call to the plugin. The messages are kube-apiserver's.
func (p *plugin) seal(_ context.Context, plain, aad []byte) ([]byte, error) {
	w := p.writing.Load()
	if w == nil {
		return nil, p.notReady()
	}
	if now := time.Now(); now.After(w.until) {
		return nil, passingError{fmt.Errorf("encryptedDEKSource with keyID hash %q expired at %s (current time is %s)",
			hashOf(w.KeyID), w.until.Format(time.RFC3339), now.Format(time.RFC3339))}
	}
	data, err := w.seed.seal(plain, aad)
	if err != nil {
		return nil, err
	}
	p.hooks.KeyUsed(p.name, w.KeyID, true)
	out := make([]byte, 0, len(data)+len(w.tail)+16)
	return append(appendBytes(out, fieldData, data), w.tail...), nil
}

// open implements method. It calls the plugin only if the seed of the value is not cached.
func (p *plugin) open(ctx context.Context, data, aad []byte) ([]byte, bool, error) {
	s, err := readSealed(data)
	if err != nil {
		return nil, false, err
	}
	w := p.writing.Load()
	if w == nil {
		return nil, false, p.notReady()
	}
	o, err := p.opener(ctx, &s.wrapped, w)
	if err != nil {
		return nil, false, err
	}
	p.hooks.KeyUsed(p.name, s.KeyID, false)
	plain, err := o.unseal(s.data, aad)
	return plain, s.KeyID != w.KeyID || s.kind != w.kind, err
}

// notReady is the error of a plugin that has not encrypted its first seed.
func (p *plugin) notReady() error {
	return passingError{fmt.Errorf("the KMS plugin %s has not encrypted a seed yet", p.name)}
}

// opener returns the decrypted seed or key that sealed holds, from the cache or from the plugin.
// Concurrent callers share one call to the plugin, and after an error the plugin is not asked for
// missTime.
func (p *plugin) opener(ctx context.Context, sealed *wrapped, w *writer) (opener, error) {
	id := sealed.id()
	if id == w.id {
		return w.seed, nil
	}
	if o := p.seeds.find(id); o != nil {
		return o, nil
	}
	o, err, _ := p.asking.Do(string(id[:]), func() (any, error) {
		if o := p.seeds.find(id); o != nil {
			return o, nil
		}
		if m, ok := p.misses.Load(id); ok && time.Now().Before(m.(*miss).until) {
			return nil, m.(*miss).err
		}
		o, err := p.ask(ctx, sealed)
		if err != nil {
			p.misses.Store(id, &miss{err, time.Now().Add(missTime)})
			return nil, err
		}
		p.misses.Delete(id)
		p.seeds.add(id, o)
		return o, nil
	})
	if err != nil {
		return nil, err
	}
	return o.(opener), nil
}

// ask lets the plugin decrypt a seed. The call does not end with ctx, because other callers may
// wait for it.
func (p *plugin) ask(ctx context.Context, sealed *wrapped) (opener, error) {
	p.hooks.Missed(p.name)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
	defer cancel()
	secret, err := p.service.Decrypt(ctx, uuid.NewString(), sealed.KMSCipher)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt DEK, error: %w", callError(err))
	}
	return newOpener(sealed.kind, secret)
}

// poll checks the plugin's state, every checkInterval or retryInterval, until ctx ends.
func (p *plugin) poll(ctx context.Context) {
	for {
		wait := checkInterval
		if p.check(ctx) != nil {
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// check returns why the plugin cannot be used, nil if it can. It polls the plugin unless the last
// answer is recent (goodTime, badTime).
func (p *plugin) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.again) {
		return p.checked
	}
	p.checked = p.look(context.WithoutCancel(ctx))
	wait := goodTime
	if p.checked != nil {
		wait = badTime
	}
	p.again = time.Now().Add(wait)
	p.misses.Clear()
	p.hooks.Checked(p.name, p.checked)
	return p.checked
}

// look asks the plugin for its state, and makes another seed if the plugin has another key.
func (p *plugin) look(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	state, err := p.service.Status(bound)
	if err != nil {
		return fmt.Errorf("failed to perform status section of the healthz check for KMS Provider %s, error: %w",
			p.name, err)
	}
	var errs []error
	if state.Healthz != "ok" {
		errs = append(errs, fmt.Errorf("got unexpected healthz status: %s", state.Healthz))
	}
	switch {
	case state.Version != "v2" && state.Version != "v2beta1":
		errs = append(errs, fmt.Errorf("expected KMSv2 API version v2, got %s", state.Version))
	case p.version == "":
		p.version = state.Version
	case p.version != state.Version:
		errs = append(errs, fmt.Errorf("KMSv2 API version should not change after "+
			"the initial status response version %s, got %s", p.version, state.Version))
	}
	if code, err := validateKeyID(state.KeyID); err != nil {
		p.hooks.KeyNamed(p.name, state.KeyID, code)
		errs = append(errs, fmt.Errorf("got invalid KMSv2 KeyID hash %q: %w", hashOf(state.KeyID), err))
	} else {
		p.hooks.KeyNamed(p.name, state.KeyID, "")
		errs = append(errs, p.writeWith(ctx, state.KeyID))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kmsv2 Provider %s is not healthy, error: %w", p.name, err)
	}
	return nil
}

// writeWith makes sure that the seed that writes is encrypted with the key keyID, and extends the
// seed's time. If it fails, the earlier seed writes until its time is up.
func (p *plugin) writeWith(ctx context.Context, keyID string) error {
	until := time.Now().Add(writeTime)
	if now := p.writing.Load(); now != nil && now.KeyID == keyID {
		next := *now
		next.until = until
		p.use(&next)
		return nil
	}
	began := time.Now()
	w := &writer{seed: newSeed(), until: until}
	p.hooks.SeedMade(time.Since(began))
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	var err error
	if w.KMSCipher, err = p.service.Encrypt(ctx, uuid.NewString(), w.seed); err != nil {
		return fmt.Errorf("failed to rotate DEK: failed to encrypt DEK, error: %w", err)
	}
	w.kind = kindSeed
	if err := w.validate(); err != nil {
		return fmt.Errorf("failed to rotate DEK: %w", err)
	}
	if w.KeyID != keyID {
		return fmt.Errorf("failed to rotate DEK: statusKeyIDHash=%q, encryptKeyIDHash=%q", hashOf(keyID),
			hashOf(w.KeyID))
	}
	w.id, w.tail = w.wrapped.id(), w.appendTo(nil)
	p.use(w)
	return nil
}

// use makes w the seed that writes. Its seed is cached, so that its values can be read after
// another seed has replaced it.
func (p *plugin) use(w *writer) {
	p.seeds.add(w.id, w.seed)
	p.writing.Store(w)
}

// hashOf returns the hash of a key's name, which messages show instead of the name.
func hashOf(keyID string) string {
	if keyID == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(keyID)))
}
