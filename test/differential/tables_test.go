package differential

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// tablesCount is how many objects of each kind are printed, and podTablesCount how many pods in states of all sorts.
const (
	tablesCount    = 150
	podTablesCount = 3000
)

// TestTables compares the tables that both servers make of the same stored objects: columns, cells and conditions.
func TestTables(t *testing.T) {
	c := &court{ours: newOurs(t), objects: newShelf(), donors: donors{}}
	c.theirs = newTheirs(t, rows, c.objects)
	c.putSystemNamespaces(t)
	for _, row := range rows {
		more := row.stored(t)
		for i, example := range row.examples(t) {
			merge(example, more[i])
			c.donors.learn(goType(t, row.Kind), example)
		}
	}
	for _, row := range rows {
		t.Run(row.Kind.String(), func(t *testing.T) { c.judgeTables(t, row) })
	}
}

// judgeTables prints examples of a kind, mutated.
func (c *court) judgeTables(t *testing.T, row Row) {
	m := &mutator{rand: random("tables", row.Kind), donors: c.donors, tame: true}
	typ, more := goType(t, row.Kind), row.stored(t)
	var stored []map[string]any
	for i, example := range row.examples(t) {
		obj := c.store(t, row, example, more[i])
		merge(obj, map[string]any{"metadata": map[string]any{"creationTimestamp": "2024-02-29T12:00:00Z"}}) // ages stand still
		stored = append(stored, obj)
	}
	found := map[string]int{}
	count := times(tablesCount)
	if row.Resource == "pods" {
		count = times(podTablesCount)
	}
	printed := 0
	for i := range count {
		obj := stored[i%len(stored)]
		name := nameOf(obj)
		if row.Resource == "pods" && i%4 != 0 {
			obj = podState(m, obj)
		}
		if i >= len(stored) {
			obj = m.mutate(typ, obj)
			merge(obj, map[string]any{"metadata": map[string]any{"name": name}})
		}
		full := c.agreed(row, obj)
		if full == nil {
			continue
		}
		printed++
		c.ours.replace(t, row, name, full)
		c.compareTables(t, row, name, full, found)
		if len(found) > 20 {
			t.Fatal("and more")
		}
	}
	t.Logf("%d objects printed", printed)
}

// agreed puts an object on Kubernetes' shelf and returns it as JSON, nil if it is none.
func (c *court) agreed(row Row, obj map[string]any) map[string]any {
	hub, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encode(obj))
	if err != nil {
		return nil // the values are made up
	}
	data, err := runtime.Encode(legacyscheme.Codecs.EncoderForVersion(theirProto, row.Kind.GroupVersion()), hub) // as it is stored
	if err != nil {
		return nil
	}
	if hub, err = runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), data); err != nil {
		return nil
	}
	full, err := legacyscheme.Scheme.ConvertToVersion(hub.DeepCopyObject(), row.Kind.GroupVersion())
	if err != nil {
		return nil
	}
	full.GetObjectKind().SetGroupVersionKind(row.Kind)
	ns := namespace
	if row.Cluster {
		ns = ""
	}
	c.objects.put(row.Resource, ns, nameOf(obj), hub)
	return tree(full).(map[string]any)
}

// compareTables asks both sides for the table of a stored object.
func (c *court) compareTables(t *testing.T, row Row, name string, obj map[string]any, found map[string]int) {
	t.Helper()
	theirs, err := tableOf(c.theirs, row.url(name, ""))
	if err != nil {
		return // Kubernetes' printers are not ready for objects that its checks would not let pass
	}
	ours, err := tableOf(c.ours, row.url(name, ""))
	if err != nil {
		t.Fatal(err)
	}
	difference("", theirs, ours, func(path string, a, b any) {
		if decided(row.Kind.Kind, "table differs at "+pattern(path), trial{body: obj}) {
			return
		}
		if found[path]++; found[path] == 1 {
			t.Errorf("%s: Kubernetes %s, Coracle %s, of %s", path, encode(a), encode(b), encode(obj))
		}
	})
}

// tableOf asks for the table of one object.
func tableOf(h http.Handler, url string) (table any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	a := askFor(h, http.MethodGet, url+"?includeObject=None", nil, "application/json;as=Table;v=v1;g=meta.k8s.io")
	if !a.accepted() {
		return nil, fmt.Errorf("%d %v", a.Code, a.Body["message"])
	}
	parts := map[string]any{"columns": columnsOf(a.Body)}
	for _, row := range list(a.Body["rows"]) {
		parts["cells"], parts["conditions"] = row["cells"], row["conditions"]
	}
	return tree(parts), nil
}

// columnsOf are the columns of a table without their descriptions, which are prose.
func columnsOf(table map[string]any) []any {
	var columns []any
	for _, column := range list(table["columnDefinitions"]) {
		columns = append(columns, fmt.Sprint(column["name"], column["type"], column["format"], column["priority"]))
	}
	return columns
}

func list(v any) []map[string]any {
	all, _ := v.([]any)
	var out []map[string]any
	for _, e := range all {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

// podState gives a pod containers and a status as kubelets, schedulers and controllers write them, in all combinations.
func podState(m *mutator, obj map[string]any) map[string]any {
	obj = tree(obj).(map[string]any)
	spec := obj["spec"].(map[string]any)
	status := map[string]any{"phase": one(m, "Pending", "Running", "Running", "Running", "Succeeded", "Failed", "Unknown", "")}
	obj["status"] = status
	if m.rand.IntN(6) == 0 {
		status["reason"] = one(m, "Evicted", "NodeLost", "NodeAffinity", "Shutdown", "DeadlineExceeded")
	}
	meta := obj["metadata"].(map[string]any)
	delete(meta, "deletionTimestamp")
	delete(meta, "deletionGracePeriodSeconds")
	if m.rand.IntN(5) == 0 {
		meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = "2024-02-29T12:00:00Z", 30
	}
	if m.rand.IntN(3) == 0 {
		spec["nodeName"] = "node-7"
	}
	if m.rand.IntN(3) == 0 {
		status["nominatedNodeName"] = "node-8"
	}
	if m.rand.IntN(2) == 0 {
		status["podIPs"] = []any{map[string]any{"ip": "10.0.0.9"}, map[string]any{"ip": "fd00::9"}}
	}
	var gates, conditions []any
	for i := range m.rand.IntN(3) {
		gates = append(gates, map[string]any{"conditionType": fmt.Sprintf("example.com/%d", i)})
	}
	spec["readinessGates"] = gates
	for range m.rand.IntN(6) {
		conditions = append(conditions, map[string]any{
			"type":   one(m, "Ready", "Initialized", "PodScheduled", "ContainersReady", "example.com/0", "example.com/1"),
			"status": one(m, "True", "True", "False", "Unknown", ""),
			"reason": one(m, "", "SchedulingGated", "Unschedulable", "PodCompleted"),
		})
	}
	status["conditions"] = conditions
	spec["initContainers"], status["initContainerStatuses"] = containerStates(m, "init", true)
	spec["containers"], status["containerStatuses"] = containerStates(m, "main", false)
	return obj
}

// containerStates makes up to four containers, and statuses of most of them.
func containerStates(m *mutator, prefix string, init bool) (containers, statuses []any) {
	n := m.rand.IntN(4)
	if !init {
		n++
	}
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		ctr := map[string]any{"name": name, "image": "nginx"}
		if init && m.rand.IntN(2) == 0 {
			ctr["restartPolicy"] = one(m, "Always", "Always", "Never", "OnFailure")
		}
		containers = append(containers, ctr)
		if m.rand.IntN(6) == 0 {
			continue
		}
		status := map[string]any{
			"name": name, "image": "nginx", "imageID": "", "ready": m.rand.IntN(2) == 0,
			"restartCount": one(m, 0, 0, 1, 7), "state": containerState(m), "lastState": containerState(m),
		}
		if m.rand.IntN(3) > 0 {
			status["started"] = m.rand.IntN(3) > 0
		}
		statuses = append(statuses, status)
	}
	return containers, statuses
}

func containerState(m *mutator) map[string]any {
	switch m.rand.IntN(4) {
	case 0:
		return map[string]any{"waiting": map[string]any{
			"reason": one(m, "", "PodInitializing", "ContainerCreating", "CrashLoopBackOff", "ErrImagePull", "Completed"),
		}}
	case 1:
		return map[string]any{"running": map[string]any{"startedAt": "2024-02-29T12:00:00Z"}}
	case 2:
		ended := map[string]any{
			"exitCode": one(m, 0, 0, 1, 137), "signal": one(m, 0, 0, 9), "reason": one(m, "", "", "Completed", "Error", "OOMKilled"),
		}
		if m.rand.IntN(4) > 0 {
			ended["finishedAt"] = one(m, "2024-02-29T12:00:00Z", "2024-02-29T12:30:00Z", "2020-01-01T00:00:00Z")
		}
		return map[string]any{"terminated": ended}
	}
	return map[string]any{}
}
