package core

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestNamespace(t *testing.T) {
	r := resource(t, "namespaces")
	ns := checktest.Decode[corev1.Namespace](t, `{"metadata":{"name":"a"},"status":{"phase":"Terminating"}}`)
	checktest.Want(t, create(r, ns), ``)
	if ns.Status.Phase != "Active" || len(ns.Spec.Finalizers) != 1 || ns.Labels[corev1.NamespaceNameLabel] != "a" {
		t.Errorf("got %+v, want an active namespace with finalizer and label", ns)
	}
	if !r.Strategy.Held(ns) {
		t.Error("Held: got false, want true")
	}
	next := checktest.Decode[corev1.Namespace](t, `{"metadata":{"name":"a"}}`)
	update(r, "", next, ns)
	if len(next.Spec.Finalizers) != 1 {
		t.Errorf("finalizers: got %v, want the old ones", next.Spec.Finalizers)
	}
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.Namespace](t, `{"status":{"phase":"Terminating"}}`), ns),
		"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty")
	checktest.Want(t, update(r, "finalize", checktest.Decode[corev1.Namespace](t, `{"spec":{"finalizers":["plain"]}}`), ns),
		`spec.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`)
	checktest.Want(t, update(r, "finalize", checktest.Decode[corev1.Namespace](t, `{}`), ns), ``)
	checktest.Want(t, update(r, "finalize", checktest.Decode[corev1.Namespace](t, `{"spec":{"finalizers":["kubernetes","orphan","foregroundDeletion","a.b/c"]}}`), ns), ``)
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.Namespace](t, `{"status":{"phase":"Active"}}`), ns), ``)
	going := checktest.Decode[corev1.Namespace](t, `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"status":{"phase":"Active"}}`)
	checktest.Want(t, r.Status.Validate(going, ns), "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty")
	own := checktest.Decode[corev1.Namespace](t, `{"spec":{"finalizers":["plain","kubernetes"]}}`)
	checktest.Want(t, create(r, own), `spec.finalizers: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`)
	if r.Strategy.Canonicalize(own); len(own.Spec.Finalizers) != 2 || own.Labels[corev1.NamespaceNameLabel] != "x" {
		t.Errorf("got %+v, want its own finalizers and its name as label", own)
	}
	labelled := &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}}
	if r.Strategy.Canonicalize(labelled); len(labelled.Labels) != 2 {
		t.Errorf("labels: got %v, want its own and its name", labelled.Labels)
	}
	bare := &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "a"}}
	if r.Strategy.Canonicalize(bare); bare.Labels[corev1.NamespaceNameLabel] != "a" {
		t.Errorf("labels: got %v, want its name", bare.Labels)
	}
	if r.Strategy.Held(new(corev1.Namespace)) {
		t.Error("Held: got true without finalizers, want false")
	}
}

func TestConfigMapAndSecret(t *testing.T) {
	cms, secs := resource(t, "configmaps"), resource(t, "secrets")
	checktest.Want(t, create(cms, checktest.Decode[corev1.ConfigMap](t, `{"data":{"same":"","bad key":""},"binaryData":{"same":""}}`)), `
data[bad key]: Invalid value: "bad key": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')
data[same]: Invalid value: "same": duplicate of key present in binaryData`)
	big := checktest.Decode[corev1.ConfigMap](t, `{}`)
	big.Data, big.BinaryData = map[string]string{"k": strings.Repeat("x", maxData-1)}, map[string][]byte{"l": {0}}
	checktest.Want(t, create(cms, big), ``)
	secret := checktest.Decode[corev1.Secret](t, `{}`)
	secret.Data = map[string][]byte{"k": make([]byte, maxData-1), "l": {0}}
	checktest.Want(t, create(secs, secret), ``)
	secret.Data["m"] = []byte{0}
	checktest.Want(t, create(secs, secret), `data: Too long: may not be more than 1048576 bytes`)
	big.BinaryData["m"] = []byte{0}
	checktest.Want(t, create(cms, big), `[]: Too long: may not be more than 1048576 bytes`)
	sealed := checktest.Decode[corev1.ConfigMap](t, `{"data":{"k":"v"},"immutable":true}`)
	checktest.Want(t, update(cms, "", checktest.Decode[corev1.ConfigMap](t, `{"data":{"k":"w"}}`), sealed),
		"immutable: Forbidden: field is immutable when `immutable` is set\ndata: Forbidden: field is immutable when `immutable` is set")
	bare := checktest.Decode[corev1.ConfigMap](t, `{"immutable":true}`)
	checktest.Want(t, update(cms, "", checktest.Decode[corev1.ConfigMap](t, `{"immutable":true,"data":{}}`), bare),
		"data: Forbidden: field is immutable when `immutable` is set")
	checktest.Want(t, update(cms, "", checktest.Decode[corev1.ConfigMap](t, `{"immutable":true}`), bare), "")

	same, binary := scheme.DeepCopy(sealed), checktest.Decode[corev1.ConfigMap](t, `{"data":{"k":"v"},"binaryData":{"b":""},"immutable":true}`)
	checktest.Want(t, update(cms, "", same, sealed), ``)
	checktest.Want(t, update(cms, "", binary, sealed), "binaryData: Forbidden: field is immutable when `immutable` is set")
	open := checktest.Decode[corev1.ConfigMap](t, `{"data":{"k":"v"},"immutable":false}`)
	checktest.Want(t, update(cms, "", checktest.Decode[corev1.ConfigMap](t, `{"data":{"k":"w"}}`), open), ``)
	checktest.Want(t, update(cms, "", open, sealed), "immutable: Forbidden: field is immutable when `immutable` is set")
	checktest.Want(t, update(secs, "", checktest.Decode[corev1.Secret](t, `{"stringData":{"k":"w"},"immutable":true}`), checktest.Decode[corev1.Secret](t, `{"stringData":{"k":"v"},"immutable":true}`)),
		"data: Forbidden: field is immutable when `immutable` is set")
	checktest.Want(t, update(secs, "", &corev1.Secret{}, checktest.Decode[corev1.Secret](t, `{"type":"kubernetes.io/service-account-token"}`)),
		`metadata.annotations[kubernetes.io/service-account.name]: Required value`) // an update may leave out the type

	for _, tt := range []struct{ in, want string }{
		{`{"stringData":{"a":"b"}}`, ``},
		{`{"type":"kubernetes.io/tls","data":{"tls.crt":""}}`, `data[tls.key]: Required value`},
		{`{"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"not json"}}`,
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character 'o' in literal null (expecting 'u')`},
		{`{"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"{}"}}`, ``},
		{`{"type":"kubernetes.io/basic-auth","stringData":{"password":"a"}}`, ``},
		{`{"type":"kubernetes.io/ssh-auth","stringData":{"ssh-privatekey":"a"}}`, ``},
		{`{"type":"kubernetes.io/ssh-auth","stringData":{"ssh-privatekey":""}}`, `data[ssh-privatekey]: Required value`},
		{`{"type":"kubernetes.io/service-account-token","metadata":{"annotations":{"kubernetes.io/service-account.name":"a"}}}`, ``},
		{`{"stringData":{"a/b":"c"}}`, `data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' ` +
			`(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`},
		{`{"type":"kubernetes.io/dockercfg"}`, `data[.dockercfg]: Required value`},
		{`{"type":"kubernetes.io/basic-auth","stringData":{"username":"a"}}`, ``},
		{`{"type":"kubernetes.io/basic-auth"}`, "data[username]: Required value\ndata[password]: Required value"},
		{`{"type":"kubernetes.io/ssh-auth"}`, `data[ssh-privatekey]: Required value`},
		{`{"type":"kubernetes.io/service-account-token"}`, `metadata.annotations[kubernetes.io/service-account.name]: Required value`},
	} {
		checktest.Want(t, create(secs, checktest.Decode[corev1.Secret](t, tt.in)), tt.want)
	}
	old := checktest.Decode[corev1.Secret](t, `{}`)
	checktest.Want(t, update(secs, "", checktest.Decode[corev1.Secret](t, `{"type":"example.com/other"}`), old),
		`type: Invalid value: "example.com/other": field is immutable`)
	if got := secs.Strategy.Warnings(old, nil); len(got) > 0 {
		t.Errorf("warnings: got %q, want none", got)
	}
	tls := checktest.Decode[corev1.Secret](t, `{"type":"kubernetes.io/tls","data":{"tls.crt":"","tls.key":""}}`)
	if got := secs.Strategy.Warnings(tls, nil); len(got) != 1 || got[0] != "tls: failed to find any PEM data in certificate input" {
		t.Errorf("warnings: got %q", got)
	}
}

func TestNode(t *testing.T) {
	r := resource(t, "nodes")
	node := checktest.Decode[corev1.Node](t, `{"spec":{"podCIDR":"10.1.0.0/24"},"status":{"capacity":{"cpu":"4"}}}`)
	checktest.Want(t, create(r, node), ``)
	if len(node.Status.Allocatable) != 1 || len(node.Spec.PodCIDRs) != 1 {
		t.Errorf("got %+v, want allocatable and podCIDRs", node)
	}
	checktest.Want(t, create(r, checktest.Decode[corev1.Node](t, `{"spec":{"taints":[{"key":"a","effect":"Foo"}]},"status":{"capacity":{"cpu":"-1"}}}`)), `
metadata.taints[0].effect: Unsupported value: "Foo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0
status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0`)
	const twice = `metadata.taints[1]: Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair`
	checktest.Want(t, update(r, "", checktest.Decode[corev1.Node](t, `{"spec":{"podCIDR":"10.2.0.0/24","taints":[{"key":"k","effect":"NoSchedule"},{"key":"k","effect":"NoSchedule"}]}}`), node),
		twice+"\n"+`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`+"\n"+twice)
	next := checktest.Decode[corev1.Node](t, `{"metadata":{"labels":{"via":"status"}},"spec":{"unschedulable":true},"status":{"addresses":[{"type":"A","address":"b"},{"type":"A","address":"b"}]}}`)
	checktest.Want(t, update(r, "status", next, node), `status.addresses[1]: Duplicate value: {"Type":"A","Address":"b"}`)
	if next.Spec.Unschedulable || next.Labels["via"] != "status" {
		t.Errorf("status door: got %+v, want the old spec and new labels", next)
	}
}

// TestNodes validates valid and invalid nodes, at creation and update.
func TestNodes(t *testing.T) {
	r := resource(t, "nodes")
	const once = "spec.podCIDRs: Invalid value: "
	for _, tt := range []struct{ in, want string }{
		{`{"spec":{"podCIDRs":["10.1.0.0/24","fd00::/64"],"taints":[{"key":"a","value":"b","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]},"status":{"capacity":{"pods":"1","hugepages-2Mi":"1"}}}`, ``},
		{`{"spec":{"podCIDRs":["10.1.0.0/24","10.2.0.0/24"]}}`, once + `["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for each IP family`},
		{`{"spec":{"podCIDRs":["fd00::/64","fd01::/64"]}}`, once + `["fd00::/64","fd01::/64"]: may specify no more than one CIDR for each IP family`},
		{`{"spec":{"podCIDRs":["10.1.0.0/24","fd00::/64","fd01::/64"]}}`, once + `["10.1.0.0/24","fd00::/64","fd01::/64"]: may specify no more than one CIDR for each IP family`},
		{`{"spec":{"podCIDRs":["10.1.0.0/24","x"]}}`, `
spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: <nil> (invalid CIDR address: x)
` + once + `["10.1.0.0/24","x"]: may specify no more than one CIDR for each IP family`},
		{`{"spec":{"podCIDRs":["x"]}}`, `spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`},
		{`{"spec":{"taints":[{"key":"a b","value":"c d","effect":""}]},"status":{"capacity":{"pods":"1m"}}}`, `
metadata.taints[0].key: Invalid value: "a b": ` + qualified + `
metadata.taints[0].value: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
metadata.taints[0].effect: Required value
status.capacity.pods: Invalid value: "1m": must be an integer
status.allocatable.pods: Invalid value: "1m": must be an integer`},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.Node](t, tt.in)), tt.want)
	}
	const form = `must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`
	long := "A" + strings.Repeat("a", 253)
	for _, tt := range []struct{ features, want string }{
		{`["A","A/b","B1/c2/D"]`, ``},
		{`["A","A"]`, `status.declaredFeatures[1]: Duplicate value: "A"`},
		{`["B","A"]`, `status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically`},
		{`["` + long + `"]`, `status.declaredFeatures[0]: Invalid value: "` + long + `": invalid feature name "` + long + `": must be no more than 253 characters`},
		{`["` + long[1:] + `"]`, `status.declaredFeatures[0]: Invalid value: "` + long[1:] + `": invalid feature name "` + long[1:] + `": ` + form},
	} {
		n := checktest.Decode[corev1.Node](t, `{"status":{"declaredFeatures":`+tt.features+`}}`)
		checktest.Want(t, create(r, n), tt.want)
		checktest.Want(t, update(r, "status", n, new(corev1.Node)), tt.want)
	}
	for capacity, want := range map[string]string{"1": ``, "0": `metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero`} {
		checktest.Want(t, create(r, checktest.Decode[corev1.Node](t, `{"status":{"nodeInfo":{"swap":{"capacity":`+capacity+`}}}}`)), want)
	}
	for _, tt := range []struct{ source, inSpec, inStatus string }{
		{`{}`, `: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil`, `: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil`},
		{`{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":"c"}}`, ``, `.configMap.uid: Required value
status.config.AT.configMap.resourceVersion: Required value`},
		{`{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":"c","uid":"d","resourceVersion":"e"}}`, `.configMap.uid: Forbidden: uid must not be set in spec
spec.configSource.configMap.resourceVersion: Forbidden: resourceVersion must not be set in spec`, ``},
		{`{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":".."}}`, `.configMap.kubeletConfigKey: Invalid value: "..": must not be '..'`, `.configMap.uid: Required value
status.config.AT.configMap.resourceVersion: Required value
status.config.AT.configMap.kubeletConfigKey: Invalid value: "..": must not be '..'`},
		{`{"configMap":{}}`, `.configMap.namespace: Required value
spec.configSource.configMap.name: Required value
spec.configSource.configMap.kubeletConfigKey: Required value`, `.configMap.uid: Required value
status.config.AT.configMap.resourceVersion: Required value
status.config.AT.configMap.namespace: Required value
status.config.AT.configMap.name: Required value
status.config.AT.configMap.kubeletConfigKey: Required value`},
	} {
		n := checktest.Decode[corev1.Node](t, `{"spec":{"configSource":`+tt.source+`}}`)
		want := tt.inSpec
		if want != "" {
			want = "spec.configSource" + want
		}
		checktest.Want(t, update(r, "", n, n), want)
		for _, at := range []string{"assigned", "active", "lastKnownGood"} {
			n = checktest.Decode[corev1.Node](t, `{"status":{"config":{"`+at+`":`+tt.source+`}}}`)
			want = ""
			if tt.inStatus != "" {
				want = strings.ReplaceAll("status.config.AT"+tt.inStatus, "AT", at)
			}
			checktest.Want(t, update(r, "status", n, n), want)
		}
	}
	const old = `{"spec":{"podCIDR":"10.1.0.0/24","providerID":"p","externalID":"e"}}`
	for _, tt := range []struct{ old, now, want string }{
		{old, old, ``},
		{`{}`, old, `spec.externalID: Forbidden: may not be updated`},
		{old, `{"spec":{"podCIDR":"10.1.0.0/24","providerID":"q","externalID":"e"}}`, `spec.providerID: Forbidden: node updates may not change providerID except from "" to valid`},
		{`{}`, `{"spec":{"podCIDR":"10.1.0.0/24","providerID":"p"}}`, ``},
		{old, `{"spec":{"providerID":"p","externalID":"e"}}`, `spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`},
		{`{}`, `{"status":{"addresses":[{"type":"A","address":"b"},{"type":"B","address":"b"}]}}`, ``},
	} {
		checktest.Want(t, update(r, "", checktest.Decode[corev1.Node](t, tt.now), checktest.Decode[corev1.Node](t, tt.old)), tt.want)
	}
	odd := func() *corev1.Node {
		return checktest.Decode[corev1.Node](t, `{"spec":{"configSource":{},"externalID":"e"},"status":{"config":{}}}`)
	}
	if got := strings.Join(r.Strategy.Warnings(odd(), nil), "\n"); got != "spec.configSource: the feature is removed\nspec.externalID: this field is deprecated, and is unused by Kubernetes" {
		t.Errorf("warnings: got %s", got)
	}
	if got := r.Strategy.Warnings(new(corev1.Node), nil); len(got) > 0 {
		t.Errorf("warnings: got %q, want none", got)
	}
	node := odd()
	if create(r, node); node.Spec.ConfigSource != nil || node.Status.Config != nil {
		t.Errorf("got %+v, want no configuration of the kubelet in a new node", node)
	}
	node = odd()
	if update(r, "", node, odd()); node.Spec.ConfigSource == nil {
		t.Error("got no configuration of the kubelet, want the one that was there")
	}
	node = odd()
	if update(r, "status", node, odd()); node.Status.Config == nil {
		t.Error("got no state of the kubelet's configuration, want the one that was there")
	}
	node = odd()
	if update(r, "", node, new(corev1.Node)); node.Spec.ConfigSource != nil {
		t.Error("got a configuration of the kubelet that was not there")
	}
}

func TestEvent(t *testing.T) {
	const newer = `"eventTime":"2020-01-01T00:00:00.000000Z","reportingComponent":"c",`
	long := func(n int) string { return strings.Repeat("x", n) }
	r := resource(t, "events")
	for _, tt := range []struct{ in, want string }{
		{`{"metadata":{"namespace":"n"},"involvedObject":{"namespace":"n"}}`, ``},
		{`{"metadata":{"namespace":"default"},"involvedObject":{"kind":"Node"}}`, ``},
		{`{"metadata":{"namespace":"n"},"involvedObject":{"namespace":"m"}}`,
			`involvedObject.namespace: Invalid value: "m": does not match event.namespace`},
		{`{"metadata":{"namespace":"n"},"involvedObject":{}}`,
			`involvedObject.namespace: Invalid value: "": does not match event.namespace`},
		{`{"metadata":{"namespace":"n"},"involvedObject":{"namespace":"n"},"eventTime":"2020-01-01T00:00:00.000000Z","reportingComponent":"c","reportingInstance":"i","reason":"r"}`,
			`action: Required value`},
		{`{"metadata":{"namespace":"kube-system"},` + newer + `"action":"` + long(128) + `","reason":"` + long(128) + `","reportingInstance":"` + long(128) + `","message":"` + long(1024) + `"}`, ``},
		{`{"metadata":{"namespace":"default"},` + newer + `"action":"` + long(129) + `","reason":"` + long(129) + `","reportingInstance":"` + long(129) + `","message":"` + long(1025) + `"}`, `
reportingInstance: Invalid value: "": can have at most 128 characters
action: Invalid value: "": can have at most 128 characters
reason: Invalid value: "": can have at most 128 characters
message: Invalid value: "": can have at most 1024 characters`},
		{`{"metadata":{"namespace":"n"},"involvedObject":{"namespace":"m"},` + newer + `"action":"a","reason":"r","reportingInstance":"i"}`, ``},
		{`{"metadata":{"namespace":"n"},"eventTime":"2020-01-01T00:00:00.000000Z","reportingComponent":"a b","action":"a","reason":"r","reportingInstance":"i"}`, `
involvedObject.namespace: Invalid value: "": does not match event.namespace
reportingComponent: Invalid value: "a b": ` + qualified},
		{`{"metadata":{"namespace":"N"},"involvedObject":{"namespace":"N"}}`, `namespace: Invalid value: "N": ` + checktest.Subdomain},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.Event](t, tt.in)), tt.want)
	}
	if got := r.TTL(nil).String(); got != "1h0m0s" {
		t.Errorf("TTL: got %s, want 1h", got)
	}
}

func TestServiceAccount(t *testing.T) {
	r := resource(t, "serviceaccounts")
	sa := checktest.Decode[corev1.ServiceAccount](t, `{"secrets":[{"name":"s","kind":"Secret","namespace":"x"}],"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}`)
	checktest.Want(t, create(r, sa), ``)
	if sa.Secrets[0] != (corev1.ObjectReference{Name: "s"}) {
		t.Errorf("secrets: got %+v, want only the name", sa.Secrets[0])
	}
	if got := r.Strategy.Warnings(sa, nil); len(got) != 1 {
		t.Errorf("warnings: got %q, want one", got)
	}
	if got := r.Strategy.Warnings(sa, sa); len(got) != 0 {
		t.Errorf("warnings on update: got %q, want none", got)
	}
}

func TestServiceCreate(t *testing.T) {
	r := resource(t, "services")
	for _, tt := range []struct{ name, spec, want string }{
		{"good", `{"ports":[{"port":80}]}`, ``},
		{"no ports", `{"selector":{"a":"b"}}`, `spec.ports: Required value`},
		{"unnamed ports", `{"ports":[{"port":80},{"name":"named","port":443}]}`, `spec.ports[0].name: Required value`},
		{"target", `{"type":"NodePort","ports":[{"port":80,"targetPort":"0"}]}`,
			`spec.ports[0].targetPort: Invalid value: "0": must contain at least one letter (a-z)`},
		{"type", `{"type":"Foo","ports":[{"port":80}]}`,
			`spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`},
		{"address", `{"clusterIP":"not-an-ip","ports":[]}`,
			`spec.clusterIPs[0]: Invalid value: "not-an-ip": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"families", `{"clusterIP":"10.0.0.1","ipFamilies":["IPv6","IPv6","Odd"],"ports":[{"port":1}]}`, `
spec.ipFamilies[1]: Duplicate value: "IPv6"
spec.ipFamilies[2]: Unsupported value: "Odd": supported values: "IPv4", "IPv6"
spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by ` + "`ipFamilies[0]`"},
		{"external name", `{"type":"ExternalName","externalName":"not a host","clusterIP":"10.0.0.1"}`, `
spec.clusterIPs: Forbidden: may not be set for ExternalName services
spec.externalName: Invalid value: "not a host": ` + checktest.Subdomain},
		{"affinity", `{"sessionAffinity":"Cookie","ports":[{"port":80}]}`,
			`spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"`},
		{"external addresses", `{"externalIPs":["127.0.0.1","x"],"ports":[{"port":80}]}`, `
spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)
spec.externalIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"same ports", `{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}`,
			`spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`},
		{"node port", `{"ports":[{"port":80,"nodePort":30000}]}`,
			"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"health check", `{"healthCheckNodePort":31000,"ports":[{"port":80}]}`,
			"spec.healthCheckNodePort: Invalid value: 31000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"},
		{"traffic", `{"externalTrafficPolicy":"Local","internalTrafficPolicy":"Odd","trafficDistribution":"Odd","ports":[{"port":80}]}`, `
spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services
spec.internalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"
spec.trafficDistribution: Unsupported value: "Odd": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"`},
		{"source ranges", `{"loadBalancerSourceRanges":["x"],"ports":[{"port":80}]}`,
			"spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'\n" +
				`spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, create(r, checktest.Decode[corev1.Service](t, `{"spec":`+tt.spec+`}`)), tt.want)
		})
	}
}

func TestServiceFamilies(t *testing.T) {
	for _, tt := range []struct{ spec, policy, families string }{
		{`{}`, "SingleStack", "IPv4"},
		{`{"clusterIP":"fd00::1"}`, "SingleStack", "IPv6"},
		{`{"clusterIP":"None","selector":{"a":"b"}}`, "SingleStack", "IPv4"},
		{`{"clusterIP":"None"}`, "RequireDualStack", "IPv4 IPv6"},
		{`{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilyPolicy":"PreferDualStack"}`, "PreferDualStack", "IPv4 IPv6"},
		{`{"ipFamilies":["IPv6"],"ipFamilyPolicy":"PreferDualStack"}`, "PreferDualStack", "IPv6 IPv4"},
		{`{"clusterIP":"None","selector":{"a":"b"},"ipFamilyPolicy":"RequireDualStack"}`, "RequireDualStack", "IPv4 IPv6"},
	} {
		svc := checktest.Decode[corev1.Service](t, `{"spec":`+tt.spec+`}`)
		create(resource(t, "services"), svc)
		var families []string
		for _, f := range svc.Spec.IPFamilies {
			families = append(families, string(f))
		}
		if got := strings.Join(families, " "); got != tt.families || string(*svc.Spec.IPFamilyPolicy) != tt.policy {
			t.Errorf("%s: got %s %s, want %s %s", tt.spec, *svc.Spec.IPFamilyPolicy, got, tt.policy, tt.families)
		}
	}
}

func TestServiceUpdate(t *testing.T) {
	r := resource(t, "services")
	const old = `{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","type":"NodePort",
		"ports":[{"name":"a","port":80,"nodePort":30001}]}`
	for _, tt := range []struct{ name, spec, want string }{
		{"allocated values left out", `{"type":"NodePort","ports":[{"name":"a","port":81}]}`, ``},
		{"address changed", `{"clusterIP":"10.0.0.2","ports":[{"port":80}]}`,
			`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`},
		{"address changed by an old client", `{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.1"],"ports":[{"port":80}]}`,
			`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`},
		{"to external name", `{"type":"ExternalName","externalName":"a.b","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
			"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster"}`, ``},
		{"to cluster address", `{"type":"ClusterIP","externalTrafficPolicy":"Cluster","ports":[{"name":"a","port":80,"nodePort":30001}]}`, ``},
		{"second address", `{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80}]}`, `
spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified
spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			svc := checktest.Decode[corev1.Service](t, `{"spec":`+tt.spec+`}`)
			checktest.Want(t, update(r, "", svc, checktest.Decode[corev1.Service](t, `{"spec":`+old+`}`)), tt.want)
			if svc.Spec.Type == corev1.ServiceTypeNodePort && svc.Spec.Ports[0].Name == "a" && svc.Spec.Ports[0].NodePort != 30001 {
				t.Errorf("node port: got %d, want the old 30001", svc.Spec.Ports[0].NodePort)
			}
		})
	}
}

func TestServiceWarnings(t *testing.T) {
	r := resource(t, "services")
	for _, tt := range []struct{ name, meta, spec, want string }{
		{"none", ``, `"externalName":"","loadBalancerIP":"192.0.2.1"`, ``},
		{"hints", `"service.kubernetes.io/topology-aware-hints":"auto"`, ``,
			`annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead`},
		{"headless", ``, `"clusterIP":"None","clusterIPs":["None"],"loadBalancerIP":"192.0.2.1","externalIPs":["192.0.2.2"],"sessionAffinity":"ClientIP"`, `
spec.loadBalancerIP is ignored for headless services
spec.externalIPs is ignored for headless services
spec.SessionAffinity is ignored for headless services`},
		{"addresses", ``, `"clusterIP":"2001:DB8::1","clusterIPs":["2001:DB8::1"],"externalIPs":["192.0.2.1","192.0.2.02"],"loadBalancerIP":"::ffff:1.2.3.4"`, `
spec.clusterIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")
spec.externalIPs[1]: non-standard IP address "192.0.2.02" is invalid: use "192.0.2.2"
spec.externalIPs is deprecated and may no longer be implemented in some clusters
spec.loadBalancerIP: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"`},
		{"ranges", ``, `"type":"LoadBalancer","loadBalancerSourceRanges":["2001:db8::/32","2001:DB8::/32","192.0.2.0/24"]`,
			`spec.loadBalancerSourceRanges[1]: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")`},
		{"names", ``, `"type":"ExternalName","externalName":"a.example.com","externalIPs":["192.0.2.1"]`,
			`spec.externalIPs is ignored when spec.type is "ExternalName"`},
		{"other types", ``, `"type":"ClusterIP","externalName":"a.example.com","trafficDistribution":"PreferClose"`, `
spec.externalName is ignored when spec.type is not "ExternalName"
spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`},
	} {
		svc := checktest.Decode[corev1.Service](t, `{"metadata":{"annotations":{`+tt.meta+`}},"spec":{`+tt.spec+`}}`)
		if got, want := strings.Join(r.Strategy.Warnings(svc, nil), "\n"), strings.TrimSpace(tt.want); got != want {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, want)
		}
	}
}

func TestServiceStatus(t *testing.T) {
	r := resource(t, "services")
	const odd = "must not have leading 0s"
	for _, tt := range []struct{ name, kind, old, ingress, want, warnings string }{
		{"another type", "ClusterIP", ``, `{"ip":"x"}`, "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'", ""},
		{"nothing of another type", "ClusterIP", ``, ``, ``, ""},
		{"good", "LoadBalancer", ``, `{"ip":"192.0.2.1"},{"ip":"2001:db8::1","ipMode":"Proxy"},{"hostname":"a.example.com","ports":[{"port":80}]}`, ``, ""},
		{"addresses", "LoadBalancer", ``, `{"ip":"192.0.2.01"},{"ip":"::ffff:1.2.3.4"},{"ip":"x"}`, `
status.loadBalancer.ingress[0].ip: Invalid value: "192.0.2.01": ` + odd + `
status.loadBalancer.ingress[1].ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address
status.loadBalancer.ingress[2].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`status.loadBalancer.ingress[0]: non-standard IP address "192.0.2.01" is invalid: use "192.0.2.1"
status.loadBalancer.ingress[1]: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"`},
		{"an odd address that was there", "LoadBalancer", `{"ip":"192.0.2.01"}`, `{"hostname":"a"},{"ip":"192.0.2.01"}`, ``,
			`status.loadBalancer.ingress[1]: non-standard IP address "192.0.2.01" is invalid: use "192.0.2.1"`},
		{"not canonical", "LoadBalancer", ``, `{"ip":"2001:DB8::1"}`, ``,
			`status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`},
		{"modes", "LoadBalancer", ``, `{"hostname":"a","ipMode":"VIP"},{"ip":"192.0.2.1","ipMode":"Odd"}`, `
status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when ` + "`ip`" + ` is not set
status.loadBalancer.ingress[1].ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"`, ""},
		{"host names", "LoadBalancer", ``, `{"hostname":"192.0.2.1"}`, `
status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := func(ingress string) *corev1.Service {
				return checktest.Decode[corev1.Service](t, `{"spec":{"type":"`+tt.kind+`","ports":[{"port":80}]},"status":{"loadBalancer":{"ingress":[`+ingress+`]}}}`)
			}
			svc, old := service(tt.ingress), service(tt.old)
			checktest.Want(t, update(r, "status", svc, old), tt.want)
			if got := strings.Join(r.Status.Warnings(svc, old), "\n"); got != tt.warnings {
				t.Errorf("warnings: got %s\nwant %s", got, tt.warnings)
			}
		})
	}
	svc := checktest.Decode[corev1.Service](t, `{"spec":{"type":"ClusterIP","ports":[{"port":80}]}}`)
	old := checktest.Decode[corev1.Service](t, `{"spec":{"type":"LoadBalancer","ports":[{"port":80}]},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
	checktest.Want(t, update(r, "", svc, old), ``)
	if len(svc.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("got status %+v of a service that is no load balancer any more, want none", svc.Status)
	}
}

func TestTables(t *testing.T) {

	for _, tt := range []struct{ name, resource, in, want string }{
		{"config map", "configmaps", `{"data":{"a":"","b":""},"binaryData":{"c":""}}`, `x 3 <unknown>`},
		{"secret", "secrets", `{"data":{"a":""}}`, `x Opaque 1 <unknown>`},
		{"age", "serviceaccounts", `{"metadata":{"creationTimestamp":"2030-01-02T02:59:00Z"}}`, `x 5m5s`},
		{"namespace", "namespaces", `{"status":{"phase":"Active"}}`, `x Active <unknown>`},
		{"node", "nodes", `{"metadata":{"labels":{"node-role.kubernetes.io/b":"","kubernetes.io/role":"a"}},"spec":{"unschedulable":true},
			"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"kubeletVersion":"v1"}}}`,
			`x Ready,SchedulingDisabled a,b <unknown> v1 10.0.0.1 <none> <unknown> <unknown> <unknown>`},
		{"node with an architecture", "nodes", `{"status":{"nodeInfo":{"kernelVersion":"6.1","architecture":"arm64"}}}`, `x Unknown <none> <unknown>  <none> <none> <unknown> 6.1 (arm64) <unknown>`},
		{"bare node", "nodes", `{}`, `x Unknown <none> <unknown>  <none> <none> <unknown> <unknown> <unknown>`},
		{"node port", "services", `{"spec":{"type":"NodePort","clusterIPs":["10.0.0.1"],"ports":[{"port":80,"nodePort":30001},{"port":53,"protocol":"UDP"}],"selector":{"b":"c","a":"b"}}}`,
			`x NodePort 10.0.0.1 <none> 80:30001/TCP,53/UDP <unknown> a=b,b=c`},
		{"external name", "services", `{"spec":{"type":"ExternalName","externalName":"e.com"}}`, `x ExternalName <none> e.com <none> <unknown> <none>`},
		{"pending balancer", "services", `{"spec":{"type":"LoadBalancer"}}`, `x LoadBalancer <none> <pending> <none> <unknown> <none>`},
		{"balancer", "services", `{"spec":{"type":"LoadBalancer","externalIPs":["9.9.9.9"]},"status":{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"hostname":"1.com"}]}}}`,
			`x LoadBalancer <none> 1.com,2.2.2.2,9.9.9.9 <none> <unknown> <none>`},
		{"event", "events", `{"involvedObject":{"kind":"Pod","name":"p"},"firstTimestamp":"2030-01-02T03:00:05Z","lastTimestamp":"2030-01-02T03:03:05Z","type":"Normal","reason":"R","message":" m ","source":{"component":"k","host":"n"}}`,
			`60s Normal R pod/p  k, n m 4m 1 x`},
		{"event series", "events", `{"involvedObject":{"kind":"Pod"},"eventTime":"2030-01-02T03:00:05.000000Z","series":{"count":5,"lastObservedTime":"2030-01-02T03:04:00.000000Z"},"reportingComponent":"c"}`,
			`5s   pod  c  4m 5 x`},
		{"volume", "persistentvolumes", `{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOncePod","ReadWriteMany","ReadOnlyMany","ReadWriteOnce","ReadOnlyMany"],
			"storageClassName":"fast","volumeAttributesClassName":"gold","claimRef":{"namespace":"n","name":"c"}},"status":{"phase":"Failed","reason":"R"}}`,
			`x 1Gi RWO,ROX,RWX,RWOP Retain Failed n/c fast gold R <unknown> Filesystem`},
		{"bare volume", "persistentvolumes", `{"metadata":{"deletionTimestamp":"2030-01-02T02:59:00Z","annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}},
			"spec":{"storageClassName":"fast"}}`, `x 0  Retain Terminating  slow <unset>  <unknown> Filesystem`},
		{"claim", "persistentvolumeclaims", `{"spec":{"volumeName":"v","storageClassName":"fast","volumeAttributesClassName":"gold","accessModes":["ReadOnlyMany"],
			"resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"]}}`,
			`x Bound v 1Gi RWO fast gold <unknown> Filesystem`},
		{"pending claim", "persistentvolumeclaims", `{"spec":{"accessModes":["ReadOnlyMany"],"resources":{"requests":{"storage":"2Gi"}},"volumeMode":"Block"}}`,
			`x Pending     <unset> <unknown> Block`},
		{"claim going", "persistentvolumeclaims", `{"metadata":{"deletionTimestamp":"2030-01-02T02:59:00Z","annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}},
			"spec":{"storageClassName":"fast"}}`, `x Terminating    slow <unset> <unknown> Filesystem`},
		{"pod", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Pending"}}`,
			`x 0/2 Pending 0 <unknown> <none> <none> <none> <none>`},
		{"running", "pods", `{"spec":{"nodeName":"n","containers":[{"name":"c"}],"readinessGates":[{"conditionType":"g"},{"conditionType":"h"}]},
			"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"g","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"restartCount":3,
			"lastState":{"terminated":{"finishedAt":"2030-01-02T02:59:05Z"}},"state":{"running":{}}}]}}`,
			`x 1/1 Running 3 (5m ago) <unknown> 10.0.0.1 n <none> 1/2`},
		{"crash loop", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
			`x 0/1 CrashLoopBackOff 2 <unknown> <none> <none> <none> <none>`},
		{"init", "pods", `{"spec":{"initContainers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[
			{"name":"a","state":{"terminated":{"exitCode":0}}},{"name":"b","state":{"running":{}}}]}}`, `x 0/1 Init:1/2 0 <unknown> <none> <none> <none> <none>`},
		{"init failed", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[
			{"name":"a","restartCount":1,"state":{"terminated":{"exitCode":2}}}]}}`, `x 0/1 Init:ExitCode:2 1 <unknown> <none> <none> <none> <none>`},
		{"init waits", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[
			{"name":"a","state":{"waiting":{"reason":"ErrImagePull"}}}]}}`, `x 0/1 Init:ErrImagePull 0 <unknown> <none> <none> <none> <none>`},
		{"sidecar", "pods", `{"spec":{"initContainers":[{"name":"a","restartPolicy":"Always"}],"containers":[{"name":"c"}]},"status":{"phase":"Running",
			"initContainerStatuses":[{"name":"a","started":true,"ready":true,"restartCount":1,"state":{"running":{}}}],
			"containerStatuses":[{"name":"c","ready":true,"restartCount":2,"state":{"running":{}}}]}}`, `x 2/2 Running 3 <unknown> <none> <none> <none> <none>`},
		{"completed", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Succeeded","containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed"}}}]}}`,
			`x 0/1 Completed 0 <unknown> <none> <none> <none> <none>`},
		{"half completed", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed"}}},
			{"name":"d","ready":true,"state":{"running":{}}}]}}`, `x 1/2 NotReady 0 <unknown> <none> <none> <none> <none>`},
		{"ready by its second condition", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"},
			{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed"}}},{"name":"d","ready":true,"state":{"running":{}}}]}}`,
			`x 1/2 Running 0 <unknown> <none> <none> <none> <none>`},
		{"killed", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed","containerStatuses":[{"name":"c","state":{"terminated":{"signal":9}}}]}}`,
			`x 0/1 Signal:9 0 <unknown> <none> <none> <none> <none>`},
		{"evicted", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed","reason":"Evicted"}}`, `x 0/1 Evicted 0 <unknown> <none> <none> <none> <none>`},
		{"terminating", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running"}}`,
			`x 0/1 Terminating 0 <unknown> <none> <none> <none> <none>`},
		{"lost", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running","reason":"NodeLost"}}`,
			`x 0/1 Unknown 0 <unknown> <none> <none> <none> <none>`},
		{"lost restart", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c","restartCount":1,
			"lastState":{"terminated":{"finishedAt":"2030-01-02T03:03:05Z"}},"state":{"running":{}}},{"name":"d","restartCount":1,"lastState":{"terminated":{"finishedAt":"2030-01-02T03:02:05Z"}},
			"state":{"waiting":{}}}]}}`, `x 0/2 Running 2 (60s ago) <unknown> <none> <none> <none> <none>`},
		{"no restart", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c","lastState":{"terminated":{"finishedAt":"2030-01-02T03:03:05Z"}}}]}}`,
			`x 0/1 Running 0 <unknown> <none> <none> <none> <none>`},
		{"false gate", "pods", `{"spec":{"containers":[{"name":"c"}],"readinessGates":[{"conditionType":"g"}]},"status":{"phase":"Running","nominatedNodeName":"n",
			"conditions":[{"type":"g","status":"False"}]}}`, `x 0/1 Running 0 <unknown> <none> <none> n 0/1`},
		{"ready but one", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
			"containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed"}}},{"name":"d","ready":true,"state":{"running":{}}}]}}`,
			`x 1/2 Running 0 <unknown> <none> <none> <none> <none>`},
		{"running after all", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True"}],
			"initContainerStatuses":[{"name":"a","restartCount":4,"state":{"waiting":{"reason":"PodInitializing"}}}],"containerStatuses":[{"name":"c","ready":true,"state":{"running":{}}}]}}`,
			`x 1/1 Init:0/1 0 <unknown> <none> <none> <none> <none>`},
		{"sidecar that is not ready", "pods", `{"spec":{"initContainers":[{"name":"a","restartPolicy":"Always"},{"name":"b"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending",
			"initContainerStatuses":[{"name":"a","started":true,"state":{"running":{}}},{"name":"b","state":{"waiting":{}}}]}}`, `x 0/2 Init:1/2 0 <unknown> <none> <none> <none> <none>`},
		{"sidecar that has not started", "pods", `{"spec":{"initContainers":[{"name":"a","restartPolicy":"Always"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending",
			"initContainerStatuses":[{"name":"a","started":false,"ready":true,"state":{"running":{}}}]}}`, `x 0/2 Init:0/1 0 <unknown> <none> <none> <none> <none>`},
		{"sidecar restarts", "pods", `{"spec":{"initContainers":[{"name":"a","restartPolicy":"Always"},{"name":"b"}],"containers":[{"name":"c"}]},"status":{"phase":"Running",
			"initContainerStatuses":[{"name":"a","started":true,"ready":true,"restartCount":1,"lastState":{"terminated":{"finishedAt":"2030-01-02T03:03:05Z"}},"state":{"running":{}}},
			{"name":"b","restartCount":7,"state":{"terminated":{"exitCode":0}}}],"containerStatuses":[{"name":"c","state":{"running":{}}}]}}`,
			`x 1/2 Running 1 (60s ago) <unknown> <none> <none> <none> <none>`},
		{"init killed", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[
			{"name":"a","state":{"terminated":{"signal":9,"exitCode":137}}}]}}`, `x 0/1 Init:Signal:9 0 <unknown> <none> <none> <none> <none>`},
		{"init failed for a reason", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[
			{"name":"a","state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}}`, `x 0/1 Init:OOMKilled 0 <unknown> <none> <none> <none> <none>`},
		{"failed", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed","containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":2}}}]}}`,
			`x 0/1 ExitCode:2 0 <unknown> <none> <none> <none> <none>`},
		{"failed and deleted", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed"}}`,
			`x 0/1 Failed 0 <unknown> <none> <none> <none> <none>`},
		{"succeeded and deleted", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Succeeded"}}`,
			`x 0/1 Succeeded 0 <unknown> <none> <none> <none> <none>`},
		{"one failed", "pods", `{"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Failed","containerStatuses":[
			{"name":"c","state":{"terminated":{"reason":"Completed"}}},{"name":"d","state":{"terminated":{"reason":"Error","exitCode":1}}}]}}`,
			`x 0/2 Error 0 <unknown> <none> <none> <none> <none>`},
		{"crash loop for a while", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c","restartCount":5,
			"lastState":{"terminated":{"reason":"Error","exitCode":1,"finishedAt":"2030-01-02T03:01:05Z"}},"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
			`x 0/1 CrashLoopBackOff 5 (3m ago) <unknown> <none> <none> <none> <none>`},
		{"init crash loop", "pods", `{"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending","initContainerStatuses":[{"name":"a","restartCount":3,
			"lastState":{"terminated":{"exitCode":1,"finishedAt":"2030-01-02T03:03:05Z"}},"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],
			"containerStatuses":[{"name":"c","restartCount":9,"state":{"waiting":{"reason":"PodInitializing"}}}]}}`,
			`x 0/1 Init:CrashLoopBackOff 3 (60s ago) <unknown> <none> <none> <none> <none>`},
		{"initializing and deleted", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"initContainers":[{"name":"a"}],"containers":[{"name":"c"}]},
			"status":{"phase":"Pending","initContainerStatuses":[{"name":"a","state":{"running":{}}}]}}`, `x 0/1 Terminating 0 <unknown> <none> <none> <none> <none>`},
		{"failed on a lost node", "pods", `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed","reason":"NodeLost"}}`,
			`x 0/1 Unknown 0 <unknown> <none> <none> <none> <none>`},
		{"lost but not deleted", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Unknown","reason":"NodeLost"}}`,
			`x 0/1 NodeLost 0 <unknown> <none> <none> <none> <none>`},
		{"scheduled", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Pending","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],
			"conditions":[{"type":"Other","reason":"SchedulingGated"},{"type":"PodScheduled","status":"True"}]}}`, `x 0/1 Pending 0 <unknown> 10.0.0.1 <none> <none> <none>`},
		{"node that is not ready", "nodes", `{"metadata":{"labels":{"node-role.kubernetes.io/":"","kubernetes.io/role":""}},"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"Other","status":"True"}],
			"addresses":[{"type":"ExternalIP","address":"192.0.2.1"},{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"10.0.0.2"}],
			"nodeInfo":{"osImage":"o","kernelVersion":"k","containerRuntimeVersion":"r"}}}`, `x NotReady <none> <unknown>  10.0.0.1 192.0.2.1 o k r`},
		{"cluster service", "services", `{"spec":{"externalIPs":["192.0.2.1","192.0.2.2"],"ports":[{"port":80}]}}`, `x ClusterIP <none> 192.0.2.1,192.0.2.2 80/TCP <unknown> <none>`},
		{"odd service", "services", `{"spec":{"type":"Odd"}}`, `x Odd <none> <unknown> <none> <unknown> <none>`},
		{"same entries", "services", `{"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"ip":"2.2.2.2"},{}]}}}`, `x LoadBalancer <none> 2.2.2.2 <none> <unknown> <none>`},
		{"new event", "events", `{"involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},"eventTime":"2030-01-02T03:00:05.000000Z","reportingComponent":"c","reportingInstance":"i"}`,
			`4m   pod/p spec c, i  4m 1 x`},
		{"counted event", "events", `{"involvedObject":{"kind":"Pod"},"count":3,"source":{"component":"k"},"reportingComponent":"c"}`, `<unknown>   pod  k  <unknown> 3 x`},
		{"gated", "pods", `{"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}}`,
			`x 0/1 SchedulingGated 0 <unknown> <none> <none> <none> <none>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := resource(t, tt.resource)
			if got := cells(r, object(t, tt.resource, tt.in)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	ended := object(t, "pods", `{"status":{"phase":"Succeeded"}}`)
	if c := podConditions(ended.(*corev1.Pod)); len(c) != 1 || c[0].Type != "Completed" || c[0].Reason != "Succeeded" {
		t.Errorf("conditions: got %+v", c)
	}
	ended = object(t, "pods", `{"status":{"phase":"Failed"}}`)
	if c := podConditions(ended.(*corev1.Pod)); len(c) != 1 || c[0].Type != "Completed" || c[0].Message != "The pod failed." {
		t.Errorf("conditions: got %+v", c)
	}
	if c := podConditions(object(t, "pods", `{"status":{"phase":"Running"}}`).(*corev1.Pod)); len(c) > 0 {
		t.Errorf("conditions of a running pod: got %+v, want none", c)
	}
}

func object(t *testing.T, resource, text string) meta.Object {
	switch resource {
	case "configmaps":
		return checktest.Decode[corev1.ConfigMap](t, text)
	case "secrets":
		return checktest.Decode[corev1.Secret](t, text)
	case "serviceaccounts":
		return checktest.Decode[corev1.ServiceAccount](t, text)
	case "namespaces":
		return checktest.Decode[corev1.Namespace](t, text)
	case "nodes":
		return checktest.Decode[corev1.Node](t, text)
	case "services":
		return checktest.Decode[corev1.Service](t, text)
	case "events":
		return checktest.Decode[corev1.Event](t, text)
	case "persistentvolumes":
		return checktest.Decode[corev1.PersistentVolume](t, text)
	case "persistentvolumeclaims":
		return checktest.Decode[corev1.PersistentVolumeClaim](t, text)
	}
	return checktest.Decode[corev1.Pod](t, text)
}

func cells(r *registry.Resource, obj meta.Object) string {
	row := r.Table.Cells(obj, testTime)
	texts := make([]string, len(row))
	for i, c := range row {
		texts[i] = strings.TrimSpace(sprint(c))
	}
	return strings.Join(texts, " ")
}
