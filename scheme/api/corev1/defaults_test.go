package corev1

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

var testScheme = sync.OnceValue(func() *scheme.Scheme {
	s := scheme.New()
	Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return s
})

// pick walks to a value of decoded JSON: keys and indices separated by dots.
func pick(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			v = c[key]
		case []any:
			v = c[key[0]-'0']
		default:
			return nil
		}
	}
	return v
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		obj  meta.Typed
		in   string
		want map[string]string // path to JSON
	}{
		{"namespace", &Namespace{}, `{"metadata":{"name":"a"}}`, map[string]string{
			"metadata.labels": `{"kubernetes.io/metadata.name":"a"}`, "status.phase": `"Active"`}},
		{"secret", &Secret{}, `{"data":{"p":"b2xk","u":"YQ=="},"stringData":{"p":"new"}}`, map[string]string{
			"data": `{"p":"bmV3","u":"YQ=="}`, "stringData": `null`, "type": `"Opaque"`}},
		{"node", &Node{}, `{"spec":{"podCIDR":"10.0.0.0/24","podCIDRs":["10.1.0.0/24"]},"status":{"capacity":{"cpu":"0.0001"}}}`, map[string]string{
			"spec.podCIDRs": `["10.0.0.0/24"]`, "status.capacity": `{"cpu":"1m"}`, "status.allocatable": `{"cpu":"1m"}`}},
		{"endpoints", &Endpoints{}, `{"subsets":[{"ports":[{"port":80},{"port":53,"protocol":"UDP"}]}]}`, map[string]string{
			"subsets.0.ports": `[{"port":80,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]`}},
		{"replication controller", &ReplicationController{}, `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`, map[string]string{
			"spec.replicas": `1`, "spec.selector": `{"a":"b"}`, "metadata.labels": `{"a":"b"}`}},
		{"replication controller of its own", &ReplicationController{}, `{"metadata":{"labels":{"x":"y"}},"spec":{"replicas":0,"selector":{"c":"d"},
			"template":{"metadata":{"labels":{"a":"b"}}}}}`, map[string]string{"spec.replicas": `0`, "spec.selector": `{"c":"d"}`, "metadata.labels": `{"x":"y"}`}},
		{"replication controller without a template", &ReplicationController{}, `{}`, map[string]string{"spec": `{"replicas":1}`}},
		{"limits", &LimitRange{}, `{"spec":{"limits":[{"type":"Container","max":{"cpu":"0.0001","memory":"4"},"min":{"cpu":"1","storage":"2"},"default":{"memory":"3"},
			"maxLimitRequestRatio":{"cpu":"0.0001"}}]}}`, map[string]string{
			"spec.limits.0": `{"default":{"cpu":"1m","memory":"3"},"defaultRequest":{"cpu":"1m","memory":"3","storage":"2"},"max":{"cpu":"1m","memory":"4"},` +
				`"maxLimitRequestRatio":{"cpu":"1m"},"min":{"cpu":"1","storage":"2"},"type":"Container"}`}},
		{"limits of pods", &LimitRange{}, `{"spec":{"limits":[{"type":"Pod","max":{"cpu":"1"}}]}}`, map[string]string{"spec.limits.0": `{"max":{"cpu":"1"},"type":"Pod"}`}},
		{"quota", &ResourceQuota{}, `{"spec":{"hard":{"cpu":"0.0001"}},"status":{"hard":{"cpu":"0.0002"},"used":{"cpu":"0.0011"}}}`, map[string]string{
			"spec.hard": `{"cpu":"1m"}`, "status": `{"hard":{"cpu":"1m"},"used":{"cpu":"2m"}}`}},
		{"service", &Service{}, `{"spec":{"ports":[{"port":80},{"port":81,"targetPort":"x"}]}}`, map[string]string{
			"spec.ports": `[{"port":80,"protocol":"TCP","targetPort":80},{"port":81,"protocol":"TCP","targetPort":"x"}]`,
			"spec.type":  `"ClusterIP"`, "spec.sessionAffinity": `"None"`, "spec.internalTrafficPolicy": `"Cluster"`,
			"spec.externalTrafficPolicy": `null`}},
		{"balancer", &Service{}, `{"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP"},"status":{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"}]}}}`, map[string]string{
			"spec.externalTrafficPolicy": `"Cluster"`, "spec.allocateLoadBalancerNodePorts": `true`,
			"spec.sessionAffinityConfig":  `{"clientIP":{"timeoutSeconds":10800}}`,
			"status.loadBalancer.ingress": `[{"ip":"1.1.1.1","ipMode":"VIP"}]`}},
		{"external name", &Service{}, `{"spec":{"type":"ExternalName"}}`, map[string]string{
			"spec.internalTrafficPolicy": `null`, "spec.externalTrafficPolicy": `null`}},
		{"bare pod", &Pod{}, `{"spec":{"containers":[{"name":"c","image":"app"}]}}`, map[string]string{
			"spec": `{"containers":[{"image":"app","imagePullPolicy":"Always","name":"c","resources":{},` +
				`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst",` +
				`"enableServiceLinks":true,"restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},` +
				`"terminationGracePeriodSeconds":30}`}},
		{"host network", &Pod{}, `{"spec":{"hostNetwork":true,"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":53,"protocol":"UDP"}]}]}}`, map[string]string{
			"spec.containers.0.ports": `[{"containerPort":80,"hostPort":80,"protocol":"TCP"},{"containerPort":53,"hostPort":53,"protocol":"UDP"}]`}},
		{"requests", &Pod{}, `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"500m","memory":"64Mi"},"requests":{"memory":"1Mi"}}}]}}`, map[string]string{
			"spec.containers.0.resources": `{"limits":{"cpu":"500m","memory":"64Mi"},"requests":{"cpu":"500m","memory":"1Mi"}}`}},
		{"pod resources", &Pod{}, `{"spec":{"resources":{"limits":{"cpu":"4","memory":"1Gi"}},"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3"}}}],
			"containers":[{"name":"c","resources":{"requests":{"cpu":"1"},"limits":{"hugepages-2Mi":"2Mi"}}}]}}`, map[string]string{
			"spec.resources": `{"limits":{"cpu":"4","hugepages-2Mi":"2Mi","memory":"1Gi"},"requests":{"cpu":"3","hugepages-2Mi":"2Mi","memory":"1Gi"}}`}},
		{"probes", &Pod{}, `{"spec":{"containers":[{"name":"c","lifecycle":{"preStop":{"httpGet":{"port":1}}},"livenessProbe":{"grpc":{"port":1},"periodSeconds":3}}]}}`, map[string]string{
			"spec.containers.0.lifecycle.preStop.httpGet": `{"path":"/","port":1,"scheme":"HTTP"}`,
			"spec.containers.0.livenessProbe": `{"failureThreshold":3,"grpc":{"port":1,"service":""},"periodSeconds":3,` +
				`"successThreshold":1,"timeoutSeconds":1}`}},
		{"volumes", &Pod{}, `{"spec":{"containers":[],"volumes":[{"name":"a","secret":{}},{"name":"f","hostPath":{"path":"/x"}},
			{"name":"g","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}}]}}]}},
			{"name":"h"},{"name":"i","iscsi":{"targetPortal":"p","iqn":"q","lun":0}},{"name":"j","ephemeral":{"volumeClaimTemplate":{"spec":{}}}},
			{"name":"k","image":{"reference":"r:1"}}]}}`, map[string]string{
			"spec.volumes": `[{"name":"a","secret":{"defaultMode":420}},{"hostPath":{"path":"/x","type":""},"name":"f"},` +
				`{"name":"g","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3600,"path":"t"}},` +
				`{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"},"path":"p"}]}}]}},` +
				`{"emptyDir":{},"name":"h"},{"iscsi":{"iqn":"q","iscsiInterface":"default","lun":0,"targetPortal":"p"},"name":"i"},` +
				`{"ephemeral":{"volumeClaimTemplate":{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"}}},"name":"j"},` +
				`{"image":{"pullPolicy":"IfNotPresent","reference":"r:1"},"name":"k"}]`}},
		{"volume", &PersistentVolume{}, `{"spec":{"capacity":{"storage":"0.0001"},"hostPath":{"path":"/x"},"rbd":{"monitors":[],"image":"i"},
			"iscsi":{"targetPortal":"p","iqn":"q","lun":0},"scaleIO":{"gateway":"g","system":"s","secretRef":null},"azureDisk":{"diskName":"d","diskURI":"u"}}}`, map[string]string{
			"spec.capacity": `{"storage":"1m"}`, "spec.persistentVolumeReclaimPolicy": `"Retain"`, "spec.volumeMode": `"Filesystem"`, "status": `{"phase":"Pending"}`,
			"spec.hostPath": `{"path":"/x","type":""}`, "spec.iscsi.iscsiInterface": `"default"`,
			"spec.rbd":       `{"image":"i","keyring":"/etc/ceph/keyring","monitors":[],"pool":"rbd","user":"admin"}`,
			"spec.scaleIO":   `{"fsType":"xfs","gateway":"g","secretRef":null,"storageMode":"ThinProvisioned","system":"s"}`,
			"spec.azureDisk": `{"cachingMode":"ReadWrite","diskName":"d","diskURI":"u","fsType":"ext4","kind":"Shared","readOnly":false}`}},
		{"volume that says all", &PersistentVolume{}, `{"spec":{"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block"},"status":{"phase":"Bound"}}`, map[string]string{
			"spec": `{"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block"}`, "status": `{"phase":"Bound"}`}},
		{"claim", &PersistentVolumeClaim{}, `{"spec":{"resources":{"requests":{"storage":"0.0001"},"limits":{"storage":"0.0002"}}},
			"status":{"capacity":{"storage":"0.0001"},"allocatedResources":{"storage":"0.0001"}}}`, map[string]string{
			"spec":   `{"resources":{"limits":{"storage":"1m"},"requests":{"storage":"1m"}},"volumeMode":"Filesystem"}`,
			"status": `{"allocatedResources":{"storage":"1m"},"capacity":{"storage":"1m"},"phase":"Pending"}`}},
		{"claim that says all", &PersistentVolumeClaim{}, `{"spec":{"volumeMode":"Block"},"status":{"phase":"Lost"}}`, map[string]string{
			"spec": `{"resources":{},"volumeMode":"Block"}`, "status": `{"phase":"Lost"}`}},
		{"ephemeral containers", &Pod{}, `{"spec":{"containers":[],"ephemeralContainers":[{"name":"d","image":"x:1"}]}}`, map[string]string{
			"spec.ephemeralContainers": `[{"image":"x:1","imagePullPolicy":"IfNotPresent","name":"d","resources":{},` +
				`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}]`}},
		{"account", &Pod{}, `{"spec":{"containers":[],"serviceAccount":"old"}}`, map[string]string{
			"spec.serviceAccountName": `"old"`, "spec.serviceAccount": `"old"`}},
		{"addresses", &Pod{}, `{"spec":{"containers":[]},"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.2"}]}}`, map[string]string{
			"status.podIPs": `[{"ip":"10.0.0.1"}]`, "status.podIP": `"10.0.0.1"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(tt.in), tt.obj); err != nil {
				t.Fatal(err)
			}
			testScheme().Default(tt.obj)
			once := encode(t, tt.obj)
			testScheme().Default(tt.obj)
			if again := encode(t, tt.obj); string(again) != string(once) {
				t.Errorf("defaulting twice changed %s to %s", once, again)
			}
			var tree any
			if err := json.Unmarshal(once, &tree); err != nil {
				t.Fatal(err)
			}
			for path, want := range tt.want {
				if got := encode(t, pick(tree, path)); string(got) != want {
					t.Errorf("%s:\ngot  %s\nwant %s", path, got, want)
				}
			}
		})
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestImageTag(t *testing.T) {
	const digest = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, tt := range []struct{ ref, want string }{
		{"app", "latest"},
		{"app:latest", "latest"},
		{"app:1", "1"},
		{"reg.example.com:5000/app", "latest"},
		{"reg.example.com:5000/a/b:v2", "v2"},
		{"localhost/app", "latest"},
		{"app" + digest, ""},
		{"app:1" + digest, "1"},
		{"", ""},
		{" i ", ""},
		{"App", ""},
		{"app:", ""},
		{"app@sha256:short", ""},
		{strings.Repeat("a", 64), ""},
		{strings.Repeat("a", 63), "latest"},
		{strings.Repeat("g", 64), "latest"},
		{strings.Repeat("g", 255-len("library/")), "latest"},
		{strings.Repeat("g", 256-len("library/")), ""},
		{"a/" + strings.Repeat("g", 253), "latest"},
		{"a/" + strings.Repeat("g", 254), ""},
		{"a.b/" + strings.Repeat("g", 255), "latest"},
		{"index.docker.io/" + strings.Repeat("g", 248), ""},
	} {
		if got := ImageTag(tt.ref); got != tt.want {
			t.Errorf("ImageTag(%q): got %q, want %q", tt.ref, got, tt.want)
		}
	}
}

func TestFieldLabels(t *testing.T) {
	pods := GroupVersion.WithKind("Pod")
	if label, _, err := testScheme().FieldLabel(pods, "spec.host", "n"); err != nil || label != "spec.nodeName" {
		t.Errorf("spec.host: got %q, %v, want spec.nodeName", label, err)
	}
	_, _, err := testScheme().FieldLabel(pods, "spec.containers", "x")
	if want := "field label not supported: spec.containers"; err == nil || err.Error() != want {
		t.Errorf("spec.containers: got %v, want %s", err, want)
	}
}

// The grammar of image references, as regular expressions.
var (
	imagePath   = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	imageDomain = regexp.MustCompile(
		`^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	imageTag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// imageParts are parts of image references, some of them valid and some almost valid.
var imageParts = []string{
	"", "a", "A", "a1", "1", "a-b", "a--b", "-a", "a-", "a_b", "a__b", "a___b", "a_", "_a", "a.b", "a..b", ".a", "a.", "a-.b", "a.-b", "a_-b",
	"a/b", "a//b", "/a", "a/", "a:1", "a:", ":1", "a:b", "a:1:1", "[::1]", "[::1]:5", "[::1]5", "[::1]:", "[]", "[", "]", "a]", "[g]", "[a]]", "é", "a b", "+",
	strings.Repeat("a", 128), strings.Repeat("a", 129),
}

func TestImageParts(t *testing.T) {
	for _, part := range imageParts {
		checkImagePart(t, part)
	}
}

func checkImagePart(t *testing.T, part string) {
	t.Helper()
	if got, want := validImagePath(part), imagePath.MatchString(part); got != want {
		t.Errorf("%q as a path: got %v, want %v", part, got, want)
	}
	if got, want := validImageDomain(part), imageDomain.MatchString(part); got != want {
		t.Errorf("%q as a domain: got %v, want %v", part, got, want)
	}
	if got, want := validImageTag(part), imageTag.MatchString(part); got != want {
		t.Errorf("%q as a tag: got %v, want %v", part, got, want)
	}
}

func FuzzImageTag(f *testing.F) {
	f.Add("reg.example.com:5000/a/b:v2")
	f.Add("app@sha256:00")
	for _, part := range imageParts {
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if tag := ImageTag(ref); tag != "" && tag != "latest" && !strings.Contains(ref, ":"+tag) {
			t.Errorf("ImageTag(%q): got %q, which is not in it", ref, tag)
		}
		checkImagePart(t, ref)
	})
}

// TestRoundResourcesAllocations: rounding allocates nothing if no amount needs it, because it is
// done at each defaulting.
func TestRoundResourcesAllocations(t *testing.T) {
	list := ResourceList{ResourceCPU: meta.MustParse("1500m"), ResourceMemory: meta.MustParse("64Mi"), ResourceStorage: meta.MustParse("1E")}
	if got := testing.AllocsPerRun(100, func() { roundResources(list) }); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
