package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// step is a request and its expected answer.
type step struct {
	method, path, body string
	code               int
	has, hasNot        string // texts that the answer contains and does not contain; "" is not checked
}

func (s step) isIn(code int, answer string) bool {
	return code == s.code && strings.Contains(answer, s.has) && (s.hasNot == "" || !strings.Contains(answer, s.hasNot))
}

// until repeats the request until the answer is that of the step.
func (d *damaged) until(s step, wait time.Duration) {
	d.t.Helper()
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		code, answer := d.do(s.method, s.path, s.body)
		if s.isIn(code, answer) {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("%s %s: got %d %.1500s, want %d with %q and without %q", s.method, s.path, code, answer, s.code, s.has, s.hasNot)
		}
	}
}

func shows(path, has, hasNot string) step { return step{"GET", path, "", 200, has, hasNot} }

func makes(path, body string) step { return step{"POST", path, body, 201, "", ""} }

// TestUnreadableConclusions: a controller that works on a list concludes nothing from an object in
// the list that cannot be read, and works on the other objects. In each case a server creates the
// objects. Then one object becomes unreadable, and another server starts, which cannot know what
// the object was. When the object is deleted or can be read again, the server draws the conclusion.
func TestUnreadableConclusions(t *testing.T) {
	t.Parallel()
	const (
		ns        = "/api/v1/namespaces/n"
		roles     = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
		classes   = "/apis/storage.k8s.io/v1/volumeattributesclasses"
		ofService = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices?labelSelector=kubernetes.io/service-name="
		cidrs     = "/apis/networking.k8s.io/v1/servicecidrs"
		budgets   = "/apis/policy/v1/namespaces/n/poddisruptionbudgets"
	)
	part := func(name string) step {
		return makes(roles, `{"metadata":{"name":"`+name+`","labels":{"part":"yes"}},"rules":[{"apiGroups":[""],"resources":["of-`+name+`"],"verbs":["get"]}]}`)
	}
	mirrored := func(name, ip string) []step {
		return []step{
			makes(ns+"/services", `{"metadata":{"name":"`+name+`"},"spec":{"ports":[{"port":80}]}}`),
			makes(ns+"/endpoints", `{"metadata":{"name":"`+name+`"},"subsets":[{"addresses":[{"ip":"`+ip+`"}]}]}`),
			shows(ofService+name, ip, ""),
		}
	}
	pod := func(name string) []step {
		return []step{
			makes(ns+"/pods", `{"metadata":{"name":"`+name+`","labels":{"a":"b"}},"spec":{"nodeName":"x","containers":[{"name":"c","image":"i"}]}}`),
			{"PATCH", ns + "/pods/" + name + "/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, 200, "", ""},
		}
	}
	budget := func(name string) step {
		return makes(budgets, `{"metadata":{"name":"`+name+`"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}`)
	}
	evict := makes(ns+"/pods/p1/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p1"}}`)
	refused := evict
	refused.code = 500
	blocked := []step{
		shows(ns+"/services/s", "10.9.0.5", ""),
		{"DELETE", cidrs + "/extra", "", 200, "", ""},
	}
	extra := []step{
		makes(cidrs, `{"metadata":{"name":"extra"},"spec":{"cidrs":["10.9.0.0/24"]}}`),
		shows(cidrs+"/extra", `"status":"True"`, ""),
		{"POST", ns + "/services", `{"metadata":{"name":"s"},"spec":{"clusterIP":"10.9.0.5","ports":[{"port":80}]}}`, 201, "", ""},
	}
	for _, tt := range []struct {
		name    string
		before  []step
		key     string // the key of the object that becomes unreadable
		after   []step // show that the server works on other objects
		holds   step
		restore bool // whether the object is restored; otherwise it is deleted
		follows step
	}{
		{
			"an aggregated role keeps the rules of a role", []step{
				makes(roles, `{"metadata":{"name":"whole"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"part":"yes"}}]}}`),
				part("one"), part("two"), shows(roles+"/whole", "of-one", ""), shows(roles+"/whole", "of-two", ""),
			},
			"/registry/clusterroles/two", []step{part("three"), shows(roles+"/whole", "of-three", "")},
			shows(roles+"/whole", "of-two", ""), false, shows(roles+"/whole", "of-three", "of-two"),
		},
		{
			"a class of volume attributes stays for a claim", []step{
				makes(classes, `{"metadata":{"name":"gold"},"driverName":"d.example.com","parameters":{"a":"b"}}`),
				makes(ns+"/persistentvolumeclaims", `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],`+
					`"resources":{"requests":{"storage":"1Gi"}},"volumeAttributesClassName":"gold"}}`),
				shows(classes+"/gold", "kubernetes.io/vac-protection", ""),
			},
			"/registry/persistentvolumeclaims/n/c", []step{{"DELETE", classes + "/gold", "", 200, "", ""}},
			shows(classes+"/gold", "deletionTimestamp", ""), false, step{"GET", classes + "/gold", "", 404, "", ""},
		},
		{
			"slices mirror Endpoints", mirrored("s", "10.1.0.1"), "/registry/services/endpoints/n/s", mirrored("t", "10.1.0.2"),
			shows(ofService+"s", "10.1.0.1", ""), false, shows(ofService+"s", "", "10.1.0.1"),
		},
		{
			"slices mirror Endpoints of a service", mirrored("s", "10.1.0.1"), "/registry/services/specs/n/s", mirrored("t", "10.1.0.2"),
			shows(ofService+"s", "10.1.0.1", ""), false, shows(ofService+"s", "", "10.1.0.1"),
		},
		{
			"a ServiceCIDR waits for an address", extra, "/registry/ipaddresses/10.9.0.5", blocked,
			shows(cidrs+"/extra", "There are still IPAddresses referencing the ServiceCIDR", ""), false, step{"GET", cidrs + "/extra", "", 404, "", ""},
		},
		{
			"a ServiceCIDR is no other place for an address", append([]step{
				makes(cidrs, `{"metadata":{"name":"other"},"spec":{"cidrs":["10.9.0.0/16"]}}`), shows(cidrs+"/other", `"status":"True"`, ""),
			}, extra...),
			"/registry/servicecidrs/other", blocked,
			shows(cidrs+"/extra", "There are still IPAddresses referencing the ServiceCIDR", ""), true, step{"GET", cidrs + "/extra", "", 404, "", ""},
		},
		{
			"a disruption budget counts no pod as healthy", append(append(pod("p1"), pod("p2")...), budget("b"), shows(budgets+"/b", `"disruptionsAllowed":1`, "")),
			"/registry/pods/n/p2", append(pod("p3")[:1], shows(budgets+"/b", `"expectedPods":2`, "")),
			shows(budgets+"/b", `"disruptionsAllowed":0`, ""), true, shows(budgets+"/b", `"disruptionsAllowed":1`, ""),
		},
		{
			"a disruption budget forbids", append(append(pod("p1"), pod("p2")...), budget("b"), budget("c"), shows(budgets+"/c", `"disruptionsAllowed":1`, "")),
			"/registry/poddisruptionbudgets/n/b", nil, refused, false, evict,
		},
		{
			"a secret stays for an account", []step{
				makes(ns+"/serviceaccounts", `{"metadata":{"name":"robot"}}`),
				makes(ns+"/secrets", `{"metadata":{"name":"token","annotations":{"kubernetes.io/service-account.name":"robot"}},"type":"kubernetes.io/service-account-token"}`),
				shows(ns+"/secrets/token", `"token":`, ""),
			},
			"/registry/serviceaccounts/n/robot", []step{
				makes(ns+"/secrets", `{"metadata":{"name":"other","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}`),
				shows(ns+"/secrets/other", `"token":`, ""),
			},
			shows(ns+"/secrets/token", `"token":`, ""), false, step{"GET", ns + "/secrets/token", "", 404, "", ""},
		},
		{
			"an account names a secret", []step{
				makes(ns+"/secrets", `{"metadata":{"name":"token","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}`),
				shows(ns+"/secrets/token", `"token":`, ""),
				{"PATCH", ns + "/serviceaccounts/default", `{"secrets":[{"name":"token"}]}`, 200, "", ""},
			},
			"/registry/secrets/n/token", []step{
				makes(ns+"/secrets", `{"metadata":{"name":"other","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}`),
				shows(ns+"/secrets/other", `"token":`, ""),
			},
			shows(ns+"/serviceaccounts/default", `"name":"token"`, ""), false, shows(ns+"/serviceaccounts/default", "", `"name":"token"`),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.Config{})
			defer store.Close()
			d := startOn(t, store)
			const wait = 30 * time.Second
			d.until(makes("/api/v1/namespaces", `{"metadata":{"name":"n"}}`), wait)
			d.until(shows(ns+"/serviceaccounts/default", "", ""), wait)
			for _, s := range tt.before {
				d.until(s, wait)
			}
			if err := d.Stop(); err != nil {
				t.Fatal(err)
			}
			good, err := store.Get(t.Context(), tt.key)
			if err != nil {
				t.Fatal(err)
			}
			d.put(tt.key, `{"kind":"Strange","apiVersion":"v7"}`)
			d = startOn(t, store)
			for _, s := range tt.after {
				d.until(s, wait)
			}
			d.until(tt.holds, wait)
			for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if code, answer := d.do(tt.holds.method, tt.holds.path, tt.holds.body); !tt.holds.isIn(code, answer) {
					t.Fatalf("%s %s: got %d %.600s, want %d with %q", tt.holds.method, tt.holds.path, code, answer, tt.holds.code, tt.holds.has)
				}
			}
			if tt.restore {
				d.put(tt.key, string(good.Value))
			} else if _, err := store.Delete(t.Context(), tt.key, storage.Pre{}); err != nil {
				t.Fatal(err)
			}
			d.until(tt.follows, wait)
		})
	}
}
