package admission

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/patch"
)

// This file tells the story of a write (request.Story) while the plugins run. The chain tells of
// plugins. Plugins with hooks tell of each hook, by Attributes.TellHook.

// storyteller tells the story of one write. It belongs to the goroutine of the write.
type storyteller struct {
	story *request.Story
	// try is the present try, and step the plugin that runs. Each is nil if there is none, or no
	// room for it.
	try  *request.Try
	step *request.Step
	hook *request.Hook // the hook that runs, which gets the warnings and annotations; nil: none
	last []byte        // the object as the last plugin left it, as JSON; nil: none
}

// Tell makes the plugins tell of their work in story. A nil story changes nothing. Tell is called
// before the plugins run.
func (a *Attributes) Tell(story *request.Story) {
	if story != nil {
		a.teller = &storyteller{story: story}
	}
}

// Told reports whether somebody wants the story of the write.
func (a *Attributes) Told() bool { return a.teller != nil }

// begin begins a try.
func (s *storyteller) begin(ctx context.Context, a *Attributes) {
	s.last, s.step, s.hook = s.object(ctx, a), nil, nil
	seen, name := s.last, a.Name
	if a.Old != nil && name == "" { // of a collection that is deleted
		name = a.Old.GetObjectMeta().Name
	}
	if a.Operation == Delete {
		seen = a.encoded(a.OldIn(ctx, a.Kind.Version))
	}
	s.try = s.story.Begin(request.Try{
		Operation: string(a.Operation), Resource: a.Resource, Subresource: a.Subresource, Kind: a.Kind,
		Namespace: a.Namespace, Name: name, DryRun: a.DryRun, Object: seen, ObjectSize: len(seen),
	})
}

// between tells how the server has changed the object between the mutators and the validators.
func (s *storyteller) between(ctx context.Context, a *Attributes) {
	now := s.object(ctx, a)
	if s.try == nil || string(now) == string(s.last) {
		return
	}
	step := s.story.AddStep(s.try, request.Step{Phase: request.PhaseValidate, Result: request.Result{
		Outcome: request.OutcomeAdmitted,
	}})
	if step != nil {
		s.changed(&step.Result, s.last, now)
	}
	s.last = now
}

// object returns the object as JSON in the client's version; nil if there is none, or if it cannot
// be encoded.
func (s *storyteller) object(ctx context.Context, a *Attributes) []byte {
	if a.Operation != Connect {
		return a.encoded(a.ObjectIn(ctx, a.Kind.Version))
	}
	if a.Object == nil {
		return nil
	}
	named := scheme.Copy(a.Object) // the options of a connect do not say their kind
	named.GetTypeMeta().SetGroupVersionKind(a.Kind)
	data, _ := codec.AppendJSON(nil, named)
	return data
}

// encoded returns an object in the client's version as JSON, nil if there is none.
func (a *Attributes) encoded(obj meta.Typed, err error) []byte {
	if obj == nil || err != nil {
		return nil
	}
	data, err := a.Type.Append(nil, obj, codec.Media{})
	if err != nil {
		return nil
	}
	return data
}

// changed sets the patch of a result.
func (s *storyteller) changed(r *request.Result, from, to []byte) {
	if from == nil || to == nil {
		return
	}
	r.Patch, r.PatchLeft = patch.Diff(from, to, s.story.PatchRoom())
	s.story.Took(r.Patch)
}

// call calls a plugin in a phase, and tells of it. A chain within the chain, which has no name,
// tells of its own plugins.
func (s *storyteller) call(
	ctx context.Context, a *Attributes, plugin string, phase request.Phase, call func() error,
) error {
	if s.try == nil || plugin == "" {
		return call()
	}
	s.step = s.story.AddStep(s.try, request.Step{
		Plugin: plugin, Phase: phase, Again: a.Reinvoked && phase == request.PhaseMutate,
	})
	if s.step == nil {
		return call()
	}
	defer func() { s.step, s.hook = nil, nil }()
	began := time.Now()
	err := call()
	r := &s.step.Result
	r.Took, r.Outcome = time.Since(began), request.OutcomeAdmitted
	if err != nil {
		r.Outcome = request.OutcomeRefused
		s.refused(r, err)
	} else if phase == request.PhaseMutate {
		now := s.object(ctx, a)
		s.changed(r, s.last, now)
		s.last = now
	}
	return err
}

// refused sets the refusal of a result.
func (s *storyteller) refused(r *request.Result, err error) {
	status := meta.StatusOf(err)
	r.Refusal = &meta.Status{
		Status: status.Status, Code: status.Code, Reason: status.Reason, Message: s.story.Text(status.Message),
	}
}

// warned tells of a warning.
func (s *storyteller) warned(text string) {
	if r := s.result(); r != nil {
		r.Warnings = s.story.AddText(r.Warnings, text)
	}
}

// annotated tells of an audit annotation.
func (s *storyteller) annotated(key, text string) {
	if r := s.result(); r != nil {
		r.Annotations = s.story.AddAnnotation(r.Annotations, key, text)
	}
}

// result returns the result of the hook that runs, or else of the plugin that runs. It returns nil
// if neither runs.
func (s *storyteller) result() *request.Result {
	switch {
	case s.hook != nil:
		return &s.hook.Result
	case s.step != nil:
		return &s.step.Result
	}
	return nil
}

// run calls a plugin in a phase, and tells of it if somebody wants the story.
func run[Role Plugin](
	ctx context.Context, a *Attributes, p Role, phase request.Phase,
	call func(Role, context.Context, *Attributes) error,
) error {
	if a.teller == nil {
		return call(p, ctx, a)
	}
	return a.teller.call(ctx, a, p.Name(), phase, func() error { return call(p, ctx, a) })
}

// runReserver calls a reserver, and tells of it if somebody wants the story.
func runReserver(ctx context.Context, a *Attributes, r Reserver) (Settle, error) {
	if a.teller == nil {
		return r.Reserve(ctx, a)
	}
	return a.teller.reserve(ctx, a, r)
}

func (s *storyteller) reserve(ctx context.Context, a *Attributes, r Reserver) (settle Settle, err error) {
	err = s.call(ctx, a, r.Name(), request.PhaseReserve, func() error {
		settle, err = r.Reserve(ctx, a)
		return err
	})
	return settle, err
}

// TellReason tells why the plugin that runs does what it does.
func (a *Attributes) TellReason(reason string) {
	if s := a.teller; s != nil && s.step != nil {
		s.step.Reasons = s.story.AddText(s.step.Reasons, reason)
	}
}

// HookTeller tells of one hook of the plugin that runs. A nil HookTeller tells nobody.
type HookTeller struct {
	s     *storyteller
	hook  *request.Hook
	began time.Time
}

// TellHook tells of a hook. Until End, warnings and annotations of the write are those of the hook.
// The plugin tells of one hook after the other. The result is nil if nobody wants the story, or if
// it has no room left. To save the work of making h, a plugin asks Told first.
func (a *Attributes) TellHook(h request.Hook) *HookTeller {
	s := a.teller
	if s == nil || s.step == nil {
		return nil
	}
	if s.hook = s.story.AddHook(s.step, h); s.hook == nil {
		return nil
	}
	return &HookTeller{s, s.hook, time.Now()}
}

// Age returns the time since TellHook.
func (t *HookTeller) Age() time.Duration {
	if t == nil {
		return 0
	}
	return time.Since(t.began)
}

// Changed tells how the hook has changed the object: both are the object as JSON, in the version
// that the hook saw.
func (t *HookTeller) Changed(from, to []byte) {
	if t != nil {
		t.s.changed(&t.hook.Result, from, to)
	}
}

// Because adds a reason for the outcome.
func (t *HookTeller) Because(reason string) {
	if t != nil {
		t.hook.Reasons = t.s.story.AddText(t.hook.Reasons, reason)
	}
}

// Refused tells what the hook, or its failure, answers to the client.
func (t *HookTeller) Refused(err error) {
	if t != nil && err != nil {
		t.s.refused(&t.hook.Result, err)
	}
}

// End tells the outcome.
func (t *HookTeller) End(outcome request.Outcome, took time.Duration) {
	if t != nil {
		t.hook.Outcome, t.hook.Took = outcome, took
		t.s.hook = nil
	}
}
