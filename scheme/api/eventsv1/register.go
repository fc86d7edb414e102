package eventsv1

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "events.k8s.io", Version: "v1"}

// Scheme registers the kinds, their conversion to those of the core group, and the fields that
// selectors may name. It needs the kinds of the core group.
var Scheme = scheme.NewBuilder(addKinds, addConversions, addFieldLabels)

func addKinds(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &Event{}, &EventList{})
	s.AddHub(meta.GroupKind{Group: GroupVersion.Group, Kind: "Event"}, &corev1.Event{})
	// Events may still be stored in this version. It has the same fields.
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "Event"},
		corev1.GroupVersion.WithKind("Event").GroupKind(), &Event{})
}

// addConversions registers the fields that have other names in the core group.
func addConversions(s *scheme.Scheme) {
	scheme.AddConversion(s, func(in *Event, out *corev1.Event) error {
		out.InvolvedObject, out.Message, out.Source = in.Regarding, in.Note, in.DeprecatedSource
		out.FirstTimestamp, out.LastTimestamp, out.Count =
			in.DeprecatedFirstTimestamp, in.DeprecatedLastTimestamp, in.DeprecatedCount
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *corev1.Event, out *Event) error {
		out.Regarding, out.Note, out.DeprecatedSource = in.InvolvedObject, in.Message, in.Source
		out.DeprecatedFirstTimestamp, out.DeprecatedLastTimestamp, out.DeprecatedCount =
			in.FirstTimestamp, in.LastTimestamp, in.Count
		return scheme.ConvertFields(s, in, out)
	})
}

// selectable are the fields that a field selector may name, with what the core group calls them.
var selectable = map[string]string{
	"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace", "reason": "reason", "type": "type",
	"regarding.kind": "involvedObject.kind", "regarding.namespace": "involvedObject.namespace",
	"regarding.name": "involvedObject.name", "regarding.uid": "involvedObject.uid",
	"regarding.apiVersion": "involvedObject.apiVersion", "regarding.resourceVersion": "involvedObject.resourceVersion",
	"regarding.fieldPath": "involvedObject.fieldPath", "reportingController": "reportingComponent",
}

func addFieldLabels(s *scheme.Scheme) {
	s.AddFieldLabels(GroupVersion.WithKind("Event"), func(label, value string) (string, string, error) {
		home, ok := selectable[label]
		if !ok {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return home, value, nil
	})
}
