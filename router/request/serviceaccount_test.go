package request

import "testing"

func TestServiceAccountOf(t *testing.T) {
	for user, want := range map[string][2]string{
		"system:serviceaccount:ns:a":        {"ns", "a"},
		"system:serviceaccount:ns:a.b":      {"ns", "a.b"},
		"system:serviceaccount:n.s:a":       {},
		"system:serviceaccount:ns:a:b":      {},
		"system:serviceaccount:ns:":         {},
		"system:serviceaccount::a":          {},
		"system:serviceaccount:ns":          {},
		"system:serviceaccounts:ns:a":       {},
		"system:serviceaccount:ns:A":        {},
		"x:system:serviceaccount:ns:a":      {},
		"system:serviceaccount:system:x":    {"system", "x"},
		"system:serviceaccount:ns:a\n":      {},
		ServiceAccountUser("team", "robot"): {"team", "robot"},
	} {
		namespace, name, ok := ServiceAccountOf(user)
		if ok != (want[0] != "") || ok && (namespace != want[0] || name != want[1]) {
			t.Errorf("ServiceAccountOf(%q): got %q %q %v, want %q", user, namespace, name, ok, want)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for user, want := range map[string]string{
		"system:node:n1": "n1", "system:node:a.b": "a.b", "system:node:": "", "system:node:A": "", "system:nodes": "", "n1": "", "system:node:a:b": "",
	} {
		if name, ok := NodeOf(user); ok != (want != "") || ok && name != want {
			t.Errorf("NodeOf(%q): got %q %v, want %q", user, name, ok, want)
		}
	}
}
