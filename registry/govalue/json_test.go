package govalue

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestJSON: values are shown as kube-apiserver shows the values of its internal types in messages.
func TestJSON(t *testing.T) {
	yes, seconds, amount := true, int64(5), meta.Quantity{}
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"nothing", nil, `null`},
		{"nil pointer", (*corev1.Container)(nil), `null`},
		{"pointer", &seconds, `5`},
		{"text", "a<b", `"a\u003cb"`},
		{"no list", []string(nil), `null`},
		{"empty list", []string{}, `[]`},
		{"list", []string{"a", "b"}, `["a","b"]`},
		{"bytes", []byte("ab"), `"YWI="`},
		{"map", map[string]string{"b": "c", "a": "d"}, `{"a":"d","b":"c"}`},
		{"amount", amount, `"0"`},
		{"struct", corev1.PodResourceClaim{Name: "a"}, `{"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}`},
		{"pointers within", &corev1.NodeAddress{Type: "A", Address: "b"}, `{"Type":"A","Address":"b"}`},
		{"a struct within", corev1.WeightedPodAffinityTerm{Weight: 1}, `{"Weight":1,"PodAffinityTerm":{"LabelSelector":null,"Namespaces":null,"TopologyKey":"",` +
			`"NamespaceSelector":null,"MatchLabelKeys":null,"MismatchLabelKeys":null}}`},
		{"a type of another package", corev1.WeightedPodAffinityTerm{PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: &meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
			`{"Weight":0,"PodAffinityTerm":{"LabelSelector":{"matchLabels":{"a":"b"}},"Namespaces":null,"TopologyKey":"","NamespaceSelector":null,"MatchLabelKeys":null,"MismatchLabelKeys":null}}`},
		{"embedded", corev1.Probe{PeriodSeconds: 1}, `{"Exec":null,"HTTPGet":null,"TCPSocket":null,"GRPC":null,"InitialDelaySeconds":0,"TimeoutSeconds":0,"PeriodSeconds":1,` +
			`"SuccessThreshold":0,"FailureThreshold":0,"TerminationGracePeriodSeconds":null}`},
		{"source of a volume", corev1.PersistentVolumeSource{Quobyte: &corev1.QuobyteVolumeSource{}, CSI: &corev1.CSIPersistentVolumeSource{}},
			`{"GCEPersistentDisk":null,"AWSElasticBlockStore":null,"HostPath":null,"Glusterfs":null,"NFS":null,"RBD":null,` +
				`"Quobyte":{"Registry":"","Volume":"","ReadOnly":false,"User":"","Group":"","Tenant":""},"ISCSI":null,"FlexVolume":null,"Cinder":null,"CephFS":null,` +
				`"FC":null,"Flocker":null,"AzureFile":null,"VsphereVolume":null,"AzureDisk":null,"PhotonPersistentDisk":null,"PortworxVolume":null,"ScaleIO":null,` +
				`"Local":null,"StorageOS":null,"CSI":{"Driver":"","VolumeHandle":"","ReadOnly":false,"FSType":"","VolumeAttributes":null,` +
				`"ControllerPublishSecretRef":null,"NodeStageSecretRef":null,"NodePublishSecretRef":null,"ControllerExpandSecretRef":null,"NodeExpandSecretRef":null}}`},
		{"handler", corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}, `{"Exec":null,"HTTPGet":null,"TCPSocket":null,"Sleep":{"Seconds":1}}`},
		{"what JSON does not know", func() {}, ""},
	} {
		got, err := json.Marshal(JSON(tt.v))
		if tt.name == "what JSON does not know" {
			if err != nil || !strings.HasPrefix(string(got), `"0x`) {
				t.Errorf("%s: got %s, %v, want a text", tt.name, got, err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got  %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}

	// The fields of a pod's spec have an order of their own, and some stand in the security
	// context.
	for _, tt := range []struct {
		spec corev1.PodSpec
		want string
	}{
		{corev1.PodSpec{HostPID: true, HostUsers: &yes}, `"SecurityContext":{"HostNetwork":false,"HostPID":true,"HostIPC":false,"ShareProcessNamespace":null,"HostUsers":true,"SELinuxOptions":null,`},
		{corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: &seconds}}, `"HostUsers":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":5,`},
	} {
		got, err := json.Marshal(JSON(tt.spec))
		if err != nil || !strings.Contains(string(got), tt.want) || !strings.HasPrefix(string(got), `{"Volumes":null,"InitContainers":null,"Containers":null,`) {
			t.Errorf("got %s, %v, want %s in it", got, err, tt.want)
		}
	}
}

// TestLongValues: a value that is too long is not shown.
func TestLongValues(t *testing.T) {
	fits, over := strings.Repeat("x", maxText-2), strings.Repeat("x", maxText-1)
	if got, err := json.Marshal(JSON(fits)); err != nil || len(got) != maxText {
		t.Errorf("the longest value: got %d bytes, %v", len(got), err)
	}
	if _, err := json.Marshal(JSON(over)); !errors.Is(err, errTooLong) {
		t.Errorf("a longer value: got %v, want an error", err)
	}
	if _, err := json.Marshal(JSON(make([]corev1.Container, 1<<10))); !errors.Is(err, errTooLong) {
		t.Errorf("a long list of unset fields: got %v, want an error", err)
	}
	for _, pair := range [][2]any{{over, "a"}, {"a", over}} {
		if got := Diff(pair[0], pair[1]); got != "" {
			t.Errorf("the diff of long values: got %d bytes, want none", len(got))
		}
	}
	if got, want := Diff([]string{"a"}, []string{"b"}), "@@ -1,3 +1,3 @@\n [\n- \"a\"\n+ \"b\"\n ]\n"; got != want {
		t.Errorf("Diff: got %q, want %q", got, want)
	}
}

// TestMap shows the elements of a map under their Go names, as those of a list.
func TestMap(t *testing.T) {
	set := resourcev1.CounterSet{Name: "s", Counters: map[string]resourcev1.Counter{"b": {}, "a": {}}}
	got, err := JSON(set).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Name":"s","Counters":{"a":{"Value":"0"},"b":{"Value":"0"}}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
