package audit

import (
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Level says how much the events of a request tell. A higher level tells all that a lower one does.
type Level uint8

// The levels of audit.k8s.io/v1.
const (
	None            Level = iota // nothing is recorded
	Metadata                     // who asked for what, when, and with what outcome
	Request                      // and the object that was sent
	RequestResponse              // and the object that was answered
	levels          = iota
)

var levelNames = [levels]string{"None", "Metadata", "Request", "RequestResponse"}

// String returns the level's name in audit.k8s.io/v1.
func (l Level) String() string { return levelNames[l] }

// Stage is how far a request had come when an event was made.
type Stage uint8

// The stages of audit.k8s.io/v1.
const (
	RequestReceived  Stage = iota // before anything is done for the request
	ResponseStarted               // the header of a long-running response is written
	ResponseComplete              // the handler has returned
	Panic                         // the handler has panicked
	stages           = iota
)

var stageNames = [stages]string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}

// String returns the stage's name in audit.k8s.io/v1.
func (s Stage) String() string { return stageNames[s] }

// Event is one event of audit.k8s.io/v1. Strings that a client chose are as it sent them; only the
// UserAgent is bounded.
type Event struct {
	Level      Level
	Stage      Stage
	AuditID    string
	RequestURI string
	Verb       string
	// User sent the request. Impersonated is the user as whom it is served; nil if that is User.
	// Constraint is the verb that allowed a constrained impersonation (KEP-5284), else "".
	User, Impersonated *request.User
	Constraint         string
	SourceIPs          []string
	UserAgent          string
	// Object is what the request is about; nil for a request that is about no resource.
	Object *Reference
	// Status is the outcome: only its status, message, reason, details and code are recorded. It is
	// nil before the response.
	Status *meta.Status
	// RequestObject is what was sent, as JSON. A patch is as the client sent it, and need not be
	// JSON. ResponseObject is what was answered, as well-formed JSON. They are nil if they are not
	// recorded.
	RequestObject, ResponseObject []byte
	Received                      time.Time // when the request arrived
	Time                          time.Time // of the stage
	Annotations                   map[string]string
}

// Reference names the object that a request is about.
type Reference struct {
	Resource, Namespace, Name, UID, APIGroup, APIVersion, ResourceVersion, Subresource string
}

// Sink takes events and stores them, at once or later. Any goroutine may call it.
type Sink interface {
	// Process takes an event. It reports false if the event is not stored although the sink
	// promises to store it before the request goes on (mode blocking-strict, stage
	// RequestReceived). Then the request is refused.
	Process(e *Event) (stored bool)
}
