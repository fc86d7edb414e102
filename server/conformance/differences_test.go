package conformance

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// stepOf names a step of a scenario, counted from 0.
type stepOf struct {
	scenario string
	step     int
}

// difference has the status code and reason of Coracle's response to a step. All other parts of the
// response, above all the message, must be as recorded.
type difference struct {
	code   int
	reason meta.StatusReason
}

// differences are the steps where kube-apiserver answers a client's mistake with 500. Coracle
// answers with 4xx.
var differences = map[stepOf]difference{
	{"apply/custom-resource", 6}:             {400, meta.StatusReasonBadRequest}, // no key
	{"apply/errors", 8}:                      {400, meta.StatusReasonBadRequest}, // a value of another type
	{"apply/errors", 9}:                      {400, meta.StatusReasonBadRequest}, // an unknown field
	{"apply/sets", 4}:                        {400, meta.StatusReasonBadRequest}, // a value that is twice in a set
	{"resource-version/get", 6}:              {400, meta.StatusReasonBadRequest}, // resourceVersion=nonsense
	{"resource-version/get", 7}:              {400, meta.StatusReasonBadRequest}, // resourceVersion=-1
	{"strategic-merge/containers", 5}:        {422, meta.StatusReasonInvalid},    // no merge key
	{"strategic-merge/maps", 4}:              {422, meta.StatusReasonInvalid},    // an unknown directive
	{"strategic-merge/service-ports", 4}:     {422, meta.StatusReasonInvalid},    // no merge key
	{"strategic-merge/set-element-order", 4}: {422, meta.StatusReasonInvalid},    // not the order announced
	{"validation/metadata", 7}:               {400, meta.StatusReasonBadRequest}, // a create with a resourceVersion
	{"validation/metadata-updates", 6}:       {400, meta.StatusReasonBadRequest}, // an update with one that is no number
	{"watch/errors", 0}:                      {400, meta.StatusReasonBadRequest}, // resourceVersion=nonsense
}

// apply changes a recorded response to the response that is expected of Coracle.
func (d difference) apply(want *answer) {
	want.Status = d.code
	if status, ok := want.Body.(map[string]any); ok {
		status["code"], status["reason"] = json.Number(strconv.Itoa(d.code)), string(d.reason)
	}
}

// TestDifferences checks that every entry changes a recorded 500 to a 4xx.
func TestDifferences(t *testing.T) {
	byName := map[string]*scenario{}
	for _, s := range scenarios(t) {
		byName[s.Name] = s
	}
	for at, d := range differences {
		s := byName[at.scenario]
		if s == nil || at.step >= len(s.Steps) {
			t.Errorf("%v is no step", at)
			continue
		}
		if got := s.Steps[at.step].Expect; got == nil || got.Status != 500 || d.code/100 != 4 {
			t.Errorf("%v: %d is not a 4xx in place of a recorded 500", at, d.code)
		}
	}
}

// TestDeleteHearsQueryAndBody checks the one difference that is more than a status: a DELETE with a
// body also obeys the options in the query, so ?dryRun=All deletes nothing, whatever the body says.
func TestDeleteHearsQueryAndBody(t *testing.T) {
	p := newPlayer(t, start(t, engines[0].config(t)))
	path := "/api/v1/namespaces/default/configmaps"
	for _, s := range []step{
		{Method: "POST", Path: path, Body: `{"metadata":{"name":"dear"}}`},
		{Method: "DELETE", Path: path + "/dear?dryRun=All", Body: `{"kind":"DeleteOptions","apiVersion":"v1"}`},
		{Method: "DELETE", Path: path + "/dear?gracePeriodSeconds=1", Body: `{"dryRun":["All"]}`},
		{Method: "GET", Path: path + "/dear"},
	} {
		if r, err := p.send(t.Context(), &s); err != nil || r.status/100 != 2 {
			t.Fatalf("%s %s: %v, %+v", s.Method, s.Path, err, r)
		}
	}
}

// TestTooLarge creates an object that is too large for any engine. kube-apiserver answers with 500.
func TestTooLarge(t *testing.T) { storeTooLarge(t, engines[:1]) }

func storeTooLarge(t *testing.T, engines []engine) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, start(t, engine.config(t)))
			r, err := p.send(t.Context(), &step{Method: "POST", Path: "/api/v1/namespaces/default/pods", Body: `{"metadata":{"name":"p"},
				"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"` + strings.Repeat("a", 2<<20) + `"}]}]}}`})
			if err != nil {
				t.Fatal(err)
			}
			body, _ := r.json()
			if got := textAt(body, "message"); r.status != 400 || got != "etcdserver: request is too large" {
				t.Errorf("got %d %s", r.status, short(string(r.data)))
			}
		})
	}
}
