package webhooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin ValidatingAdmissionWebhook: it finds the hooks that want a write, calls
// them at the same time, and joins their answers. Chain.Validate calls it once for each try of a
// write.

// Validating is the plugin ValidatingAdmissionWebhook.
type Validating struct{ caller }

// NewValidating returns the plugin, which takes its hooks from source.
func NewValidating(source Source, means Means) *Validating {
	return &Validating{caller{source: source, means: &means, validates: true}}
}

// WithFiles adds hooks in files to p and returns it. The caller calls it before p is used.
func (p *Validating) WithFiles(hooks func() *Hooks) *Validating {
	p.files = &files{now: hooks}
	return p
}

// Name is the plugin's name.
func (*Validating) Name() string { return "ValidatingAdmissionWebhook" }

// validatingAnnotation is the prefix of the keys of audit annotations about hooks that failed. The
// rest of a key is round_0_index_M; M is the place of the hook among the called hooks, from 0.
const validatingAnnotation = openAnnotation + "validating.webhook.admission.k8s.io/"

// Validate calls all hooks that want the write, at the same time. If several hooks refuse the
// write, the error is that of the first hook in order.
func (p *Validating) Validate(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.hooksFor(ctx, a)
	if hooks == nil {
		return err
	}
	var v *validation // made for the first candidate
	for at := range hooks.index.Candidates(a, p.means.World) {
		if v == nil {
			v = &validation{Validating: p, a: a, views: map[form]*view{}}
		}
		if err := v.choose(ctx, at.hook); err != nil {
			return err
		}
	}
	if v == nil || len(v.calls) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return errTooLate()
	}
	return v.run(ctx)
}

// validation is one run of the plugin over a write.
type validation struct {
	*Validating
	a     *admission.Attributes
	views map[form]*view
	calls []call
}

// call is one call of a hook. The goroutine of the call writes the fields below question.
type call struct {
	*hook
	question

	answer   *AdmissionResponse
	err      error
	took     time.Duration
	panicked any
}

// choose adds a call of h to v.calls, if h wants the write.
func (v *validation) choose(ctx context.Context, h *hook) error {
	t, wanted, err := v.wants(ctx, v.a, h, func(t *matching.Target) (*view, error) { return v.show(ctx, t) })
	if err != nil || !wanted {
		return err
	}
	shown, err := v.show(ctx, &t)
	if err != nil {
		return meta.NewInternalError(err)
	}
	v.calls = append(v.calls, call{hook: h, question: question{a: v.a, target: t, view: shown}})
	return nil
}

// show returns the view of the write for a target. Targets of the same form share a view.
func (v *validation) show(ctx context.Context, t *matching.Target) (*view, error) {
	key := form{t.Type, t.Kind}
	if shown := v.views[key]; shown != nil {
		return shown, nil
	}
	shown, err := newView(ctx, v.a, t)
	if err != nil {
		return nil, err
	}
	v.views[key] = shown
	return shown, nil
}

// run makes the calls and waits for all of them. Each call but the last has a goroutine, which ends
// with the call.
func (v *validation) run(ctx context.Context) error {
	options, err := encodeOptions(v.a)
	if err != nil {
		return meta.NewInternalError(err)
	}
	for i := range v.calls {
		v.calls[i].options = options
		if err := v.calls[i].view.encode(); err != nil {
			return meta.NewInternalError(err)
		}
	}
	var calls sync.WaitGroup
	last := len(v.calls) - 1
	for i := range v.calls[:last] {
		calls.Go(func() { v.call(ctx, &v.calls[i]) })
	}
	v.call(ctx, &v.calls[last])
	calls.Wait()
	var first error
	for i := range v.calls {
		if err := v.settle(i); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// call makes one call. A panic is kept for the goroutine of the request, because here it would end
// the server.
func (v *validation) call(ctx context.Context, c *call) {
	defer func() { c.panicked = recover() }()
	began := time.Now()
	ctx, span := v.span(ctx, c.hook, v.a)
	c.answer, c.err = v.ask(ctx, c.hook, &c.question)
	span.End()
	c.took = time.Since(began)
}

// settle reports the i-th call to the client, the audit record and the metrics, and returns the
// error for the write. It runs on the goroutine of the request, after all calls.
func (v *validation) settle(i int) error {
	c := &v.calls[i]
	if c.panicked != nil {
		panic(c.panicked)
	}
	told := c.told(v.a, &c.target)
	err, refused := c.err, false
	if c.answer != nil {
		c.tell(v.a, c.answer)
		if refused = !c.answer.Allowed; refused {
			err = refusal(c.name, c.answer.Result)
		}
	}
	v.observe(c.hook, v.a.Operation, c.took, err, refused)
	defer c.tellEnd(told, c.took, err, refused)
	f := (*failure)(nil)
	switch {
	case !errors.As(err, &f):
		return err
	case !c.failsOpen:
		return meta.NewInternalError(f)
	case !f.canceled:
		v.a.Annotate(fmt.Sprintf("%sround_0_index_%d", validatingAnnotation, i), c.name)
	}
	return nil
}
