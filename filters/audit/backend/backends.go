package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

// Backends gives each event to the log and to the webhook, as far as they are configured. It is an
// audit.Sink. The owner must call Close.
type Backends struct {
	sinks    []sink
	failures []*failures
}

var _ audit.Sink = (*Backends)(nil)

// sink gives events to one store, in one mode.
type sink interface {
	process(e *audit.Event) (stored bool)
	// close accepts no further event, and returns when every accepted event is stored or counted as
	// an error, soon after ctx has ended at the latest. It must be called once.
	close(ctx context.Context)
}

// store is where events end. Any goroutine may call deliver.
type store interface {
	// deliver stores events. It returns how many are not stored, and why. It does not keep the
	// slice.
	deliver(ctx context.Context, events []*audit.Event) (lost int, err error)
	// close is called after the last deliver has returned. It ends soon after ctx.
	close(ctx context.Context)
}

// New opens the configured stores. It reports a mistake in the configuration, a log file that
// cannot be written, and a kubeconfig that cannot be used. It does not call the webhook.
func New(c Config) (*Backends, error) {
	if err := errors.Join(c.Validate()...); err != nil {
		return nil, err
	}
	b := &Backends{}
	var hook store // made first, because add starts workers
	if c.Webhook.Kubeconfig != "" {
		w, err := newWebhook(&c.Webhook, c.Flawed)
		if err != nil {
			return nil, fmt.Errorf("initializing audit webhook: %w", err)
		}
		hook = w
	}
	if c.Log.Path != "" {
		file, err := openLog(&c.Log)
		if err != nil {
			return nil, fmt.Errorf("opening the audit log: %w", err)
		}
		b.add(&c, file, logName, &c.Log.Delivery)
	}
	if hook != nil {
		b.add(&c, hook, webhookName, &c.Webhook.Delivery)
	}
	return b, nil
}

// add adds the store called name.
func (b *Backends) add(c *Config, to store, name string, d *Delivery) {
	failed := b.failuresOf(name, c)
	if d.Truncate.Enabled {
		to = &truncating{to: to, bounds: d.Truncate, tooLarge: b.failuresOf(truncateName, c)}
	}
	if d.Mode != ModeBatch {
		b.sinks = append(b.sinks, newBlocking(to, d.Mode == ModeBlockingStrict, failed))
		return
	}
	b.sinks = append(b.sinks, newQueue(to, name, &d.Batch, failed, b.failuresOf(bufferedName, c)))
}

// failuresOf makes the failures of a plugin.
func (b *Backends) failuresOf(plugin string, c *Config) *failures {
	f := newFailures(plugin, c)
	b.failures = append(b.failures, f)
	return f
}

// Process gives an event to all stores, to one after the other. It implements audit.Sink.
func (b *Backends) Process(e *audit.Event) (stored bool) {
	stored = true
	for _, s := range b.sinks {
		stored = s.process(e) && stored
	}
	return stored
}

// Close accepts no further event, and returns when all accepted events are stored. When ctx ends
// before, Close ends the calls of the webhook and drops what is still in the buffers. It must be
// called once. A write to the log that hangs outlasts Close.
func (b *Backends) Close(ctx context.Context) {
	var closing sync.WaitGroup
	for _, s := range b.sinks {
		closing.Go(func() { s.close(ctx) })
	}
	closing.Wait()
	for _, f := range b.failures {
		f.tell(nil)
	}
}

// errClosed is why late events are dropped.
var errClosed = errors.New("audit backend shut down")

// lastWait is how long Close waits for what it has canceled.
const lastWait = time.Second

// finish waits for done. If ctx ends before, it calls cancel and waits for lastWait.
func finish(ctx context.Context, done <-chan struct{}, cancel context.CancelFunc) {
	defer cancel()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	cancel()
	last := time.NewTimer(lastWait)
	defer last.Stop()
	select {
	case <-done:
	case <-last.C:
	}
}
