package request

import (
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Story is what admission did with a request, for a person who wants to know why an object is as it
// is, or why a write was refused. Somebody who wants the story of a request sets Record.Story to an
// empty Story before the request reaches the router. Without it, admission pays a comparison with
// nil for each plugin.
//
// A request has several tries if its write starts again because another writer was faster, and if
// it writes several objects, as a deletecollection does.
//
// A Story shows parts of objects: what was in a Secret is in the Story of its write. Whoever shows
// a Story must ask whether the reader may read the objects.
//
// Its length is bounded, and it says what it leaves out: see the constants. A Story may be written
// to by many goroutines. It is read after the request has ended, like the Record, and then nobody
// writes to it.
type Story struct {
	mu    sync.Mutex
	tries []*Try
	// steps is how many steps, hooks and tries the Story has, and bytes how long its texts are.
	// left is how many tries are left out.
	steps, bytes, left int
}

// The bounds of a Story.
const (
	MaxStorySteps  = 2000     // tries, steps and hooks together
	MaxStoryBytes  = 1 << 20  // objects, patches and texts together
	MaxStoryObject = 64 << 10 // bytes of the object of a try
	MaxStoryPatch  = 16 << 10 // bytes of a patch
	MaxStoryText   = 4 << 10  // bytes of a text, such as a warning
)

// Try is one run of a write through the plugins. One goroutine writes to it at a time.
type Try struct {
	Operation       string
	Resource        meta.GroupVersionResource
	Subresource     string
	Kind            meta.GroupVersionKind
	Namespace, Name string // as the plugins saw them first; the name of a new object may not be known yet
	DryRun          bool
	// Object is the object that the first plugin saw, as JSON in the version of Kind: the old
	// object of a deletion, and the options of a connect. It is nil if there is none, or if it is
	// longer than the bounds allow; ObjectSize is its length in bytes.
	Object     []byte
	ObjectSize int
	// Steps are the calls of plugins in their order. Left is how many of them are left out.
	Steps []*Step
	Left  int
}

// Phase is a part of admission, in which all plugins that take part in it run.
type Phase string

// The phases, in their order.
const (
	PhaseMutate   Phase = "mutate"
	PhaseValidate Phase = "validate"
	PhaseReserve  Phase = "reserve"
)

// Step is one call of a plugin. The step of the phase validate whose Plugin is "" is no call: its
// Patch is what the server itself has changed after the mutators, such as the fields that it owns.
type Step struct {
	Plugin string
	Phase  Phase
	// Again is set in the second run of the mutators.
	Again bool
	Result
	// Hooks are the webhooks or the bindings of policies that the plugin knows, in their order.
	// If a plugin matches all hooks before it calls the first, the hooks that are not called come
	// first. Left is how many are left out.
	Hooks []*Hook
	Left  int
}

// Hook is one webhook, or one policy with one binding and one object of params. A policy that is
// not for the write, that cannot be used or that no binding names has no Binding.
type Hook struct {
	Name string // of the webhook or policy
	// Configuration is the object that has the webhook; "" for a policy.
	Configuration string
	// Binding is the binding of the policy, and Params the object that parametrizes it, as
	// NAMESPACE/NAME or NAME; "" if there are none.
	Binding, Params string
	// Kind and Resource say how the hook saw the write: as in the try, or as an equivalent
	// resource. They are empty if the hook is not for the write. Patches are in the version of
	// Kind.
	Kind     meta.GroupVersionKind
	Resource meta.GroupVersionResource
	Result
}

// Result is what a plugin or a hook did.
type Result struct {
	Outcome Outcome
	Took    time.Duration
	// Reasons say why the outcome is as it is: why the hook is not for the write, which validations
	// are false, what failed.
	Reasons []string
	// Refusal is what the plugin or hook answers to the client, without details; nil if it lets the
	// write pass.
	Refusal *meta.Status
	// Patch is the change of the object as a JSON patch, nil if nothing has changed. The patch of a
	// plugin is in the version of the try. PatchLeft is how many operations are left out at its
	// end.
	Patch     []byte
	PatchLeft int
	// Warnings and Annotations are what the client and the audit record were told.
	Warnings    []string
	Annotations []StoryAnnotation
}

// StoryAnnotation is an annotation of the audit record.
type StoryAnnotation struct{ Key, Text string }

// Outcome is what a plugin or a hook decided.
type Outcome string

// The outcomes. A step without an outcome has not ended: the plugin panicked.
const (
	OutcomeAdmitted Outcome = "admitted"
	OutcomeRefused  Outcome = "refused"
	// OutcomeWarned and OutcomeAudited: a validation is false, and the binding of its policy wants
	// no more than a warning, or an audit annotation.
	OutcomeWarned  Outcome = "warned"
	OutcomeAudited Outcome = "audited"
	// OutcomeFailedOpen: the hook failed, and its failure policy is Ignore.
	OutcomeFailedOpen Outcome = "failed open"
	// OutcomeFailed: the hook failed, so the write is refused.
	OutcomeFailed Outcome = "failed"
	// OutcomeSkipped: the hook is not for this write.
	OutcomeSkipped Outcome = "skipped"
)

// Tries returns the tries in the order in which they began. left is how many are left out.
func (s *Story) Tries() (tries []*Try, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries, s.left
}

// Begin adds a try. It returns nil if there is no room for it.
func (s *Story) Begin(t Try) *Try {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps == MaxStorySteps {
		s.left++
		return nil
	}
	s.steps++
	t.Object = s.fitLocked(t.Object, MaxStoryObject)
	s.tries = append(s.tries, &t)
	return &t
}

// AddStep adds a step to a try. It returns nil if there is no room for it.
func (s *Story) AddStep(t *Try, step Step) *Step {
	if !s.enter() {
		t.Left++
		return nil
	}
	t.Steps = append(t.Steps, &step)
	return &step
}

// AddHook adds a hook to a step. It returns nil if there is no room for it.
func (s *Story) AddHook(step *Step, hook Hook) *Hook {
	if !s.enter() {
		step.Left++
		return nil
	}
	step.Hooks = append(step.Hooks, &hook)
	return &hook
}

// enter makes room for a step or hook.
func (s *Story) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps == MaxStorySteps {
		return false
	}
	s.steps++
	return true
}

// Text returns a text as far as there is room for it. "..." ends a text that is cut.
func (s *Story) Text(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := max(0, min(MaxStoryText, MaxStoryBytes-s.bytes)); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	s.bytes += len(text)
	return text
}

// maxTexts is how many texts a list of a Result has.
const maxTexts = 100

// AddText appends a text to a list. The last text of a list that is full is "...".
func (s *Story) AddText(list []string, text string) []string {
	switch len(list) {
	case maxTexts:
		return list
	case maxTexts - 1:
		text = "..."
	}
	return append(list, s.Text(text))
}

// AddAnnotation adds an annotation to a list, unless the list is full.
func (s *Story) AddAnnotation(list []StoryAnnotation, key, text string) []StoryAnnotation {
	if len(list) == maxTexts {
		return list
	}
	return append(list, StoryAnnotation{s.Text(key), s.Text(text)})
}

// PatchRoom returns the length that a patch may have, in bytes.
func (s *Story) PatchRoom() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, min(MaxStoryPatch, MaxStoryBytes-s.bytes))
}

// Took counts the length of a patch among the bytes of the Story.
func (s *Story) Took(patch []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += len(patch)
}

// fitLocked returns data, or nil if there is no room for it.
func (s *Story) fitLocked(data []byte, most int) []byte {
	if len(data) > min(most, MaxStoryBytes-s.bytes) {
		return nil
	}
	s.bytes += len(data)
	return data
}
