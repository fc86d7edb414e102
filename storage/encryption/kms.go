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

// KMS is a plugin that encrypts with keys of its own: version 2 of Kubernetes' interface. All methods may be called at once.
type KMS interface {
	Status(ctx context.Context) (KMSStatus, error)
	// Encrypt and Decrypt get an id of the call, for logs.
	Encrypt(ctx context.Context, call string, plain []byte) (KMSCipher, error)
	Decrypt(ctx context.Context, call string, c KMSCipher) ([]byte, error)
	Close()
}

// KMSStatus is the state of a plugin: what it speaks, "ok" if it is well, and the key that it encrypts with now.
type KMSStatus struct{ Version, Healthz, KeyID string }

// KMSCipher is what a plugin has encrypted, and what it wants to be told when it decrypts that.
type KMSCipher struct {
	Data        []byte
	KeyID       string
	Annotations map[string][]byte
}

// Hooks are functions called on events, each nil or safe for concurrent use. They must return soon.
type Hooks struct {
	// Checked: a plugin was asked for its state. err says why it cannot be used.
	Checked func(plugin string, err error)
	// KeyNamed: it said which key it encrypts with. If that cannot be, wrong is "empty" or "too_long".
	KeyNamed func(plugin, key, wrong string)
	// KeyUsed: a value was written or read by a key of the plugin.
	KeyUsed func(plugin, key string, written bool)
	// Missed: the plugin had to be asked for a seed.
	Missed func(plugin string)
	// Seeds: so many of its seeds are known.
	Seeds func(plugin string, n int)
	// SeedMade: a seed was made, to be encrypted by a plugin.
	SeedMade func(took time.Duration)
	// Transforms returns what hears of each value of a resource that a provider has encrypted (written) or decrypted. It is called once
	// for each of those that a resource has: methods by the beginning of what they store, as in "k8s:enc:aesgcm:v1:", keys by their names
	// and a colon, "" and "identity" for what writes and reads without either, and "unknown" for values that no provider is there for.
	Transforms func(resource, provider string, written bool) func(took time.Duration, err error)
}

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

// The course of time with a plugin, as kube-apiserver has it: whoever gives it another key and waits for the sum of the first and
// the third knows that it is written with, or nothing is.
const (
	checkInterval = time.Minute      // between two looks at its state
	retryInterval = 10 * time.Second // the same while something is wrong
	writeTime     = 3 * time.Minute  // for which it is written with a seed after the last good answer
	goodTime      = 20 * time.Second // for which a good answer is repeated
	badTime       = 3 * time.Second  // and a bad one
	missTime      = time.Second      // for which a seed is not asked for again
)

// plugin is the method of a KMS plugin.
type plugin struct {
	name    string
	service KMS
	timeout time.Duration // of each call
	hooks   *Hooks
	writing atomic.Pointer[writer] // nil until the plugin has encrypted a seed
	seeds   seeds
	asking  singleflight.Group // for seeds
	misses  sync.Map           // *miss by seedID

	mu      sync.Mutex // one looks at a time
	version string     // of its first answer
	checked error      // what came of the last look
	again   time.Time  // when to look again
}

// writer is a seed to write with.
type writer struct {
	wrapped
	seed  seed
	id    seedID
	until time.Time
	tail  []byte // of what is stored, behind the data
}

// miss is a seed that could not be had.
type miss struct {
	err   error
	until time.Time
}

func newPlugin(name string, service KMS, timeout time.Duration, hooks *Hooks) *plugin {
	p := &plugin{name: name, service: service, timeout: timeout, hooks: hooks}
	p.seeds = seeds{all: map[seedID]*knownSeed{}, count: func(n int) { hooks.Seeds(name, n) }}
	return p
}

// passingError is one that may not come again.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// passing reports whether an error may not come again.
func passing(err error) bool { return errors.As(err, new(passingError)) }

// called is the error of a call to the plugin.
func called(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted:
		return passingError{err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return passingError{err}
	}
	return err
}

// seal implements method.
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

// open implements method.
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

func (p *plugin) notReady() error {
	return passingError{fmt.Errorf("the KMS plugin %s has not encrypted a seed yet", p.name)}
}

// opener returns what decrypts by a seed, for which the plugin is asked if it is not known. However many ask for it: the plugin is
// asked once, and not again at once when it failed.
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

// ask has the plugin decrypt a seed. Others may wait for it, too: it does not end with ctx.
func (p *plugin) ask(ctx context.Context, sealed *wrapped) (opener, error) {
	p.hooks.Missed(p.name)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
	defer cancel()
	secret, err := p.service.Decrypt(ctx, uuid.NewString(), sealed.KMSCipher)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt DEK, error: %w", called(err))
	}
	return newOpener(sealed.kind, secret)
}

// poll looks at the plugin's state until ctx ends.
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

// check says why the plugin cannot be used. It repeats the last answer for a while.
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

// look asks the plugin for its state, and for another seed if it has another key.
func (p *plugin) look(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	state, err := p.service.Status(bound)
	if err != nil {
		return fmt.Errorf("failed to perform status section of the healthz check for KMS Provider %s, error: %w", p.name, err)
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
		errs = append(errs, fmt.Errorf("KMSv2 API version should not change after the initial status response version %s, got %s", p.version, state.Version))
	}
	if code, err := validateKeyID(state.KeyID); err != nil {
		p.hooks.KeyNamed(p.name, state.KeyID, code)
		errs = append(errs, fmt.Errorf("got invalid KMSv2 KeyID hash %q: %w", hashOf(state.KeyID), err))
	} else {
		p.hooks.KeyNamed(p.name, state.KeyID, "")
		errs = append(errs, p.follow(ctx, state.KeyID))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kmsv2 Provider %s is not healthy, error: %w", p.name, err)
	}
	return nil
}

// follow has it written with a seed that the present key of the plugin has encrypted. With an error the last one stays until
// its time is up.
func (p *plugin) follow(ctx context.Context, keyID string) error {
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
		return fmt.Errorf("failed to rotate DEK: statusKeyIDHash=%q, encryptKeyIDHash=%q", hashOf(keyID), hashOf(w.KeyID))
	}
	w.id, w.tail = w.wrapped.id(), w.appendTo(nil)
	p.use(w)
	return nil
}

// use writes with w from now on. What it writes can be read a day longer.
func (p *plugin) use(w *writer) {
	p.seeds.add(w.id, w.seed)
	p.writing.Store(w)
}

// hashOf is how keys of plugins are shown.
func hashOf(keyID string) string {
	if keyID == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(keyID)))
}
