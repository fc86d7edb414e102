package core

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
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

// checkEvent checks an event. Much of what clients of the core group have always been let write is
// refused in others.
func checkEvent(gv meta.GroupVersion, e, old *corev1.Event) field.ErrorList {
	if gv == corev1.GroupVersion {
		return checkAnyEvent(e, "reportingComponent")
	}
	errs := checkAnyEvent(e, "reportingController")
	if old == nil {
		return append(errs, checkStrictEvent(e)...)
	}
	return append(errs, checkEventChange(e, old)...)
}

// checkAnyEvent checks an event of whichever group, where the name of the reporter is a field
// called component. Events that give an event time are of the newer sort, of which more is asked.
func checkAnyEvent(e *corev1.Event, component string) field.ErrorList {
	var errs field.ErrorList
	about, newer := e.InvolvedObject.Namespace, !e.EventTime.IsZero()
	fits := about == e.Namespace || about == "" && e.Namespace == "default"
	if newer { // which are reported from wherever the reporter runs
		fits = about != "" || e.Namespace == "default" || e.Namespace == "kube-system"
	}
	if !fits {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), about,
			"does not match event.namespace"))
	}
	if newer {
		errs = append(errs, checkNewerEvent(e, field.NewPath(component))...)
	}
	return append(errs, check.DNSSubdomain(field.NewPath("namespace"), e.Namespace)...)
}

func checkNewerEvent(e *corev1.Event, component *field.Path) field.ErrorList {
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

// checkStrictEvent checks a new event that is not of the core group: it is of the newer sort, and
// uses no field that this has no use for.
func checkStrictEvent(e *corev1.Event) field.ErrorList {
	errs := check.ObjectMeta(&e.ObjectMeta, true, names.DNSSubdomainName)
	errs = append(errs, checkSeries(e.Series)...)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+meta.Excerpt(e.Type)))
	}
	unset := func(name string, is bool) {
		if !is {
			errs = append(errs, field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
	unset("firstTimestamp", e.FirstTimestamp.IsZero())
	unset("lastTimestamp", e.LastTimestamp.IsZero())
	unset("count", e.Count == 0)
	unset("source", e.Source == corev1.EventSource{})
	return errs
}

func checkSeries(s *corev1.EventSeries) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if s.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if s.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

// checkEventChange lets the series of an event alone change. A client is told of the reason twice.
func checkEventChange(e, old *corev1.Event) field.ErrorList {
	errs := check.ObjectMetaUpdate(&e.ObjectMeta, &old.ObjectMeta)
	if !scheme.Equal(&e.Series, &old.Series) {
		errs = append(errs, checkSeries(e.Series)...)
	}
	p := func(name string) *field.Path { return field.NewPath(name) }
	errs = append(errs, check.Immutable(p("involvedObject"), &e.InvolvedObject, &old.InvolvedObject)...)
	errs = append(errs, check.Immutable(p("reason"), &e.Reason, &old.Reason)...)
	errs = append(errs, check.Immutable(p("message"), &e.Message, &old.Message)...)
	errs = append(errs, check.Immutable(p("source"), &e.Source, &old.Source)...)
	errs = append(errs, check.Immutable(p("firstTimestamp"), &e.FirstTimestamp, &old.FirstTimestamp)...)
	errs = append(errs, check.Immutable(p("lastTimestamp"), &e.LastTimestamp, &old.LastTimestamp)...)
	errs = append(errs, check.Immutable(p("count"), &e.Count, &old.Count)...)
	errs = append(errs, check.Immutable(p("reason"), &e.Reason, &old.Reason)...)
	errs = append(errs, check.Immutable(p("type"), &e.Type, &old.Type)...)
	// Protobuf has finer times than JSON, in which clients may have read this one.
	if !e.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		errs = append(errs, field.Invalid(p("eventTime"), e.EventTime, "field is immutable"))
	}
	errs = append(errs, check.Immutable(p("action"), &e.Action, &old.Action)...)
	errs = append(errs, check.Immutable(p("related"), &e.Related, &old.Related)...)
	errs = append(errs, check.Immutable(p("reportingController"), &e.ReportingController, &old.ReportingController)...)
	return append(errs, check.Immutable(p("reportingInstance"), &e.ReportingInstance, &old.ReportingInstance)...)
}
