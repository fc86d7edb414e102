package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
)

// parse returns a policy of apiVersion audit.k8s.io/v1 whose other fields are in text.
func parse(t testing.TB, text string) *audit.Policy {
	t.Helper()
	p, err := audit.ParsePolicy([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\n" + text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// ask returns the attributes of a request: "bob,g1,g2 get pods/log.apps in NAMESPACE named NAME",
// or "bob get /path". Groups, subresource, API group, namespace and name may be absent. The user -
// is no user.
func ask(text string) *request.Attributes {
	words := strings.Fields(text)
	a := &request.Attributes{Verb: words[1]}
	if words[0] != "-" {
		who := strings.Split(words[0], ",")
		a.User = &request.User{Name: who[0], Groups: who[1:]}
	}
	if strings.HasPrefix(words[2], "/") {
		a.Path = words[2]
		return a
	}
	a.IsResource = true
	a.Resource, a.Group, _ = strings.Cut(words[2], ".")
	a.Resource, a.Subresource, _ = strings.Cut(a.Resource, "/")
	for i := 3; i < len(words); i += 2 {
		switch words[i] {
		case "in":
			a.Namespace = words[i+1]
		case "named":
			a.Name = words[i+1]
		}
	}
	return a
}

// TestMatches: one rule, and which requests it matches.
func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		yes, not []string
	}{
		{"", []string{"bob get pods", "- get pods", "bob get /healthz", "- get /"}, nil},
		{"users: [bob, eve]", []string{"bob get pods", "eve get /"}, []string{"ann get pods", "- get pods", "- get /"}},
		{`users: [""]`, nil, []string{"bob get pods", "- get pods"}},
		{"userGroups: [g, h]", []string{"bob,g get pods", "bob,x,h get /"}, []string{"bob get pods", "bob,x get /", "- get pods", "g get pods"}},
		{"users: [bob]\nuserGroups: [g]", []string{"bob,g get pods"}, []string{"bob get pods", "ann,g get pods"}},
		{"verbs: [get, post]", []string{"bob get pods", "bob post /"}, []string{"bob list pods", "bob GET pods"}},
		{"namespaces: [a, b]", []string{"bob get pods in a", "bob get x.y in b"}, []string{"bob get pods in c", "bob get nodes", "bob get /"}},
		{`namespaces: [""]`, []string{"bob get nodes", "bob list pods"}, []string{"bob get pods in a", "bob get /"}},
		{`resources: [{group: ""}]`, []string{"bob get pods", "bob get pods/log"}, []string{"bob get pods.apps", "bob get /"}},
		{`resources: [{group: "*"}]`, []string{"bob get pods", "bob get x/y.apps"}, []string{"bob get /"}},
		{"resources: [{group: apps, resources: [a, b]}]", []string{"bob get a.apps", "bob get b.apps in n"},
			[]string{"bob get a", "bob get c.apps", "bob get a/scale.apps", "bob get ab.apps"}},
		{"resources: [{resources: [pods/log]}]", []string{"bob get pods/log in n"}, []string{"bob get pods", "bob get pods/exec", "bob get pods/lo", "bob get pods/logs"}},
		{"resources: [{resources: [pods/*]}]", []string{"bob get pods", "bob get pods/log", "bob get pods/exec"}, []string{"bob get nodes", "bob get pod", "bob get pods2/log"}},
		{"resources: [{resources: ['*/scale']}]", []string{"bob get pods/scale", "bob get x/scale"}, []string{"bob get pods", "bob get scale", "bob get x/scales"}},
		{"resources: [{resources: ['*']}]", []string{"bob get pods", "bob get x/scale"}, []string{"bob get pods.apps", "bob get /"}},
		{"resources: [{resources: [pods/]}]", nil, []string{"bob get pods", "bob get pods/log"}},
		{"resources: [{resources: [pods, nodes], resourceNames: [a, b]}]", []string{"bob get pods named a", "bob get nodes named b"},
			[]string{"bob get pods named c", "bob list pods", "bob get secrets named a"}},
		{"resources: [{resources: [pods], resourceNames: [a]}, {resources: [pods], resourceNames: [b]}]",
			[]string{"bob get pods named a", "bob get pods named b"}, []string{"bob get pods named c"}},
		{"resources: [{resources: [pods]}]\nnamespaces: [a]", []string{"bob get pods in a"}, []string{"bob get pods in b", "bob get nodes"}},
		{"nonResourceURLs: [/a, /b*]", []string{"bob get /a", "bob get /b", "bob get /bc/d"}, []string{"bob get /", "bob get /a/b", "bob get pods", "bob get /ab"}},
		{"nonResourceURLs: ['*']", []string{"bob get /a", "bob get /"}, []string{"bob get pods"}},
		{"nonResourceURLs: [/a]\nverbs: [get]", []string{"bob get /a"}, []string{"bob put /a"}},
	} {
		p := parse(t, "rules:\n- level: Request\n  "+strings.ReplaceAll(tt.rule, "\n", "\n  "))
		for _, text := range tt.yes {
			if got := p.Decide(ask(text)).Level; got != audit.Request {
				t.Errorf("%s\ndecides about %q: got %v, want Request", tt.rule, text, got)
			}
		}
		for _, text := range tt.not {
			if got := p.Decide(ask(text)).Level; got != audit.None {
				t.Errorf("%s\ndecides about %q: got %v, want None", tt.rule, text, got)
			}
		}
	}
}

// TestDecide: the first rule that matches decides, and adds its stages to those of the policy.
func TestDecide(t *testing.T) {
	p := parse(t, `omitManagedFields: true
omitStages: [RequestReceived]
rules:
- {level: None, users: [quiet]}
- {level: Metadata, resources: [{resources: [pods]}], omitStages: [Panic, RequestReceived]}
- {level: RequestResponse, verbs: [get], omitManagedFields: false}
- {level: Request, nonResourceURLs: [/a], omitStages: [ResponseStarted, ResponseComplete]}
`)
	for text, want := range map[string]string{
		"quiet get pods":  "None true [RequestReceived]",
		"bob get pods":    "Metadata true [RequestReceived Panic]",
		"bob get secrets": "RequestResponse false [RequestReceived]",
		"bob get /a":      "RequestResponse false [RequestReceived]",
		"bob post /a":     "Request true [RequestReceived ResponseStarted ResponseComplete]",
		"bob post /b":     "None true [RequestReceived]",
		"bob list nodes":  "None true [RequestReceived]",
	} {
		d := p.Decide(ask(text))
		var omitted []audit.Stage
		for s := audit.RequestReceived; s <= audit.Panic; s++ {
			if d.Omits(s) {
				omitted = append(omitted, s)
			}
		}
		if got := fmt.Sprint(d.Level, d.OmitManagedFields, omitted); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestManyRules: of hundreds of rules, in which only one field differs, each is found.
func TestManyRules(t *testing.T) {
	for field, request := range map[string]string{
		"users: [n%d]": "n%d get pods", "verbs: [n%d]": "bob n%d pods", "userGroups: [n%d]": "bob,n%d get pods",
		"namespaces: [n%d]": "bob get pods in n%d", "resources: [{resources: [n%d/*]}]": "bob get n%d/log",
		"resources: [{group: n%d}]": "bob get pods.n%d", "resources: [{resources: [pods], resourceNames: [n%d]}]": "bob get pods named n%d",
		"nonResourceURLs: [/n%d]": "bob get /n%d", "nonResourceURLs: [/n%d/*]": "bob get /n%d/x",
	} {
		const n = 200
		var text strings.Builder
		for i := range n {
			stages := []string{"", "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}[i%5]
			fmt.Fprintf(&text, "- {level: Metadata, omitStages: [%s], "+field+"}\n", stages, i)
		}
		p := parse(t, "rules:\n"+text.String())
		for i := range n {
			d := p.Decide(ask(fmt.Sprintf(request, i)))
			if d.Level != audit.Metadata || i%5 > 0 && !d.Omits(audit.Stage(i%5-1)) {
				t.Errorf(field+": got %+v", i, d)
			}
		}
		if d := p.Decide(ask(fmt.Sprintf(request, n))); d.Level != audit.None {
			t.Errorf(field+", which no rule has: got %+v", n, d)
		}
	}
}

// TestParseErrors: what is refused, and in which words.
func TestParseErrors(t *testing.T) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "failed decoding: Object 'apiVersion' is missing"},
		{"no version", "kind: Policy\nrules: [{level: None}]", "failed decoding: Object 'apiVersion' is missing"},
		{"old version", "kind: Policy\napiVersion: audit.k8s.io/v1beta1", `failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1"`},
		{"other kind", "kind: Event\napiVersion: audit.k8s.io/v1", `failed decoding: no kind "Event" is registered for version "audit.k8s.io/v1"`},
		{"not JSON", "{apiVersion: audit.k8s.io/v1}", "failed decoding: invalid character 'a' looking for beginning of object key string"},
		{"not YAML", "a: [", "failed decoding: yaml: line 1: did not find expected node content"},
		{"no object", "- a", "failed decoding: json: cannot unmarshal array into Go value of type"},
		{"wrong type", head + "rules: [{level: 1}]", "failed decoding: json: cannot unmarshal number into Go struct field policyRule.rules.level of type"},
		{"no rules", head, "loaded illegal policy with 0 rules"},
		{"unknown field", head + "rules: [{level: None, resource: [a]}]", `failed decoding: strict decoding error: unknown field "rules[0].resource"`},
		{"repeated field", `{"apiVersion":"audit.k8s.io/v1","rules":[{"level":"None"},{"level":"None","level":"Request"}]}`,
			`failed decoding: strict decoding error: duplicate field "rules[1].level"`},
		{"repeated key", head + "rules:\n- level: None\n  level: Request",
			"failed decoding: strict decoding error: yaml: unmarshal errors:\n  line 5: key \"level\" already set in map"},
		{"level", head + "rules: [{level: None}, {level: <none>}, {}]",
			`[rules[1].level: Unsupported value: "\u003cnone\u003e": supported values: "None", "Metadata", "Request", "RequestResponse", rules[2].level: Required value]`},
		{"stages", head + "omitStages: [Panic, panic]\nrules: [{level: None, omitStages: ['']}]",
			`[omitStages[1]: Invalid value: "panic": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic, ` +
				`rules[0].omitStages[0]: Invalid value: "": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic]`},
		{"urls", head + "rules: [{level: None, nonResourceURLs: [/a, 'b*', '/*/c', '', '*', '/**']}]",
			`[rules[0].nonResourceURLs[1]: Invalid value: "b*": non-resource URL rules must begin with a '/' character, ` +
				`rules[0].nonResourceURLs[2]: Invalid value: "/*/c": non-resource URL wildcards '*' must be the final character of the rule, ` +
				`rules[0].nonResourceURLs[3]: Invalid value: "": non-resource URL rules must begin with a '/' character, ` +
				`rules[0].nonResourceURLs[5]: Invalid value: "/**": non-resource URL wildcards '*' must be the final character of the rule]`},
		{"urls and namespaces", head + "rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]",
			`rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs`},
		{"urls and resources", head + "rules: [{level: None, nonResourceURLs: [/a], resources: [{}]}]",
			`rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs`},
		{"names without resources", head + "rules: [{level: None, resources: [{resourceNames: [a]}]}]",
			`rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource`},
		{"group", head + "rules: [{level: None}, {level: None, resources: [{}, {group: apps/v1}]}]",
			`rules[1].resources.group: Invalid value: "apps/v1": a lowercase RFC 1123 subdomain must consist of`},
	} {
		_, err := audit.ParsePolicy([]byte(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got\n%v, want\n%s", tt.name, err, tt.want)
		}
	}
}

// TestLoadPolicy reads files; errors name them.
func TestLoadPolicy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{
		file("yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nmetadata: {name: a}\nrules:\n- level: Metadata\n---\nignored: true\n"),
		file("json", ` {"apiVersion":"audit.k8s.io/v1","rules":[{"level":"Metadata","users":null}]}`),
	} {
		p, err := audit.LoadPolicy(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if got := p.Decide(ask("bob get pods")); got.Level != audit.Metadata {
			t.Errorf("%s: got %v, want Metadata", path, got.Level)
		}
	}
	wrong, none := file("wrong", "apiVersion: audit.k8s.io/v1"), filepath.Join(dir, "none")
	for path, want := range map[string]string{
		wrong: "loaded illegal policy with 0 rules: from file " + wrong,
		none:  fmt.Sprintf("failed to read file path %q: open %s: no such file or directory", none, none),
	} {
		if _, err := audit.LoadPolicy(path); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// twentyRules is a policy as clusters have it: rules without records for what components do all the
// time, then rules for secrets, small objects and everything else.
const twentyRules = `omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:kube-proxy"], verbs: [watch], resources: [{resources: [endpoints, services, services/status]}]}
- {level: None, users: ["system:unsecured"], namespaces: [kube-system], verbs: [get], resources: [{resources: [configmaps]}]}
- {level: None, users: [kubelet], verbs: [get], resources: [{resources: [nodes, nodes/status]}]}
- {level: None, userGroups: ["system:nodes"], verbs: [get], resources: [{resources: [nodes, nodes/status]}]}
- {level: None, users: ["system:kube-controller-manager", "system:kube-scheduler", "system:serviceaccount:kube-system:endpoint-controller"],
   verbs: [get, update], namespaces: [kube-system], resources: [{resources: [endpoints]}]}
- {level: None, users: ["system:apiserver"], verbs: [get], resources: [{resources: [namespaces, namespaces/status, namespaces/finalize]}]}
- {level: None, users: ["cluster-autoscaler"], verbs: [get, update], namespaces: [kube-system], resources: [{resources: [configmaps, endpoints]}]}
- {level: None, users: ["system:kube-controller-manager"], verbs: [get, list], resources: [{group: metrics.k8s.io}]}
- {level: None, nonResourceURLs: [/healthz*, /version, /swagger*]}
- {level: None, resources: [{resources: [events]}]}
- {level: Request, users: [kubelet, "system:node-problem-detector"], verbs: [update, patch], resources: [{resources: [nodes/status, pods/status]}]}
- {level: Request, userGroups: ["system:nodes"], verbs: [update, patch], resources: [{resources: [nodes/status, pods/status]}]}
- {level: Request, users: ["system:serviceaccount:kube-system:namespace-controller"], verbs: [deletecollection]}
- {level: None, resources: [{group: coordination.k8s.io, resources: [leases]}]}
- {level: None, userGroups: ["system:serviceaccounts"], verbs: [get, list, watch], resources: [{group: example.com}]}
- {level: Metadata, resources: [{resources: [secrets, configmaps, serviceaccounts/token]}, {group: authentication.k8s.io, resources: [tokenreviews]}]}
- {level: Request, verbs: [get, list, watch], resources: [{group: batch}, {group: extensions}, {group: policy}]}
- {level: None, users: ["system:serviceaccount:monitoring:prometheus"], verbs: [get, list, watch]}
- {level: None, verbs: [get, list, watch], resources: [{}, {group: apps}, {group: autoscaling}, {group: networking.k8s.io}]}
- {level: Metadata}
`

// asked are requests with their levels by twentyRules.
var asked = []struct {
	name, text string
	want       audit.Level
}{
	{"first", "system:kube-proxy watch services", audit.None},
	{"health", "system:anonymous get /healthz", audit.None},
	{"late", "system:serviceaccount:shop:cart,system:serviceaccounts,system:serviceaccounts:shop,system:authenticated get pods in shop named cart-1", audit.None},
	{"last", "system:serviceaccount:shop:cart,system:serviceaccounts,system:serviceaccounts:shop,system:authenticated create pods in shop", audit.Metadata},
}

// TestDecideAllocs: deciding allocates nothing.
func TestDecideAllocs(t *testing.T) {
	p := parse(t, twentyRules)
	for _, tt := range asked {
		a := ask(tt.text)
		if got := p.Decide(a).Level; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { p.Decide(a) }); got > 0 {
			t.Errorf("%s: got %v allocations, want 0", tt.name, got)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	p := parse(b, twentyRules)
	for _, bb := range asked {
		a := ask(bb.text)
		b.Run("rules=20/match="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := p.Decide(a).Level; got != bb.want {
					b.Fatalf("got %v, want %v", got, bb.want)
				}
			}
		})
	}
}

// FuzzPolicy reads arbitrary bytes. What is accepted is accepted again, and decides.
func FuzzPolicy(f *testing.F) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for _, text := range []string{
		head + twentyRules, head, "", "{", `{"apiVersion":"audit.k8s.io/v1","rules":[{"level":"None","omitStages":["Panic"],"omitManagedFields":true}]}`,
		head + "rules: &a [{level: None, users: [\"\"], nonResourceURLs: ['*']}]\nmetadata: {labels: {a: b}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := audit.ParsePolicy(data)
		if (p == nil) != (err != nil) {
			t.Fatalf("got %v and %v", p, err)
		}
		if err != nil {
			_ = err.Error()
			return
		}
		for _, a := range asked {
			d := p.Decide(ask(a.text))
			if _ = d.Level.String(); d.Omits(audit.Panic) != p.Decide(ask(a.text)).Omits(audit.Panic) {
				t.Fatalf("two decisions about %s differ", a.text)
			}
		}
	})
}
