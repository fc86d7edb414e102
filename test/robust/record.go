package robust

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"
)

// Verb is the kind of an operation.
type Verb string

const (
	create    Verb = "create"
	update    Verb = "update"
	merge     Verb = "merge-patch"
	jsonPatch Verb = "json-patch"
	remove    Verb = "delete"
	get       Verb = "get"
	list      Verb = "list"
)

// Result is the outcome of an operation, as far as its client knows.
type Result string

const (
	acked    Result = "acked"
	notFound Result = "not found" // 404
	conflict Result = "conflict"  // 409
	exists   Result = "exists"    // 409 of a create
	invalid  Result = "invalid"   // 422
	expired  Result = "expired"   // 410
	refused  Result = "refused"   // any other 4xx
	unsent   Result = "unsent"    // no connection: the request had no effect
	inDoubt  Result = "in doubt"  // no answer, 429 or 5xx: the request may have had an effect, or may still get one
)

// Op is one operation. Times are since the start of the run.
type Op struct {
	ID, Client, Server int
	Verb               Verb
	Key                string `json:",omitempty"`
	Call, Return       time.Duration

	// The request of a write.
	V      string `json:",omitempty"`
	Color  string `json:",omitempty"` // "": unchanged
	Noop   bool   `json:",omitempty"` // the object at PreRV has V and all else already
	PreRV  int64  `json:",omitempty"`
	PreUID string `json:",omitempty"`
	TestV  string `json:",omitempty"`

	// What a read asks for. Match is "", any, Exact or NotOlderThan.
	Match string `json:",omitempty"`
	AskRV int64  `json:",omitempty"`
	Scope Scope  `json:",omitzero"`
	Limit int    `json:",omitempty"`

	// The outcome.
	Result Result
	Code   int     `json:",omitempty"`
	Error  string  `json:",omitempty"`
	Object *Object `json:",omitempty"`
	UID    string  `json:",omitempty"` // of the deleted object
	Pages  []Page  `json:",omitempty"`
}

// Page is one page of a list.
type Page struct {
	RV    int64
	Items []*Object
	More  bool `json:",omitempty"`
}

func (p Page) String() string { return fmt.Sprintf("{rv=%d %v}", p.RV, p.Items) }

// changes reports whether the operation is a write that makes a new state; a deletion does not.
func (op *Op) changes() bool {
	return !op.Noop && (op.Verb == create || op.Verb == update || op.Verb == merge || op.Verb == jsonPatch)
}

// happened reports whether the operation may have had an effect.
func (op *Op) happened() bool { return op.Result == acked || op.Result == inDoubt }

// listed returns the items of all pages, and false if a page is missing.
func (op *Op) listed() ([]*Object, bool) {
	var all []*Object
	whole := false
	for _, p := range op.Pages {
		all, whole = append(all, p.Items...), !p.More
	}
	return all, whole
}

// String returns the fields that are set, for messages.
func (op *Op) String() string {
	text := fmt.Sprintf("op %d:", op.ID)
	for field, value := range reflect.ValueOf(*op).Fields() {
		if !value.IsZero() && field.Name != "ID" {
			text += fmt.Sprintf(" %s=%v", field.Name, value.Interface())
		}
	}
	return text
}

// The types of events.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	deleted  = "DELETED"
	bookmark = "BOOKMARK"
	failed   = "ERROR"
)

// Event is one event of a watch.
type Event struct {
	Time    time.Duration
	Type    string
	RV      int64
	Object  *Object `json:",omitempty"`
	Initial bool    `json:",omitempty"` // the bookmark that ends the initial state
	Code    int     `json:",omitempty"` // of an error
	Error   string  `json:",omitempty"`
}

func (e *Event) String() string {
	return fmt.Sprintf("%v %s %d %v %s", e.Time, e.Type, e.RV, e.Object, e.Error)
}

// Session is one watch request. It asks for the changes after From. If From is 0, it asks for the
// present state first.
type Session struct {
	Watcher, Server int
	Scope           Scope
	From            int64
	Opened          time.Duration
	Code            int    `json:",omitempty"` // 0: no answer
	End             string `json:",omitempty"`
	Events          []Event
}

func (s *Session) String() string {
	return fmt.Sprintf("watcher %d, server %d, %v: from %d of %v -> %d, %d events, %s", s.Watcher, s.Server,
		s.Opened, s.From, s.Scope, s.Code, len(s.Events), s.End)
}

// initial is the index of the bookmark that ends the initial state, or -1.
func (s *Session) initial() int {
	for i := range s.Events {
		if s.Events[i].Initial {
			return i
		}
	}
	return -1
}

// state returns the initial state, by name, and its revision. The revision is 0 if the initial
// state is incomplete.
func (s *Session) state() (map[string]*Object, int64) {
	i := s.initial()
	if i < 0 {
		return nil, 0
	}
	state := map[string]*Object{}
	for _, e := range s.Events[:i] {
		if e.Object != nil {
			state[e.Object.Key] = e.Object
		}
	}
	return state, s.Events[i].RV
}

// live are the events after the initial state: those after From, or after the bookmark that ends
// the initial state.
func (s *Session) live() []Event {
	if i := s.initial(); s.From > 0 || i >= 0 {
		return s.Events[i+1:]
	}
	return nil
}

// Record is everything that the clients of a run sent and saw. All checks are functions of it.
type Record struct {
	Start    int64    // the revision before the first write
	Stay     []string // the objects that exist for the whole run
	Lasting  bool     // the store loses no history, so no answer may be 410
	Shared   bool     // the store is another process, so its answer may be lost while the server runs
	Ops      []*Op
	Sessions []*Session
	Trouble  []string // unexpected errors of processes and their logs
}

// load reads a record that save wrote.
func load(file string, rec any) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(rec)
}

// save writes a record as compressed JSON.
func save(file string, rec any) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	return errors.Join(json.NewEncoder(z).Encode(rec), z.Close(), f.Close())
}

// summary returns the counts of a run, for the log.
func (rec *Record) summary() string {
	results, events := map[Result]int{}, 0
	for _, op := range rec.Ops {
		results[op.Result]++
	}
	for _, s := range rec.Sessions {
		events += len(s.Events)
	}
	return fmt.Sprintf("%d operations %v, %d watches, %d events", len(rec.Ops), results, len(rec.Sessions), events)
}
