package core

import (
	"fmt"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Limits of the texts of an event, in bytes.
const (
	maxEventWord    = 128
	maxEventMessage = 1024
)

// events makes the resource events. They are kept for a while only, and have no dependents.
func events(opts Options) registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Event]{
		GroupResource: meta.GroupResource{Resource: "events"},
		Kind:          "Event", ShortNames: []string{"ev"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.Event]{
			ValidateName:             names.PathSegmentName, // any that can stand in a path
			Validate:                 checkEvent,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
			NoGarbageCollection:      true,
		},
		Fields: []registry.FieldValue{
			{Label: "involvedObject.kind", Path: "involvedObject.kind"},
			{Label: "involvedObject.namespace", Path: "involvedObject.namespace"},
			{Label: "involvedObject.name", Path: "involvedObject.name"},
			{Label: "involvedObject.uid", Path: "involvedObject.uid"},
			{Label: "involvedObject.apiVersion", Path: "involvedObject.apiVersion"},
			{Label: "involvedObject.resourceVersion", Path: "involvedObject.resourceVersion"},
			{Label: "involvedObject.fieldPath", Path: "involvedObject.fieldPath"},
			{Label: "reason", Path: "reason"},
			{Label: "reportingComponent", Path: "reportingComponent"},
			{Label: "source", Path: "source.component", Else: "reportingComponent"},
			{Label: "type", Path: "type"},
		},
		Table: eventTable,
		TTL:   func(*corev1.Event) time.Duration { return opts.eventTTL() },
	})
}

// checkEvent checks an event of the core group. Those that give an event time are of the newer kind, of which more
// is asked.
func checkEvent(e, _ *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	about, newer := e.InvolvedObject.Namespace, !e.EventTime.IsZero()
	fits := about == e.Namespace || about == "" && e.Namespace == "default"
	if newer { // which are reported from wherever the reporter runs
		fits = about != "" || e.Namespace == "default" || e.Namespace == "kube-system"
	}
	if !fits {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace"))
	}
	if newer {
		errs = append(errs, checkNewEvent(e)...)
	}
	for _, msg := range names.IsDNS1123Subdomain(e.Namespace) {
		errs = append(errs, field.Invalid(field.NewPath("namespace"), e.Namespace, msg))
	}
	return errs
}

func checkNewEvent(e *corev1.Event) field.ErrorList {
	component := field.NewPath("reportingComponent")
	errs := check.Required(component, e.ReportingController)
	errs = append(errs, check.QualifiedName(component, e.ReportingController)...)
	word := func(name, value string) {
		p := field.NewPath(name)
		errs = append(errs, check.Required(p, value)...)
		if len(value) > maxEventWord {
			errs = append(errs, field.Invalid(p, "", fmt.Sprintf("can have at most %d characters", maxEventWord)))
		}
	}
	word("reportingInstance", e.ReportingInstance)
	word("action", e.Action)
	word("reason", e.Reason)
	if len(e.Message) > maxEventMessage {
		errs = append(errs, field.Invalid(field.NewPath("message"), "",
			fmt.Sprintf("can have at most %d characters", maxEventMessage)))
	}
	return errs
}

var eventTable = &registry.TableOf[*corev1.Event]{
	Columns: []meta.TableColumnDefinition{
		registry.Column("Last Seen", "Time since the event last occurred.", 0),
		registry.Column("Type", "Normal or Warning; others may be added.", 0),
		registry.Column("Reason", "A short word that says why the event happened.", 0),
		registry.Column("Object", "Kind and name of the object that the event is about.", 0),
		registry.Column("Subobject", "Part of the object that the event is about.", 1),
		registry.Column("Source", "Who reports the event.", 1),
		registry.Column("Message", "What happened.", 0),
		registry.Column("First Seen", "Time since the event was first recorded.", 1),
		registry.Column("Count", "How often the event has occurred.", 1),
		{Name: "Name", Type: "string", Format: "name", Priority: 1, Description: registry.NameColumn.Description},
	},
	Cells: eventCells,
}

func eventCells(e *corev1.Event, now time.Time) []any {
	first := e.FirstTimestamp.Time
	if first.IsZero() {
		first = e.EventTime.Time
	}
	last, count := e.LastTimestamp.Time, int64(e.Count)
	if last.IsZero() {
		last = first
	}
	if e.Series != nil {
		last, count = e.Series.LastObservedTime.Time, int64(e.Series.Count)
	} else if count == 0 {
		count = 1
	}
	about := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		about += "/" + e.InvolvedObject.Name
	}
	source, instance := e.Source.Component, e.Source.Host
	if source == "" {
		source = e.ReportingController
	}
	if instance == "" {
		instance = e.ReportingInstance
	}
	if instance != "" {
		source += ", " + instance
	}
	return []any{registry.Since(last, now), e.Type, e.Reason, about, e.InvolvedObject.FieldPath, source,
		strings.TrimSpace(e.Message), registry.Since(first, now), count, e.Name}
}
