package differential

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// tableCount is the number of objects of each kind that are shown as tables; statesCount is the
// number for kinds with States.
const (
	tableCount  = 100
	statesCount = 2000
)

// judgeTables compares the tables that both sides make of mutated stored objects. The objects need
// not be valid, because servers show every stored object.
func (c *court) judgeTables(t *testing.T, row Row, stored []map[string]any, r *report) {
	m := &mutator{rand: random("table", row.Resource, row.Kind), donors: c.donors, tame: true}
	typ := goType(t, row.Kind)
	count := tableCount
	if row.States != nil {
		count = statesCount
	}
	for i := range times(count) {
		obj := stored[i%len(stored)]
		if row.States != nil && i%4 > 0 {
			obj = row.States(m, obj)
		}
		if i >= len(stored) {
			name, full := nameOf(obj), m.mutate(typ, obj)
			full["metadata"] = merged(obj["metadata"], full["metadata"], name)
			obj = full
		}
		obj = tree(obj).(map[string]any)
		delete(obj["metadata"].(map[string]any), "resourceVersion")
		hub, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encode(obj))
		if err != nil {
			continue // the mutation does not decode
		}
		obj = versioned(t, hub, row.Kind) // with defaults
		c.ours.replace(t, row, obj)
		c.objects.put(row.Resource, row.namespace(), nameOf(obj), internal(t, obj))
		url := row.url(nameOf(obj), "") + "?includeObject=None"
		theirs, ours := table(c.theirs, url), table(c.ours, url)
		if !reflect.DeepEqual(theirs, ours) { // ages may differ by a second: ask again
			theirs, ours = table(c.theirs, url), table(c.ours, url)
		}
		tr := trial{method: http.MethodGet, url: url, body: obj, notes: m.notes, theirs: theirs, ours: ours}
		tr.again = func() answer { return table(c.theirs, url) }
		r.compare(tr)
	}
}

// merged returns mutated metadata with the identity of the object from before: name, namespace,
// uid, time.
func merged(was, now any, name string) any {
	m, ok := now.(map[string]any)
	if !ok {
		return was
	}
	m["name"] = name
	for _, field := range []string{"namespace", "uid", "creationTimestamp"} {
		if v, ok := was.(map[string]any)[field]; ok {
			m[field] = v
		} else {
			delete(m, field)
		}
	}
	return m
}

// table asks for an object as a table, and removes descriptions and the object, which people do not
// see.
func table(h http.Handler, url string) answer {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var tb metav1.Table
	if err := json.Unmarshal(w.Body.Bytes(), &tb); err != nil || tb.Kind != "Table" {
		return answer{Code: w.Code, Body: map[string]any{"unreadable": w.Body.String()}}
	}
	seen := map[string]any{}
	for i, column := range tb.ColumnDefinitions {
		column.Description = ""
		seen["column "+column.Name] = column
		if len(tb.Rows) == 1 && i < len(tb.Rows[0].Cells) {
			seen["cell "+column.Name] = tb.Rows[0].Cells[i]
		}
	}
	if len(tb.Rows) == 1 {
		seen["conditions"] = tb.Rows[0].Conditions
	}
	return answer{Code: w.Code, Body: tree(seen).(map[string]any)}
}
