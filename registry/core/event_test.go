package core

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/eventsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// strictly checks an event by the rules of events.k8s.io.
func strictly(t *testing.T, e, old *corev1.Event) field.ErrorList {
	t.Helper()
	return checkEvent(eventsv1.GroupVersion, e, old)
}

const goodEvent = `"involvedObject":{"namespace":"n","name":"a"},"eventTime":"2020-01-01T00:00:00.000001Z","reportingComponent":"c","reportingInstance":"i",
	"action":"a","reason":"r","message":"m","type":"Normal"`

func eventOf(t *testing.T, fields string) *corev1.Event {
	t.Helper()
	return checktest.Decode[corev1.Event](t, `{"metadata":{"namespace":"n","resourceVersion":"1"},`+fields+`}`)
}

func TestStrictEvent(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{goodEvent, ``},
		{strings.Replace(goodEvent, "Normal", "Warning", 1) + `,"series":{"count":2,"lastObservedTime":"2020-01-01T00:00:00.000000Z"}`, ``},
		{`"involvedObject":{"namespace":"n"},"type":"x"`, "eventTime: Required value\n" + `type: Invalid value: "": has invalid value: x`},
		{strings.Replace(goodEvent, `"c"`, `"a b"`, 1), `reportingController: Invalid value: "a b": ` + qualified},
		{goodEvent + `,"type":"Odd","count":1,"source":{"host":"h"},"firstTimestamp":"2020-01-01T00:00:00Z","lastTimestamp":"2020-01-01T00:00:00Z"`, `
type: Invalid value: "": has invalid value: Odd
firstTimestamp: Invalid value: "": needs to be unset
lastTimestamp: Invalid value: "": needs to be unset
count: Invalid value: "": needs to be unset
source: Invalid value: "": needs to be unset`},
		{goodEvent + `,"series":{"count":1}`, "series.count: Invalid value: \"\": should be at least 2\nseries.lastObservedTime: Required value"},
	} {
		checktest.Want(t, strictly(t, eventOf(t, tt.in), nil), tt.want)
	}
	named := eventOf(t, goodEvent)
	named.Name = "A"
	checktest.Want(t, strictly(t, named, nil), `metadata.name: Invalid value: "A": `+checktest.Subdomain)
}

func TestStrictEventUpdate(t *testing.T) {
	const immutable = ": field is immutable"
	old := eventOf(t, goodEvent)
	checktest.Want(t, strictly(t, scheme.DeepCopy(old), old), ``)
	checktest.Want(t, strictly(t, eventOf(t, goodEvent+`,"series":{"count":3,"lastObservedTime":"2020-01-01T00:00:00.000000Z"}`), old), ``)
	odd := eventOf(t, goodEvent+`,"series":{}`)
	checktest.Want(t, strictly(t, odd, old), "series.count: Invalid value: \"\": should be at least 2\nseries.lastObservedTime: Required value")
	checktest.Want(t, strictly(t, scheme.DeepCopy(odd), odd), ``) // nothing changes

	finer := scheme.DeepCopy(old)
	finer.EventTime.Time = finer.EventTime.Add(999)
	checktest.Want(t, strictly(t, finer, old), ``)
	later := scheme.DeepCopy(old)
	later.EventTime.Time = later.EventTime.Add(1000)
	checktest.Want(t, strictly(t, later, old), `eventTime: Invalid value: "2020-01-01T00:00:00.000002Z"`+immutable)

	other := eventOf(t, `"involvedObject":{"kind":"K","namespace":"n"},"eventTime":"2020-01-01T00:00:00.000001Z","reportingComponent":"d","reportingInstance":"j","action":"b",
		"reason":"s","message":"n","type":"Warning","source":{"component":"c"},"firstTimestamp":"2020-01-01T00:00:00Z","lastTimestamp":"2020-01-01T00:00:00Z","count":1,"related":{"name":"r"}`)
	checktest.Want(t, strictly(t, other, old), `
involvedObject: Invalid value: {"Kind":"K","Namespace":"n","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}`+immutable+`
reason: Invalid value: "s"`+immutable+`
message: Invalid value: "n"`+immutable+`
source: Invalid value: {"Component":"c","Host":""}`+immutable+`
firstTimestamp: Invalid value: "2020-01-01T00:00:00Z"`+immutable+`
lastTimestamp: Invalid value: "2020-01-01T00:00:00Z"`+immutable+`
count: Invalid value: 1`+immutable+`
reason: Invalid value: "s"`+immutable+`
type: Invalid value: "Warning"`+immutable+`
action: Invalid value: "b"`+immutable+`
related: Invalid value: {"Kind":"","Namespace":"","Name":"r","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}`+immutable+`
reportingController: Invalid value: "d"`+immutable+`
reportingInstance: Invalid value: "j"`+immutable)
	// In the core group all these fields may change.
	checktest.Want(t, checkEvent(corev1.GroupVersion, other, old), ``)

	held := scheme.DeepCopy(old)
	held.Finalizers = []string{"plain"}
	checktest.Want(t, strictly(t, held, old), `metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`)
}
