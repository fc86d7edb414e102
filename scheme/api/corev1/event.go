package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Event reports something that happened to an object. Events live a limited time and are
// best-effort.
type Event struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata" pb:"1"`
	// The object that the event is about.
	InvolvedObject ObjectReference `json:"involvedObject" pb:"2"`
	// A short word, for programs, that says why the event happened.
	Reason string `json:"reason,omitempty" pb:"3"`
	// What happened, for people.
	Message string `json:"message,omitempty" pb:"4"`
	// Who reports the event.
	Source EventSource `json:"source,omitempty" pb:"5"`
	// When it was first told; events made in the newer way have eventTime instead.
	FirstTimestamp meta.Time `json:"firstTimestamp,omitempty" pb:"6"`
	// When the event last occurred.
	LastTimestamp meta.Time `json:"lastTimestamp,omitempty" pb:"7"`
	// How often the event has occurred.
	Count int32 `json:"count,omitempty" pb:"8"`
	// Normal or Warning; others may be added.
	Type string `json:"type,omitempty" pb:"9"`
	// When it was noticed, in microseconds; zero in events that were made in the older way.
	EventTime meta.MicroTime `json:"eventTime,omitempty" pb:"10"`
	// Tells about repetitions, if the event stands for several.
	Series *EventSeries `json:"series,omitempty" pb:"11"`
	// What was done, or could not be, with regard to the object.
	Action string `json:"action,omitempty" pb:"12"`
	// Another object that the event has to do with, such as one that was created for the first.
	Related *ObjectReference `json:"related,omitempty" pb:"13"`
	// Name of the controller that reports the event, such as example.com/scheduler.
	ReportingController string `json:"reportingComponent" pb:"14" check:"optional"`
	// Which process of the controller reports it, such as the name of its pod.
	ReportingInstance string `json:"reportingInstance" pb:"15" check:"optional"`
}

// Values of the type of an event.
const (
	EventTypeNormal  = "Normal"  // nothing to worry about
	EventTypeWarning = "Warning" // something may be wrong
)

// EventSource tells who reports an event.
type EventSource struct {
	// Name of the component that reports.
	Component string `json:"component,omitempty" pb:"1"`
	// Node of the component that reports, if it runs on one.
	Host string `json:"host,omitempty" pb:"2"`
}

// EventSeries tells how often and until when an event repeated.
type EventSeries struct {
	// How often it has happened so far.
	Count int32 `json:"count,omitempty" pb:"1"`
	// When it happened last, as far as is known.
	LastObservedTime meta.MicroTime `json:"lastObservedTime,omitempty" pb:"2"`
}

// EventList is a list of events.
type EventList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Event `json:"items" pb:"2"`
}
