package core

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// events declares events, one resource under two group versions: v1 and events.k8s.io/v1 (KEP-383).
// The server deletes an event when its TTL has passed. Events have no dependents, so the garbage
// collector leaves them alone.
func events(ttl time.Duration) registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Event]{
		GroupResource: meta.GroupResource{Resource: "events"},
		Kind:          "Event", ShortNames: []string{"ev"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.Event]{
			ValidateName:             names.PathSegmentName, // any name that can be a segment of a path
			ValidateIn:               checkEvent,
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
		Table: &registry.TableOf[*corev1.Event]{
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
				{
					Name: "Name", Type: "string", Format: "name", Priority: 1,
					Description: registry.NameColumn.Description,
				},
			},
			Cells: eventCells,
		},
		TTL: func(*corev1.Event) time.Duration { return ttl },
	})
}

// eventCells prints an event of either sort. A newer event has eventTime, series and reporting
// fields, an older one has firstTimestamp, lastTimestamp, count and source; a missing value is
// taken from the other sort.
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
