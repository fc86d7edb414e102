package robust

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A hook is a configuration that has a say in writes of config maps: a policy with its binding, or
// a configuration of webhooks. Its name begins with its kind and is used for one hook only. It acts
// on config maps that have its name as a label: it refuses them, or stamps them with an annotation
// of its name. Each version of a hook has a generation, which increases and which its refusals and
// stamps show.

// hookKind is a kind of hooks. The object that comes and goes is of the resource. Policies and
// bindings come in pairs: the other of a pair, the helper, is there before, and seen everywhere.
type hookKind struct {
	resource string
	helper   string // resource, "" if there is none
	stamps   bool   // else it refuses
	once     bool   // it is never changed
}

var hookKinds = map[string]*hookKind{
	"policy":   {resource: "validatingadmissionpolicies", helper: "validatingadmissionpolicybindings"},
	"binding":  {resource: "validatingadmissionpolicybindings", helper: "validatingadmissionpolicies", once: true},
	"mutation": {resource: "mutatingadmissionpolicies", helper: "mutatingadmissionpolicybindings", stamps: true},
	"denial":   {resource: "validatingwebhookconfigurations"},
	"stamp":    {resource: "mutatingwebhookconfigurations", stamps: true},
}

// kindsOfHooks are the names of all kinds, in order.
var kindsOfHooks = []string{"binding", "denial", "mutation", "policy", "stamp"}

func kindOfHook(hook string) *hookKind {
	name, _, _ := strings.Cut(hook, "-")
	return hookKinds[name]
}

const (
	hookPath  = "/apis/admissionregistration.k8s.io/v1/"
	mapPath   = "/api/v1/namespaces/" + namespace + "/configmaps"
	genNote   = "robust/generation" // annotation of a configuration: its generation
	hookWords = "the robust hook "  // begins what a refusal says: hook and generation follow
)

// gone is the generation of a hook that was deleted.
const gone = math.MaxInt

// HookOp is one request of the only client that changes a hook.
type HookOp struct {
	Try
	Verb Verb
	Hook string
	Gen  int   `json:",omitempty"` // that is asked for, or shown by a get; 0 for none
	RV   int64 `json:",omitempty"` // of the answer
}

func (op *HookOp) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: %s %s generation %d -> %s %d %s rv=%d", op.Client, op.Server, op.Call,
		op.Return, op.Verb, op.Hook, op.Gen, op.Result, op.Code, op.Error, op.RV)
}

// happened reports whether the operation may have changed its hook.
func (op *HookOp) happened() bool {
	return op.Verb != get && (op.Result == acked || op.Result == inDoubt)
}

// Sight is what a server has shown of hooks: in the answer to a list, or by an event of a watch.
type Sight struct {
	Server int
	At     time.Duration // when it was received
	Whole  string        `json:",omitempty"` // the resource that a list shows as a whole
	RV     int64
	Shown  map[string]int // generations by hook; gone for one that was deleted
}

// HookWrite is a write of a config map that hooks have a say in.
type HookWrite struct {
	Try
	Verb   Verb
	Name   string
	DryRun bool           `json:",omitempty"`
	Hooks  []string       // those that act on it
	Stamps map[string]int `json:",omitempty"` // generations by hook
	By     string         `json:",omitempty"` // the hook that refused it
	Gen    int            `json:",omitempty"` // and its generation
}

func (w *HookWrite) String() string {
	return fmt.Sprintf("client %d, server %d, %v-%v: %s %s dryRun=%v for %v -> %s %d %s by %q, %v", w.Client, w.Server,
		w.Call, w.Return, w.Verb, w.Name, w.DryRun, w.Hooks, w.Result, w.Code, w.Error, w.By, w.Stamps)
}

// ServerTime is a time at a server: of a start, when the process before it had ended already, or of
// a cut between the server and its etcd, until To.
type ServerTime struct {
	Server int
	At     time.Duration
	To     time.Duration `json:",omitzero"`
}

// HookRecord is the record of a run with hooks.
type HookRecord struct {
	Ops     []*HookOp
	Writes  []*HookWrite
	Sights  []*Sight
	Starts  []ServerTime
	Cuts    []ServerTime
	Faults  map[string]int
	Trouble []string
}

// summary returns the counts of a run, for the log.
func (rec *HookRecord) summary() string {
	changes, results, stamps, dry := 0, map[Result]int{}, 0, 0
	for _, op := range rec.Ops {
		if op.happened() {
			changes++
		}
	}
	for _, w := range rec.Writes {
		r := w.Result
		if w.By != "" {
			r = refused
		}
		results[r]++
		stamps += len(w.Stamps)
		if w.DryRun {
			dry++
		}
	}
	return fmt.Sprintf("%v, %d changes of hooks, %d sights, %d writes (%d dry), %d stamps, %v", rec.Faults, changes,
		len(rec.Sights), len(rec.Writes), dry, stamps, results)
}
