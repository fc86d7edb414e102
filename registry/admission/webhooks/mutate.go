package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin MutatingAdmissionWebhook: which hooks it calls in which order, and which
// hooks it calls again in the second run of the mutators. Chain.Mutate calls it at most twice for
// each try of a write. call.go calls one hook, and patched.go applies its patch.

// Mutating is the plugin MutatingAdmissionWebhook.
type Mutating struct{ caller }

// NewMutating returns the plugin, which takes its hooks from source.
func NewMutating(source Source, means Means) *Mutating {
	return &Mutating{caller{source: source, means: &means}}
}

const mutatingName = "MutatingAdmissionWebhook"

// WithFiles adds hooks in files to p and returns it. The caller calls it before p is used.
func (p *Mutating) WithFiles(hooks func() *Hooks) *Mutating {
	p.files = &files{now: hooks}
	return p
}

// Name is the plugin's name.
func (*Mutating) Name() string { return mutatingName }

// The prefixes of audit annotations. The rest of a key is round_N_index_M: the run of the mutators
// and the place of the hook among all hooks, from 0.
const (
	patchAnnotation    = "patch.webhook.admission.k8s.io/"
	mutationAnnotation = "mutation.webhook.admission.k8s.io/"
	openAnnotation     = "failed-open."
)

// Mutate calls the hooks that want the write, one after the other, and applies their patches to
// a.Object.
func (p *Mutating) Mutate(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.hooksFor(ctx, a)
	if hooks == nil {
		return err
	}
	var m *mutation // made for the first candidate
	for at := range hooks.index.Candidates(a, p.means.World) {
		if m == nil {
			m = p.begin(a)
		}
		if err := m.step(ctx, at); err != nil {
			return err
		}
	}
	if m != nil {
		m.end()
	}
	return nil
}

// mutation is one run of the plugin over a write.
type mutation struct {
	*Mutating
	a     *admission.Attributes
	round *round
	// view is the write as the last hook saw it or left it; nil: the next hook needs a new view.
	view    *view
	options []byte                // nil until they are needed
	told    *admission.HookTeller // of the hook that is called
}

// round is the state that the plugin keeps from the first run of the mutators to the second.
type round struct {
	ran   map[string]bool // by id: hooks that ran, and run again if the object changes after them
	again map[string]bool // by id: hooks that run in the second run
	last  meta.Typed      // a copy of the object as the first run left it
}

// begin begins a run. If another plugin changed the object after the first run, all hooks that ran
// and may run again do so in the second run.
func (p *Mutating) begin(a *admission.Attributes) *mutation {
	m := &mutation{Mutating: p, a: a}
	if m.round, _ = a.Kept(mutatingName).(*round); m.round == nil || !a.Reinvoked {
		m.round = &round{ran: map[string]bool{}, again: map[string]bool{}}
	} else if len(m.round.ran) > 0 && !sameObjects(m.round.last, a.Object) {
		m.changed()
	}
	return m
}

// end keeps the round for the second run, with a copy of the object.
func (m *mutation) end() {
	if m.a.Reinvoked {
		return
	}
	if len(m.round.ran) > 0 && m.a.Object != nil {
		m.round.last = scheme.Copy(m.a.Object)
	}
	m.a.Keep(mutatingName, m.round)
}

// changed notes that the object has changed: hooks that ran before run again.
func (m *mutation) changed() {
	for id := range m.round.ran {
		m.round.again[id] = true
	}
	clear(m.round.ran)
}

func sameObjects(a, b meta.Typed) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return scheme.EqualObjects(a, b)
}

// step calls one hook if it wants the write. A hook that did not run in the first run does not run
// in the second, even if it matches the changed object.
func (m *mutation) step(ctx context.Context, h indexedHook) error {
	t, wanted, err := m.wants(ctx, m.a, h.hook, func(t *matching.Target) (*view, error) { return m.show(ctx, t) })
	if err != nil || !wanted {
		return err
	}
	if m.a.Reinvoked && !m.round.again[h.id] {
		if m.a.Told() {
			h.tellUncalled(m.a, nil, "in the second run, it runs only if reinvocationPolicy is IfNeeded "+
				"and the object has changed after its call")
		}
		return nil
	}
	if _, err := m.show(ctx, &t); err != nil {
		return meta.NewInternalError(err)
	}
	m.told = h.told(m.a, &t)
	began := time.Now()
	within, span := m.span(ctx, h.hook, m.a)
	changed, refused, err := m.call(within, h, t)
	span.End()
	took := time.Since(began)
	m.observe(h.hook, m.a.Operation, took, err, refused)
	defer h.tellEnd(m.told, took, err, refused)
	if changed {
		m.changed()
		m.a.Reinvoke()
	}
	if h.again {
		m.round.ran[h.id] = true
	}
	f := (*failure)(nil)
	switch {
	case !errors.As(err, &f):
		return err
	case !h.failsOpen:
		return meta.NewInternalError(f)
	case !f.canceled:
		m.a.Annotate(openAnnotation+mutationAnnotation+m.key(h), h.name)
	}
	if ctx.Err() != nil {
		return errTooLate()
	}
	return nil
}

// errTooLate is the error of a write whose time is up.
func errTooLate() error {
	return meta.NewTimeout("request did not complete within requested timeout", 0)
}

// key returns the last part of the keys of the audit annotations about a call.
func (m *mutation) key(h indexedHook) string {
	run := 0
	if m.a.Reinvoked {
		run = 1
	}
	return fmt.Sprintf("round_%d_index_%d", run, h.index)
}

// show returns the view of the write for a target: the present one if it has the right form,
// otherwise a new one.
func (m *mutation) show(ctx context.Context, t *matching.Target) (*view, error) {
	if m.view != nil && m.view.form == (form{t.Type, t.Kind}) {
		return m.view, nil
	}
	v, err := newView(ctx, m.a, t)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	m.view = v
	return v, nil
}

// call calls a hook and applies its patch. changed says that the patch changed the object, refused
// that err is the hook's refusal.
func (m *mutation) call(ctx context.Context, h indexedHook, t matching.Target) (changed, refused bool, err error) {
	defer func() {
		m.annotate(m.a.Annotate, mutationAnnotation+m.key(h), &mutationNote{h.configuration, h.name, changed})
	}()
	if m.options == nil {
		if m.options, err = encodeOptions(m.a); err != nil {
			return false, false, meta.NewInternalError(err)
		}
	}
	if err := m.view.encode(); err != nil {
		return false, false, meta.NewInternalError(err)
	}
	answer, err := m.ask(ctx, h.hook, &question{m.a, t, m.view, m.options})
	if err != nil {
		return false, false, err
	}
	h.tell(m.a, answer)
	if !answer.Allowed {
		return false, true, refusal(h.name, answer.Result)
	}
	if len(answer.Patch) == 0 {
		return false, false, nil
	}
	changed, err = m.patch(ctx, h, answer)
	return changed, false, err
}

// mutationNote is the value of an annotation that says whether a hook changed the object.
type mutationNote struct {
	Configuration string `json:"configuration"`
	Webhook       string `json:"webhook"`
	Mutated       bool   `json:"mutated"`
}

// patchNote is the value of an annotation that says how a hook changed the object.
type patchNote struct {
	Configuration string                       `json:"configuration"`
	Webhook       string                       `json:"webhook"`
	Patch         []map[string]json.RawMessage `json:"patch,omitempty"`
	PatchType     string                       `json:"patchType,omitempty"`
}

// annotate calls to, which adds an audit annotation, with the JSON of a note.
func (m *mutation) annotate(to func(key, value string), key string, note any) {
	if text, err := json.Marshal(note); err == nil { // a note has only strings and JSON that has been read
		to(key, string(text))
	}
}
