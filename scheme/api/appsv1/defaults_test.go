package appsv1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestDefaults: the JSON of a defaulted object contains a text.
func TestDefaults(t *testing.T) {
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	appsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	const daemons = `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":`
	for _, tt := range []struct {
		obj      meta.Object
		in, want string
	}{
		{&appsv1.Deployment{}, `{}`, `"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600}`},
		{&appsv1.Deployment{}, `{}`, `"replicas":1`},
		{&appsv1.Deployment{}, `{"replicas":0,"revisionHistoryLimit":0,"progressDeadlineSeconds":1,"strategy":{"type":"Recreate"}}`, `"strategy":{"type":"Recreate"},"revisionHistoryLimit":0,"progressDeadlineSeconds":1}`},
		{&appsv1.Deployment{}, `{"strategy":{"rollingUpdate":{"maxSurge":1}}}`, `"rollingUpdate":{"maxUnavailable":"25%","maxSurge":1}`},
		{&appsv1.Deployment{}, `{}`, `"restartPolicy":"Always"`},
		{&appsv1.ReplicaSet{}, `{}`, `"replicas":1`},
		{&appsv1.StatefulSet{}, `{}`, `"podManagementPolicy":"OrderedReady","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}},"revisionHistoryLimit":10,` +
			`"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}}`},
		{&appsv1.StatefulSet{}, `{}`, `"replicas":1`},
		{&appsv1.StatefulSet{}, `{"updateStrategy":{"type":"RollingUpdate"}}`, `"updateStrategy":{"type":"RollingUpdate"}`},
		{&appsv1.StatefulSet{}, `{"updateStrategy":{"type":"OnDelete","rollingUpdate":{}}}`, `"updateStrategy":{"type":"OnDelete","rollingUpdate":{"partition":0}}`},
		{&appsv1.StatefulSet{}, `{"updateStrategy":{"type":"OnDelete"},"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}`,
			`"updateStrategy":{"type":"OnDelete"},"revisionHistoryLimit":10,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Delete"}}`},
		{&appsv1.StatefulSet{}, `{"volumeClaimTemplates":[{"kind":"Odd"}]}`, `"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]`},
		{&appsv1.DaemonSet{}, `{}`, daemons + `{"maxUnavailable":1,"maxSurge":0}},"revisionHistoryLimit":10}`},
		{&appsv1.DaemonSet{}, `{"updateStrategy":{"rollingUpdate":{"maxSurge":"5%"}},"revisionHistoryLimit":2}`, daemons + `{"maxUnavailable":1,"maxSurge":"5%"}},"revisionHistoryLimit":2}`},
		{&appsv1.DaemonSet{}, `{"updateStrategy":{"type":"OnDelete"}}`, `"updateStrategy":{"type":"OnDelete"}`},
	} {
		if err := json.Unmarshal([]byte(`{"spec":`+tt.in+`}`), tt.obj); err != nil {
			t.Fatal(err)
		}
		s.Default(tt.obj)
		got, err := json.Marshal(tt.obj)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), tt.want) {
			t.Errorf("%T %s:\ngot  %s\nwant %s", tt.obj, tt.in, got, tt.want)
		}
	}
}
