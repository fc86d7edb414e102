package core

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// TestServices validates valid and invalid services. In want, $ is the path of the spec.
func TestServices(t *testing.T) {
	const ports, balancer = `"ports":[{"port":80}]`, `"type":"LoadBalancer","ports":[{"port":80}]`
	for _, tt := range []struct{ spec, want string }{
		{`"ports":[{"name":"a","port":1},{"name":"b","port":65535,"protocol":"UDP","appProtocol":"example.com/x","targetPort":"web"},{"name":"c","port":1,"protocol":"UDP"}]`, ``},
		{`"ports":[{"name":"a","port":0},{"name":"a","port":65536,"protocol":"Odd","appProtocol":"a b"},{"name":"A","port":1,"targetPort":65536}]`, `
$.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive
$.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive
$.ports[1].name: Duplicate value: "a"
$.ports[1].port: Invalid value: 65536: must be between 1 and 65535, inclusive
$.ports[1].protocol: Unsupported value: "Odd": supported values: "SCTP", "TCP", "UDP"
$.ports[1].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive
$.ports[1].appProtocol: Invalid value: "a b": ` + qualified + `
$.ports[2].name: Invalid value: "A": ` + checktest.Label + `
$.ports[2].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive`},
		{`"type":"NodePort","ports":[{"name":"a","port":1,"nodePort":30000},{"name":"b","port":2,"nodePort":30000},{"name":"c","port":3},{"name":"d","port":4}]`,
			`$.ports[1].nodePort: Duplicate value: 30000`},
		{`"type":"NodePort","ports":[{"name":"a","port":1,"nodePort":30000},{"name":"b","port":1,"nodePort":30000,"protocol":"UDP"}]`, ``},
		{`"clusterIP":"None"`, ``},
		{`"type":"NodePort","clusterIP":"None",` + ports, `$.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`},
		{`"type":"LoadBalancer","clusterIP":"None",` + ports, `$.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services`},
		{`"type":"LoadBalancer","ports":[{"port":10250}]`, ``},
		{`"type":"ExternalName","externalName":"a.example.com."`, ``},
		{`"type":"ExternalName","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Odd"`, `
$.ipFamilies: Forbidden: may not be set for ExternalName services
$.ipFamilyPolicy: Forbidden: may not be set for ExternalName services
$.externalName: Required value
$.internalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"`},
		{`"selector":{"a b":"c"},` + ports, `$.selector: Invalid value: "a b": ` + qualified},

		{`"sessionAffinity":"ClientIP",` + ports, ``}, // defaulting sets the timeout
		{`"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":1}},` + ports, ``},
		{`"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":86400}},` + ports, ``},
		{`"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}},` + ports,
			`$.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400`},
		{`"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":86401}},` + ports,
			`$.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400`},

		{`"externalIPs":["192.0.2.1","2001:db8::1"],` + ports, ``},
		{`"externalIPs":["0.0.0.0","::","169.254.0.1","224.0.0.1"],` + ports, `
$.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)
$.externalIPs[1]: Invalid value: "::": may not be unspecified (::)
$.externalIPs[2]: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)
$.externalIPs[3]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`},

		{`"loadBalancerSourceRanges":["192.0.2.0/24"," 2001:db8::/32 "],` + balancer, ``},
		{`"loadBalancerSourceRanges":["x"],` + ports, `
$.LoadBalancerSourceRanges: Forbidden: may only be used when ` + "`type`" + ` is 'LoadBalancer'
$.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`},
		{`"loadBalancerClass":"example.com/c",` + balancer, ``},
		{`"loadBalancerClass":"a b",` + balancer, `$.loadBalancerClass: Invalid value: "a b": ` + qualified},
		{`"loadBalancerClass":"example.com/c","allocateLoadBalancerNodePorts":true,` + ports, `
$.allocateLoadBalancerNodePorts: Forbidden: may only be used when ` + "`type`" + ` is 'LoadBalancer'
$.loadBalancerClass: Forbidden: may only be used when ` + "`type`" + ` is 'LoadBalancer'`},
		{`"externalTrafficPolicy":"Odd",` + balancer, `$.externalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"`},
		{`"externalTrafficPolicy":"Local","externalIPs":["192.0.2.1"],` + ports, ``},
		{`"externalTrafficPolicy":"Local","healthCheckNodePort":65536,` + balancer, `$.healthCheckNodePort: Invalid value: 65536: must be between 1 and 65535, inclusive`},
		{`"externalTrafficPolicy":"Local","healthCheckNodePort":65535,` + balancer, ``},
		{`"trafficDistribution":"PreferSameNode",` + ports, ``},

		{`"clusterIPs":["10.0.0.1"],` + ports, `$.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when ` + "`clusterIP`" + ` is not specified`},
		{`"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.2"],` + ports, `$.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match ` + "`clusterIP`"},
		{`"clusterIP":"None","clusterIPs":["None","10.0.0.1"],` + ports, `$.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value`},
		{`"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","None"],` + ports, `$.clusterIPs[1]: Invalid value: "None": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{`"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","10.0.0.2"],"ipFamilies":["IPv4","IPv6"],` + ports, `
$.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family
$.clusterIPs[1]: Invalid value: "10.0.0.2": expected an IPv6 value as indicated by ` + "`ipFamilies[1]`"},
		{`"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1","fd00::2"],"ipFamilies":["IPv4","IPv6"],` + ports, `
$.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","fd00::2"]: may only hold up to 2 values`},
		{`"clusterIP":"10.0.0.1","ipFamilyPolicy":"Odd",` + ports, `$.ipFamilyPolicy: Unsupported value: "Odd": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"`},
	} {
		svc := checktest.Decode[corev1.Service](t, `{"spec":{`+tt.spec+`}}`)
		checktest.Want(t, create(resource(t, "services"), svc), strings.ReplaceAll(tt.want, "$", "spec"))
	}
	for _, tt := range []struct {
		affinity corev1.ServiceAffinity
		config   *corev1.SessionAffinityConfig
		want     string
	}{
		{"ClientIP", nil, `spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP`},
		{"ClientIP", &corev1.SessionAffinityConfig{}, `spec.sessionAffinityConfig.clientIP: Required value: when session affinity type is ClientIP`},
		{"ClientIP", &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{}},
			`spec.sessionAffinityConfig.clientIP.timeoutSeconds: Required value: when session affinity type is ClientIP`},
		{"None", &corev1.SessionAffinityConfig{}, `spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None`},
	} { // values that do not come through defaulting
		svc := checktest.Decode[corev1.Service](t, `{"spec":{`+ports+`}}`)
		svc.Spec.SessionAffinity, svc.Spec.SessionAffinityConfig = tt.affinity, tt.config
		checktest.Want(t, create(resource(t, "services"), svc), tt.want)
	}
}

// TestServiceAnnotations validates the annotations that are older names of fields.
func TestServiceAnnotations(t *testing.T) {
	const ranges, path = `"service.beta.kubernetes.io/load-balancer-source-ranges"`, `metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]`
	const bad = `: must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`
	for _, tt := range []struct{ annotations, kind, want string }{
		{ranges + `:" 192.0.2.0/24 ,198.51.100.0/24"`, "LoadBalancer", ``},
		{ranges + `:" "`, "LoadBalancer", ``},
		{ranges + `:"x, y"`, "LoadBalancer", "\n" + path + `: Invalid value: "x"` + bad + "\n" + path + `: Invalid value: "y"` + bad},
		{ranges + `:""`, "NodePort", path + ": Forbidden: may only be used when `type` is 'LoadBalancer'"},
		{`"service.kubernetes.io/topology-mode":"Auto","service.kubernetes.io/topology-aware-hints":"Auto"`, "NodePort", ``},
		{`"service.kubernetes.io/topology-mode":"Auto","service.kubernetes.io/topology-aware-hints":"auto"`, "NodePort", `metadata.annotations[service.kubernetes.io/topology-mode]: ` +
			`Invalid value: "Auto": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified`},
		{`"service.kubernetes.io/topology-mode":"Auto"`, "NodePort", ``},
	} {
		checktest.Want(t, create(resource(t, "services"), checktest.Decode[corev1.Service](t, `{"metadata":{"annotations":{`+tt.annotations+`}},
			"spec":{"type":"`+tt.kind+`","ports":[{"port":80}]}}`)), tt.want)
	}
	odd := func() *corev1.Service {
		return checktest.Decode[corev1.Service](t, `{"metadata":{"annotations":{`+ranges+`:"x"}},"spec":{"type":"LoadBalancer","externalIPs":["192.0.2.01"],"ports":[{"port":80}]}}`)
	}
	checktest.Want(t, update(resource(t, "services"), "", odd(), odd()), ``)
	now, old := odd(), odd()
	now.Spec.LoadBalancerSourceRanges, old.Spec.LoadBalancerSourceRanges = []string{" 192.0.2.01/24", "x"}, []string{"192.0.2.01/24 "}
	checktest.Want(t, update(resource(t, "services"), "", now, old), `spec.LoadBalancerSourceRanges[1]: Invalid value: "x"`+bad)
}

// TestInternalPolicy: an ExternalName has no internal traffic policy, even if the client sends one.
func TestInternalPolicy(t *testing.T) {
	r := resource(t, "services")
	for kind, kept := range map[string]bool{"ClusterIP": true, "ExternalName": false} {
		svc := checktest.Decode[corev1.Service](t, `{"spec":{"type":"`+kind+`","internalTrafficPolicy":"Local"}}`)
		if r.Strategy.Canonicalize(svc); (svc.Spec.InternalTrafficPolicy != nil) != kept {
			t.Errorf("%s: got %v, want it kept: %v", kind, svc.Spec.InternalTrafficPolicy, kept)
		}
	}
}

// TestServiceChanges validates updates that leave out values, or keep values that a new type has no
// use for.
func TestServiceChanges(t *testing.T) {
	const one, two = `"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"]`,
		`"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"]`
	const ports, balancer = `,"ports":[{"port":80}]`, `"type":"LoadBalancer","ports":[{"name":"a","port":80}]`
	for _, tt := range []struct{ name, old, now, want string }{
		{"second address", one + `,"ipFamilyPolicy":"SingleStack"` + ports, two + `,"ipFamilyPolicy":"PreferDualStack"` + ports, ``},
		{"second address released", two + `,"ipFamilyPolicy":"PreferDualStack"` + ports, one + `,"ipFamilyPolicy":"SingleStack"` + ports, ``},
		{"second address released without saying so", two + `,"ipFamilyPolicy":"PreferDualStack"` + ports, one + `,"ipFamilyPolicy":"PreferDualStack"` + ports, `
spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary cluster IP
spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary IP family`},
		{"other families", `"clusterIP":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"`, `"clusterIP":"None","ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"`, ``},
		{"two ports of one name", `"type":"NodePort","ports":[{"name":"a","port":80,"nodePort":30001}]`, `"type":"NodePort","ports":[{"name":"a","port":80},{"name":"a","port":81}]`,
			"spec.ports[1].name: Duplicate value: \"a\"\nspec.ports[1].nodePort: Duplicate value: 30001"},
		{"class", balancer + `,"loadBalancerClass":"a"`, balancer + `,"loadBalancerClass":"b"`, `spec.loadBalancerClass: Invalid value: "b": may not change once set`},
		{"class set", balancer, balancer + `,"loadBalancerClass":"b"`, `spec.loadBalancerClass: Invalid value: "b": may not change once set`},
		{"class of a new balancer", `"type":"NodePort"` + ports, balancer + `,"loadBalancerClass":"b"`, ``},
		{"health check", balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31000`, balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31001`,
			`spec.healthCheckNodePort: Forbidden: field is immutable`},
		{"health check left out", balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31000`, balancer + `,"externalTrafficPolicy":"Local"`, ``},
		{"health check set", balancer, balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31000`, ``},
		{"health check dropped", balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31000`, balancer + `,"externalTrafficPolicy":"Cluster","healthCheckNodePort":31000`, ``},
		{"another health check not dropped", balancer + `,"externalTrafficPolicy":"Local","healthCheckNodePort":31000`,
			balancer + `,"externalTrafficPolicy":"Cluster","healthCheckNodePort":31001`,
			"spec.healthCheckNodePort: Invalid value: 31001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"},
		{"balancer no more", balancer + `,"loadBalancerClass":"a","allocateLoadBalancerNodePorts":true,"externalTrafficPolicy":"Local"`,
			`"type":"ClusterIP","loadBalancerClass":"a","allocateLoadBalancerNodePorts":true,"externalTrafficPolicy":"Local"` + ports, ``},
		{"balancer no more, but another class", balancer + `,"loadBalancerClass":"a"`, `"type":"ClusterIP","loadBalancerClass":"b"` + ports,
			strings.Repeat("\nspec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'", 2)},
		{"another policy not dropped", balancer + `,"externalTrafficPolicy":"Local"`, `"type":"ClusterIP","externalTrafficPolicy":"Cluster"` + ports,
			`spec.externalTrafficPolicy: Invalid value: "Cluster": may only be set for externally-accessible services`},
		{"other node ports not dropped", `"type":"NodePort","ports":[{"port":80,"nodePort":30001}]`, `"type":"ClusterIP","ports":[{"port":80,"nodePort":30002}]`,
			"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"another address, of an external service", one + ports, `"type":"ExternalName","externalName":"a","clusterIP":"10.0.0.2"`, ``},
		{"other addresses not dropped", one + ports, `"type":"ExternalName","externalName":"a","clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],"ipFamilies":["IPv6"]`, `
spec.clusterIPs: Forbidden: may not be set for ExternalName services
spec.ipFamilies: Forbidden: may not be set for ExternalName services`},
		{"address from an external name", `"type":"ExternalName","externalName":"a"`, `"clusterIP":"10.0.0.1"` + ports, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, now := checktest.Decode[corev1.Service](t, `{"spec":{`+tt.old+`}}`), checktest.Decode[corev1.Service](t, `{"spec":{`+tt.now+`}}`)
			checktest.Want(t, update(resource(t, "services"), "", now, old), tt.want)
		})
	}
}

// TestNodePortsStay: a port without a node port keeps that of the old port with its name, unless
// another port asks for it.
func TestNodePortsStay(t *testing.T) {
	for _, tt := range []struct {
		kind, now string
		want      []int32
	}{
		{"NodePort", `{"name":"a","port":1},{"name":"b","port":2},{"name":"c","port":3}`, []int32{30001, 30002, 0}},
		{"NodePort", `{"name":"a","port":1,"nodePort":30009},{"name":"b","port":2}`, []int32{30009, 30002}},
		{"NodePort", `{"name":"x","port":1,"nodePort":30001},{"name":"a","port":2}`, []int32{30001, 0}},
		{"LoadBalancer", `{"name":"b","port":1}`, []int32{30002}},
		{"ClusterIP", `{"name":"b","port":1}`, []int32{0}},
		{"ClusterIP", `{"name":"b","port":1,"nodePort":30002},{"name":"a","port":2,"nodePort":30001}`, []int32{0, 0}},
		{`LoadBalancer","allocateLoadBalancerNodePorts":false,"x":"`, `{"name":"b","port":1}`, []int32{0}},
	} {
		old := checktest.Decode[corev1.Service](t, `{"spec":{"type":"NodePort","ports":[{"name":"a","port":1,"nodePort":30001},{"name":"b","port":2,"nodePort":30002}]}}`)
		svc := checktest.Decode[corev1.Service](t, `{"spec":{"type":"`+tt.kind+`","ports":[`+tt.now+`]}}`)
		checktest.Want(t, update(resource(t, "services"), "", svc, old), ``)
		for i, want := range tt.want {
			if got := svc.Spec.Ports[i].NodePort; got != want {
				t.Errorf("%s %s: node port %d of port %d, want %d", tt.kind, tt.now, got, i, want)
			}
		}
	}
}

// TestAddressesStay: an update that leaves out addresses or families keeps those of the old
// service.
func TestAddressesStay(t *testing.T) {
	const old = `"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"PreferDualStack","ports":[{"port":80}]`
	for _, now := range []string{`"clusterIP":""`, `"clusterIP":"10.0.0.1"`, `"clusterIPs":["10.0.0.1","fd00::1"]`,
		`"clusterIP":"10.0.0.1","ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"PreferDualStack"`} {
		svc := checktest.Decode[corev1.Service](t, `{"spec":{`+now+`,"ports":[{"port":80}]}}`)
		checktest.Want(t, update(resource(t, "services"), "", svc, checktest.Decode[corev1.Service](t, `{"spec":{`+old+`}}`)), ``)
		if s := svc.Spec; s.ClusterIP != "10.0.0.1" || len(s.ClusterIPs) != 2 || len(s.IPFamilies) != 2 || *s.IPFamilyPolicy != corev1.IPFamilyPolicyPreferDualStack {
			t.Errorf("%s: got %+v, want the old addresses and families", now, s)
		}
	}
	// A client that knows only clusterIP clears it.
	svc := checktest.Decode[corev1.Service](t, `{"spec":{"type":"ExternalName","externalName":"a","clusterIP":"","clusterIPs":["10.0.0.1"]}}`)
	checktest.Want(t, update(resource(t, "services"), "", svc, checktest.Decode[corev1.Service](t, `{"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ports":[{"port":80}]}}`)), ``)
}

const qualified = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
	`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
