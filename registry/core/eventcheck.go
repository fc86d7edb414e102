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

// The longest texts of a newer event, in bytes: of reportingInstance, action and reason, and of the
// message.
const (
	maxEventWord    = 128
	maxEventMessage = 1024
)

// checkEvent checks an event by the rules of the group version that the client writes in.
// events.k8s.io is strict and lets only the series change. v1 accepts nearly anything and any
// change, because its clients are older than the strict rules.
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

// checkAnyEvent checks an event of either group; component is the name of the reporter's field in
// the client's version. An event with eventTime is of the newer sort and must name its reporter and
// action in v1, too.
func checkAnyEvent(e *corev1.Event, component string) field.ErrorList {
	var errs field.ErrorList
	about, newer := e.InvolvedObject.Namespace, !e.EventTime.IsZero()
	fits := about == e.Namespace || about == "" && e.Namespace == "default"
	// A newer event may be about an object of another namespace than its own: its reporter writes
	// to the namespace that it runs in. An event about a cluster-wide object is in default or
	// kube-system.
	if newer {
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

// checkNewerEvent checks the fields that an event with eventTime must have. Its errors show ""
// instead of the value, as in Kubernetes.
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

// checkStrictEvent checks a new event of events.k8s.io: it has eventTime and sets none of the
// deprecated fields.
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

// checkSeries checks the count of a repeated event. A single event has no series, so the least
// count is 2.
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

// checkEventChange lets only the series of an event change: reporters count repetitions in it. As
// in kube-apiserver, a change of the reason is reported twice.
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
	// JSON shows eventTime in microseconds, but a client that created the event in protobuf may
	// have stored nanoseconds. What the client has read back must not count as a change.
	if !e.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		errs = append(errs, field.Invalid(p("eventTime"), e.EventTime, "field is immutable"))
	}
	errs = append(errs, check.Immutable(p("action"), &e.Action, &old.Action)...)
	errs = append(errs, check.Immutable(p("related"), &e.Related, &old.Related)...)
	errs = append(errs, check.Immutable(p("reportingController"), &e.ReportingController, &old.ReportingController)...)
	return append(errs, check.Immutable(p("reportingInstance"), &e.ReportingInstance, &old.ReportingInstance)...)
}
