package api_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestStoredVersions reads objects of old versions with other names, places or defaults of fields,
// and writes them in the served versions. TestStored in test/differential compares all old versions
// with Kubernetes.
func TestStoredVersions(t *testing.T) {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	codecs := codec.NewFactory(s)
	for _, tt := range []struct{ stored, of, want string }{
		{`{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1beta1","webhooks":[{"name":"a","clientConfig":{"url":"u"}}]}`,
			"admissionregistration.k8s.io",
			`{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1","metadata":{},"webhooks":[{"name":"a",` +
				`"clientConfig":{"url":"u"},"failurePolicy":"Ignore","matchPolicy":"Exact","namespaceSelector":{},"objectSelector":{},` +
				`"sideEffects":"Unknown","timeoutSeconds":30,"admissionReviewVersions":["v1beta1"]}]}`},
		{`{"kind":"ValidatingAdmissionPolicyBinding","apiVersion":"admissionregistration.k8s.io/v1alpha1","spec":{"policyName":"a","paramRef":{"name":"a"}}}`,
			"admissionregistration.k8s.io",
			`{"kind":"ValidatingAdmissionPolicyBinding","apiVersion":"admissionregistration.k8s.io/v1","metadata":{},"spec":{"policyName":"a",` +
				`"paramRef":{"name":"a","parameterNotFoundAction":"Deny"}}}`},
		{`{"kind":"PriorityLevelConfiguration","apiVersion":"flowcontrol.apiserver.k8s.io/v1beta2","spec":{"type":"Limited","limited":{"assuredConcurrencyShares":7}}}`,
			"flowcontrol.apiserver.k8s.io",
			`{"kind":"PriorityLevelConfiguration","apiVersion":"flowcontrol.apiserver.k8s.io/v1","metadata":{},"spec":{"type":"Limited",` +
				`"limited":{"nominalConcurrencyShares":7,"limitResponse":{"type":""},"lendablePercent":0}},"status":{}}`},
		{`{"kind":"PodDisruptionBudget","apiVersion":"policy/v1beta1","spec":{"selector":{}}}`, "policy",
			`{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{},"spec":{"selector":{"matchExpressions":[` +
				`{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":"Exists"}]}},` +
				`"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}`},
		{`{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1alpha1","subjects":[{"kind":"User","name":"*"}],"roleRef":{"kind":"ClusterRole","name":"a"}}`,
			"rbac.authorization.k8s.io",
			`{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{},"subjects":[{"kind":"Group",` +
				`"apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a"}}`},
		{`{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1beta1","addressType":"IPv4","ports":[],"endpoints":[{"addresses":["a"],` +
			`"nodeName":"n","topology":{"kubernetes.io/hostname":"n","topology.kubernetes.io/zone":"z"}}]}`, "discovery.k8s.io",
			`{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{},"addressType":"IPv4","endpoints":[{"addresses":["a"],` +
				`"conditions":{},"nodeName":"n","zone":"z"}],"ports":[]}`},
		{`{"kind":"Ingress","apiVersion":"extensions/v1beta1","spec":{"backend":{"serviceName":"a","servicePort":80}}}`, "networking.k8s.io",
			`{"kind":"Ingress","apiVersion":"networking.k8s.io/v1","metadata":{},"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}},` +
				`"status":{"loadBalancer":{}}}`},
		{`{"kind":"RuntimeClass","apiVersion":"node.k8s.io/v1alpha1","spec":{"runtimeHandler":"a"}}`, "node.k8s.io",
			`{"kind":"RuntimeClass","apiVersion":"node.k8s.io/v1","metadata":{},"handler":"a"}`},
		{`{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1beta1","spec":{"devices":{"requests":[{"name":"a","deviceClassName":"c"},` +
			`{"name":"b","firstAvailable":[{"name":"s","deviceClassName":"c"}]}]}}}`, "resource.k8s.io",
			`{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{},"spec":{"devices":{"requests":[{"name":"a",` +
				`"exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}},{"name":"b","firstAvailable":[{"name":"s",` +
				`"deviceClassName":"c","allocationMode":"ExactCount","count":1}]}]}},"status":{}}`},
		{`{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1beta1","spec":{"request":"YQ=="}}`, "certificates.k8s.io",
			`{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{},"spec":{"request":"YQ==",` +
				`"signerName":"kubernetes.io/legacy-unknown","usages":["digital signature","key encipherment"]},"status":{}}`},
		{`{"kind":"StatefulSet","apiVersion":"apps/v1beta1","spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":null,` +
			`"restartPolicy":"Always","terminationGracePeriodSeconds":1,"dnsPolicy":"a","securityContext":{},"schedulerName":"a"}}}}`, "apps",
			`{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"labels":{"a":"b"}},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},` +
				`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":null,"restartPolicy":"Always","terminationGracePeriodSeconds":1,` +
				`"dnsPolicy":"a","securityContext":{},"schedulerName":"a"}},"serviceName":"","podManagementPolicy":"OrderedReady",` +
				`"updateStrategy":{"type":"OnDelete"},"revisionHistoryLimit":10,` +
				`"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}},"status":{"replicas":0,"availableReplicas":0}}`},
	} {
		d, err := codecs.DecodeStored([]byte(tt.stored))
		if err != nil {
			t.Errorf("%s: %v", tt.stored, err)
			continue
		}
		s.Default(d.Object)
		hub, err := s.ToHubKind(d.Object, meta.GroupKind{Group: tt.of, Kind: d.Object.GetTypeMeta().Kind})
		if err != nil {
			t.Errorf("%s: %v", tt.stored, err)
			continue
		}
		got, err := codecs.Append(nil, hub, codec.Media{})
		if err != nil || strings.TrimSpace(string(got)) != tt.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tt.stored, err, got, tt.want)
		}
	}
}
