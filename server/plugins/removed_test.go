package plugins

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRemoved: no plugin of the table is among the removed ones.
func TestRemoved(t *testing.T) {
	for _, p := range Table() {
		if text := Removed(p.Name); text != "" {
			t.Errorf("%s: %s", p.Name, text)
		}
	}
	if got, want := Removed("PodSecurityPolicy"), "Kubernetes 1.25 removed it; use PodSecurity instead"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAdmissionDoc compares docs/admission.md with the tables: each plugin has a row, in the order
// of kube-apiserver. If the plugin exists here, the last cell names its file.
func TestAdmissionDoc(t *testing.T) {
	text, err := os.ReadFile("../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{} // the last cell by name
	var order []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name := strings.TrimSpace(cells[0])
		if find(table, name) >= 0 {
			order = append(order, name)
		} else if _, is := removed[name]; !is {
			continue
		}
		last[name] = strings.TrimSpace(cells[len(cells)-1])
	}
	if want := Names(); !slices.Equal(order, want) {
		t.Errorf("got  %q\nwant %q", order, want)
	}
	file := regexp.MustCompile("^`[a-z/]+\\.go`$")
	for _, p := range Table() {
		switch cell := last[p.Name]; {
		case p.Idle != "" && cell != "nothing to do: "+p.Idle:
			t.Errorf("%s is idle because %s, and its cell says %q", p.Name, p.Idle, cell)
		case p.Idle == "" && !file.MatchString(cell):
			t.Errorf("%s is here, and its cell names no file: %q", p.Name, cell)
		}
	}
	for name, r := range removed {
		if cell := last[name]; !strings.Contains(cell, r.instead) {
			t.Errorf("%s: got %q, want %q", name, cell, r.instead)
		}
	}
}
