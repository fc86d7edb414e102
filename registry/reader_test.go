package registry

import "testing"

// Fields may share a path, be found elsewhere, and have defaults; the pairs come sorted by label.
func TestFieldPairs(t *testing.T) {
	r := newReader(newConfig(t), testGV.WithKind("Gadget"), "/registry/gadgets/", []FieldValue{
		{Label: "source", Path: "source.name", Else: "reporter"},
		{Label: "reporter", Path: "reporter"},
		{Label: "alias", Path: "reporter"},
		{Label: "hidden", Path: "hidden", Else: "nowhere", Default: "false"},
	})
	const head = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"n","namespace":"ns"}`
	for _, tt := range []struct{ rest, source, reporter, hidden string }{
		{`}`, "", "", "false"},
		{`,"reporter":"r"}`, "r", "r", "false"},
		{`,"reporter":"r","source":{"name":"s"},"hidden":true}`, "s", "r", "true"},
		{`,"source":{"name":""},"nowhere":"x"}`, "", "", "x"},
	} {
		got, err := r.decode("k", []byte(head+tt.rest))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"alias": tt.reporter, "hidden": tt.hidden, "metadata.name": "n", "metadata.namespace": "ns",
			"reporter": tt.reporter, "source": tt.source}
		last := ""
		for _, p := range got.Fields {
			if p.Value != want[p.Key] || p.Key <= last {
				t.Errorf("%s: got %s=%q after %q, want %q", tt.rest, p.Key, p.Value, last, want[p.Key])
			}
			last = p.Key
		}
		if len(got.Fields) != len(want) {
			t.Errorf("%s: got %d fields, want %d", tt.rest, len(got.Fields), len(want))
		}
	}
}
