package plugins

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestKubernetesOrder compares the table with kube-apiserver 1.36: the plugins, their order, and
// which are on by default. The plugins that only Coracle has come last.
func TestKubernetesOrder(t *testing.T) {
	var want struct{ Order, DefaultOn, DefaultOff []string }
	data, err := os.ReadFile("testdata/kubernetes.json")
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, r := range table {
		all = append(all, r.name)
		if i < len(want.Order) {
			if r.on == always || (r.on == byDefault) != slices.Contains(want.DefaultOn, r.name) || (r.on != byDefault) != slices.Contains(want.DefaultOff, r.name) {
				t.Errorf("%s is on by default in one of Coracle and Kubernetes only", r.name)
			}
		} else if r.on != always {
			t.Errorf("%s is not Kubernetes' and can be switched", r.name)
		}
	}
	if !slices.Equal(all[:len(want.Order)], want.Order) {
		t.Errorf("got  %q\nwant %q", all, want.Order)
	}
}

// witness is a plugin of every phase that records its calls.
type witness struct {
	name  string
	asked *[]string
}

func (w *witness) Name() string                      { return w.name }
func (*witness) Handles(op admission.Operation) bool { return true }

func (w *witness) Mutate(context.Context, *admission.Attributes) error   { return w.note("mutate") }
func (w *witness) Validate(context.Context, *admission.Attributes) error { return w.note("validate") }

func (w *witness) Reserve(context.Context, *admission.Attributes) (admission.Settle, error) {
	return nil, w.note("reserve")
}

func (w *witness) note(phase string) error {
	*w.asked = append(*w.asked, phase+" "+w.name)
	return nil
}

// plugin returns the witness as an own plugin.
func (w *witness) plugin(before, after string) Plugin {
	return Plugin{Name: w.name, Before: before, After: after, Make: func(registry.Stores, []byte) (admission.Plugin, error) { return w, nil }}
}

// noResources stands for a server without resources.
type noResources struct{}

func (noResources) Store(meta.GroupResource) *registry.Store { return nil }

// run makes the chain of a configuration, and passes a write through it.
func run(t *testing.T, c *Config) {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	chain, err := New(c, Needs{Stores: noResources{}, Metrics: prometheus.NewRegistry(), OnClose: func(func() error) {}, Kubelets: true})
	if err != nil {
		t.Fatal(err)
	}
	a := &admission.Attributes{Operation: admission.Delete, Resource: meta.GroupVersionResource{Group: "a.io", Version: "v1", Resource: "sails"}}
	if err := chain.Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := chain.Validate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// TestPhases checks that mutators, validators and reservers each run in the order of the table. It
// puts a witness before and after each row, and lists the witnesses in another order than the
// table's.
func TestPhases(t *testing.T) {
	var asked, order []string
	var c Config
	for i := range table {
		name := table[i].name
		order = append(order, "before "+name, "after "+name)
		for side, before := range map[string]string{"before ": name, "after ": ""} {
			after := ""
			if before == "" {
				after = name
			}
			c.Plugins = append(c.Plugins, (&witness{side + name, &asked}).plugin(before, after))
		}
	}
	slices.Reverse(c.Plugins)
	run(t, &c)
	var want []string
	for _, phase := range []string{"mutate ", "validate ", "reserve "} {
		for _, name := range order {
			want = append(want, phase+name)
		}
	}
	if !slices.Equal(asked, want) {
		t.Errorf("got  %q\nwant %q", asked, want)
	}
}

// TestOrderOfOwnPlugins checks where own plugins stand: before the plugins that call policies and
// webhooks, or next to the plugin that they name.
func TestOrderOfOwnPlugins(t *testing.T) {
	var asked []string
	own := func(name, before, after string) Plugin { return (&witness{name, &asked}).plugin(before, after) }
	c := Config{Plugins: []Plugin{
		own("Default", "", ""),
		own("Second", "", ""),
		own("First", "Default", ""),
		own("Early", "AlwaysAdmit", ""),
		own("Quota", "ResourceQuota", ""),
		own("Late", "", "AlwaysDeny"),
		own("Later", "", "AlwaysDeny"),
	}}
	rows, err := c.rows()
	if err != nil {
		t.Fatal(err)
	}
	around := func(name string) []string {
		i := find(rows, name)
		list := []string{"", name, ""}
		if i > 0 {
			list[0] = rows[i-1].name
		}
		if i+1 < len(rows) {
			list[2] = rows[i+1].name
		}
		return list
	}
	for _, want := range [][]string{
		{"PodResizeValidator", "First", "Default"}, {"Default", "Second", "MutatingAdmissionPolicy"},
		{"", "Early", "AlwaysAdmit"}, {"ValidatingAdmissionWebhook", "Quota", "ResourceQuota"},
		{"AlwaysDeny", "Late", "Later"}, {"Late", "Later", "DeviceAdminAccess"},
	} {
		if got := around(want[1]); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	run(t, &c)
	if want := []string{"mutate Early", "mutate First", "mutate Default", "mutate Second", "mutate Quota", "mutate Late", "mutate Later"}; !slices.Equal(asked[:7], want) {
		t.Errorf("got %q, want %q", asked, want)
	}
}

// TestOwnSwitches enables and disables own plugins by name.
func TestOwnSwitches(t *testing.T) {
	for _, tt := range []struct {
		name            string
		off             bool
		enable, disable []string
		want            bool
	}{
		{"as it is", false, nil, nil, true},
		{"disabled", false, nil, []string{"Own"}, false},
		{"off", true, nil, nil, false},
		{"off and enabled", true, []string{"Own"}, nil, true},
	} {
		var asked []string
		p := (&witness{"Own", &asked}).plugin("", "")
		p.Off = tt.off
		run(t, &Config{Enable: tt.enable, Disable: tt.disable, Plugins: []Plugin{p}})
		if got := len(asked) > 0; got != tt.want {
			t.Errorf("%s: asked %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestMistakes checks that wrong configurations are refused before a server is made.
func TestMistakes(t *testing.T) {
	own := func(name, before, after string) []Plugin {
		return []Plugin{(&witness{name: name}).plugin(before, after)}
	}
	for want, c := range map[string]Config{
		`admission plugin "Priority": there is another plugin of this name`:                                            {Plugins: own("Priority", "", "")},
		`admission plugin "MutatingAdmissionWebhook": there is another plugin of this name`:                            {Plugins: own("MutatingAdmissionWebhook", "", "")},
		`admission plugin "ResourceClaimStatus": there is another plugin of this name`:                                 {Plugins: own("ResourceClaimStatus", "", "")},
		`admission plugin "Own": there is another plugin of this name`:                                                 {Plugins: append(own("Own", "", ""), own("Own", "", "")...)},
		`admission plugin "": it has no name`:                                                                          {Plugins: own("", "", "")},
		`admission plugin "Own": Make is nil`:                                                                          {Plugins: []Plugin{{Name: "Own"}}},
		`admission plugin "Own": it is placed before a plugin and after another`:                                       {Plugins: own("Own", "Priority", "Priority")},
		`admission plugin "Own": it is placed next to "Nope", which is neither in the table nor an earlier own plugin`: {Plugins: own("Own", "Nope", "")},
	} {
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	c := Config{Plugins: []Plugin{{Name: "Own", Make: func(registry.Stores, []byte) (admission.Plugin, error) { return &witness{name: "Other"}, nil }}}}
	_, err := New(&c, Needs{Stores: noResources{}, Metrics: prometheus.NewRegistry(), OnClose: func(func() error) {}})
	if want := "server: the admission plugin Own calls itself Other"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
