package eventsv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Event reports something that happened to an object. Events live a limited time and are
// best-effort.
type Event struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata" pb:"1" check:"optional"`
	// When it was noticed, in microseconds. Required.
	EventTime meta.MicroTime `json:"eventTime" pb:"2"`
	// Tells about repetitions, if the event stands for several.
	Series *EventSeries `json:"series,omitempty" pb:"3"`
	// Name of the controller that reports the event, such as example.com/scheduler. Required for
	// new events.
	ReportingController string `json:"reportingController,omitempty" pb:"4"`
	// Which process of the controller reports it: 1 to 128 characters for new events.
	ReportingInstance string `json:"reportingInstance,omitempty" pb:"5"`
	// What was done, or could not be, with regard to the object, for programs: 1 to 128 characters
	// for new events.
	Action string `json:"action,omitempty" pb:"6"`
	// A short word, for programs, that says why it was done: 1 to 128 characters for new events.
	Reason string `json:"reason,omitempty" pb:"7"`
	// The object that the event is about, mostly the one that the controller cares for.
	Regarding corev1.ObjectReference `json:"regarding,omitempty" pb:"8"`
	// Another object that the event has to do with, such as one that was created for the first.
	Related *corev1.ObjectReference `json:"related,omitempty" pb:"9"`
	// What happened, for people: at most 1024 characters.
	Note string `json:"note,omitempty" pb:"10"`
	// Normal or Warning; new events have no other.
	Type string `json:"type,omitempty" pb:"11"`
	// Who tells it, in events of the older form; source of the core group.
	DeprecatedSource corev1.EventSource `json:"deprecatedSource,omitempty" pb:"12"`
	// When it was first told, in events of the older form; firstTimestamp of the core group.
	DeprecatedFirstTimestamp meta.Time `json:"deprecatedFirstTimestamp,omitempty" pb:"13"`
	// When it was last told, in events of the older form; lastTimestamp of the core group.
	DeprecatedLastTimestamp meta.Time `json:"deprecatedLastTimestamp,omitempty" pb:"14"`
	// How often it has happened, in events of the older form; count of the core group.
	DeprecatedCount int32 `json:"deprecatedCount,omitempty" pb:"15"`
}

// EventSeries tells how often and until when an event repeated. The reporter writes it again every
// few minutes while the event goes on.
type EventSeries struct {
	// How often it has happened so far: at least 2.
	Count int32 `json:"count" pb:"1"`
	// When it happened last, as far as is known.
	LastObservedTime meta.MicroTime `json:"lastObservedTime" pb:"2"`
}

// EventList is a list of events.
type EventList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Event `json:"items" pb:"2"`
}
