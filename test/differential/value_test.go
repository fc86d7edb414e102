package differential

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// value makes a value of a type for the field of a name: a value of another example, or a made-up
// one.
func (m *mutator) value(t reflect.Type, name string, depth int) any {
	t = deref(t)
	if known := m.donors[donor{t, name}]; len(known) > 0 && m.rand.IntN(3) == 0 {
		return tree(known[m.rand.IntN(len(known))])
	}
	if !m.tame && m.rand.IntN(300) == 0 { // a wrong JSON type
		return []any{"text", json.Number("7"), true, []any{}, map[string]any{}}[m.rand.IntN(5)]
	}
	if !m.tame && m.rand.IntN(40) == 0 {
		return nil
	}
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return one(m, "2024-02-29T12:00:00Z", "2031-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2024-02-29T12:00:00+02:00", "soon", "")
	case reflect.TypeFor[metav1.MicroTime]():
		return one(m, "2024-02-29T12:00:00.000000Z", "2031-01-01T00:00:00.123456Z", "2024-02-29T12:00:00Z", "now")
	case reflect.TypeFor[metav1.Duration]():
		return one(m, "0s", "1s", "15m0s", "-1s", "1h", "300ms", "x")
	case reflect.TypeFor[intstr.IntOrString]():
		if m.rand.IntN(2) == 0 {
			return m.integer(32)
		}
		return one[any](m, "http", "80", "25%", "0%", "100%", "101%", "-1%", "50.5%", "", "HTTP", "a-very-long-port-name", "%", "1a%")
	case reflect.TypeFor[resource.Quantity]():
		return one[any](m, "1", "0", "100m", "1.5", "-1", "1Gi", "512Mi", "1e3", "0.0001", "1k", "9Ei", "1.1Ki", "-100m", "x", "",
			json.Number("2"), json.Number("0.5"), "4294967296Gi", "1n")
	case reflect.TypeFor[runtime.RawExtension]():
		return one[any](m, map[string]any{"a": "b"}, map[string]any{}, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	case reflect.TypeFor[[]byte]():
		return one(m, "", "YQ==", "e30=", "eyJhdXRocyI6e319", "not base64!", strings.Repeat("YWFh", 100))
	}
	switch t.Kind() {
	case reflect.String:
		return m.text(name)
	case reflect.Bool:
		return m.rand.IntN(2) == 0
	case reflect.Int32:
		return m.integer(32)
	case reflect.Int64, reflect.Int:
		return m.integer(64)
	case reflect.Float32, reflect.Float64:
		return json.Number(one(m, "0", "1", "0.5", "-1", "1e9"))
	case reflect.Interface:
		return "anything"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return one[any](m, map[string]any{}, "text", nil)
	}
	switch t.Kind() {
	case reflect.Struct:
		return m.structure(t, depth)
	case reflect.Slice:
		list := []any{}
		for range one(m, 0, 1, 1, 2, 3) {
			if depth < 4 {
				list = append(list, m.value(t.Elem(), name, depth+1))
			}
		}
		return list
	case reflect.Map:
		entries := map[string]any{}
		for range one(m, 0, 1, 1, 2) {
			entries[m.text(name+" key")] = m.value(t.Elem(), name, depth+1)
		}
		return entries
	}
	return nil
}

// structure fills some fields of a struct, required ones more often.
func (m *mutator) structure(t reflect.Type, depth int) any {
	v := map[string]any{}
	chance := []int{40, 25, 15, 8, 4}[min(depth, 4)]
	fields(t, func(name string, f reflect.StructField) {
		p := chance
		if !strings.Contains(f.Tag.Get("json"), "omitempty") && deref(f.Type).Kind() != reflect.Struct {
			p = 85
		}
		if m.rand.IntN(100) < p && depth < 6 {
			v[name] = m.value(f.Type, name, depth+1)
		}
	})
	return v
}

func one[T any](m *mutator, from ...T) T { return from[m.rand.IntN(len(from))] }

func (m *mutator) integer(bits int) any {
	list := []string{"0", "1", "2", "3", "-1", "10", "80", "100", "101", "443", "1000", "3600", "30000", "32767", "65534", "65535", "65536",
		"2147483647", "-2147483648", "999999"}
	if bits == 64 {
		list = append(list, "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808")
	} else if m.rand.IntN(10) == 0 {
		return json.Number("2147483648")
	}
	return json.Number(list[m.rand.IntN(len(list))])
}

// text makes a string for a field: a value that such a field allows, or a tricky string.
func (m *mutator) text(name string) string {
	switch n := m.rand.IntN(10); {
	case n < 4 && len(words[name]) > 0:
		return one(m, words[name]...)
	case n < 5:
		known := m.donors[donor{reflect.TypeFor[string](), name}]
		if len(known) > 0 {
			if s, ok := known[m.rand.IntN(len(known))].(string); ok {
				return m.spoil(s)
			}
		}
	}
	return one(m, tricky...)
}

// spoil changes a string a little.
func (m *mutator) spoil(s string) string {
	switch m.rand.IntN(8) {
	case 0:
		return s + "-"
	case 1:
		return strings.ToUpper(s)
	case 2:
		return s + s
	case 3:
		return "x" + s
	case 4:
		return s + "/x"
	case 5:
		return s + " "
	case 6:
		return "." + s
	}
	if s == "" {
		return s
	}
	i := m.rand.IntN(len(s))
	return strings.ToValidUTF8(s[:i]+s[i+1:], "?")
}

// tricky are strings at or beyond the edge of some format.
var tricky = []string{
	"", " ", "a", "A", "abc", "a-b", "a.b", "a_b", "-a", "a-", ".", "..", "a..b", "a/b", "/a", "a//b", "../a", "a/../b", "/", "*", "*.a.b", "0", "1", "-1",
	"80", "1a", "true", "null", "None", "default", "kube-system", "example.com", "example.com/a", "example.com/A_b.c", "example.com/", "/name",
	"kubernetes.io/a", "a.kubernetes.io/b", "node.kubernetes.io/x", "Example.COM", "a b", "ünïcode", "$(VAR)", "a=b", "a,b", "{}", "[]", "{\"a\":1}", "\n", "a\nb", "\x00", "#", "<a&b>",
	"10.0.0.1", "10.0.0.256", "010.0.0.1", "0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "2001:db8::1",
	"2001:DB8::1", "::ffff:10.0.0.1", "10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/33", "010.0.0.0/8", "fd00::/8", "::/0", "10.0.0.1:80", "[::1]:80",
	"http://example.com", "https://example.com/path?q=1#f", "https://u:p@example.com", "ftp://x", "://", "http", "TCP", "tcp", "UDP",
	"1Gi", "100m", "-1", "1.5", "0.5", "1e3", "50%", "101%", "10s", "1h30m", "-5m", "2024-02-29T12:00:00Z", "2024-02-30T12:00:00Z",
	"* * * * *", "@daily", "@every 1h", "0 0 31 2 *", "60 * * * *", "TZ=UTC 0 0 * * *", "CRON_TZ=Europe/Berlin 0 0 * * *", "Europe/Berlin", "Local", "Mars/Base",
	"sha256:" + strings.Repeat("a", 64), "docker://abc", "registry.example.com:5000/a/b:c@sha256:" + strings.Repeat("0", 64),
	"00000000-0000-0000-0000-000000000000", "metadata.name", "metadata.labels['a']", "spec.nodeName", "status.podIP", "limits.cpu",
	"requests.memory", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "pods", "nvidia.com/gpu", "storage", "attachable-volumes-x",
	strings.Repeat("a", 15), strings.Repeat("a", 16), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 128), strings.Repeat("a", 253),
	strings.Repeat("a", 254), strings.Repeat("a", 300), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a", strings.Repeat("a", 63) + "." + strings.Repeat("b", 63),
	strings.Repeat("a", 1025), strings.Repeat("ä", 130),
}

// words are values that fields of a name allow, in any kind. learnEnums adds the enums that Coracle
// declares.
var words = map[string][]string{
	"operator":               {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "in"},
	"finalizers":             {"kubernetes", "example.com/keep", "orphan", "foregroundDeletion", "short"},
	"labels key":             {"app", "example.com/app", "kubernetes.io/metadata.name", "app.kubernetes.io/name"},
	"matchLabels key":        {"app", "tier"},
	"annotations key":        {"a", "example.com/note", "kubectl.kubernetes.io/last-applied-configuration"},
	"limits key":             {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "example.com/foo", "storage", "pods"},
	"requests key":           {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "example.com/foo", "storage"},
	"capacity key":           {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "pods", "storage"},
	"allocatable key":        {"cpu", "memory", "ephemeral-storage", "pods"},
	"hard key":               {"cpu", "pods", "requests.cpu", "count/deployments.apps", "services", "requests.storage"},
	"type":                   {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Opaque", "kubernetes.io/tls", "RuntimeDefault", "Unconfined", "Localhost", "Normal", "Warning", "Ready", "InternalIP", "Hostname", "Directory", "Recreate", "RollingUpdate"},
	"status":                 {"True", "False", "Unknown"},
	"phase":                  {"Active", "Terminating", "Pending", "Running", "Succeeded", "Failed", "Unknown"},
	"verbs":                  {"get", "*", "list", "watch", "create"},
	"apiGroup":               {"", "apps", "rbac.authorization.k8s.io", "snapshot.storage.k8s.io"},
	"apiVersion":             {"v1", "apps/v1", "batch/v1", "a/b/c", "events.k8s.io/v1"},
	"kind":                   {"Pod", "ReplicaSet", "Service", "User", "Group", "ServiceAccount", "Role", "ClusterRole", "Deployment", "Event"},
	"fieldPath":              {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.labels['app']", "spec.nodeName", "status.hostIP", "status.podIPs", "spec.x"},
	"resource":               {"limits.cpu", "requests.memory", "limits.hugepages-2Mi", "requests.ephemeral-storage", "cpu"},
	"mountPath":              {"/data", "/etc/config", "relative", "/a:b"},
	"add":                    {"NET_ADMIN", "ALL", "SYS_ADMIN", "CAP_SYS_ADMIN"},
	"drop":                   {"ALL", "NET_RAW"},
	"accessModes":            {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	"clusterIP":              {"None", "10.96.0.10", "fd00::10"},
	"clusterIPs":             {"None", "10.96.0.10", "fd00::10"},
	"ipFamilies":             {"IPv4", "IPv6"},
	"topologyKey":            {"kubernetes.io/hostname", "topology.kubernetes.io/zone"},
	"name":                   {"a", "http", "HTTP", "0a", "net.ipv4.tcp_syncookies", "kernel.shm_rmid_forced"},
	"data key":               {"key", "a.json", "..", ".", "a/b", "tls.crt", "tls.key", ".dockerconfigjson", "ssh-privatekey", "username"},
	"binaryData key":         {"blob", "key"},
	"stringData key":         {"key", "tls.crt"},
	"nodeSelector key":       {"disktype", "kubernetes.io/arch"},
	"selector key":           {"app"},
	"sizeLimit":              {"1Gi"},
	"schedule":               {"*/5 * * * *"},
	"terminationMessagePath": {"/dev/termination-log"},
}
