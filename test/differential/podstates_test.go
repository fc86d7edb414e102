package differential

import "fmt"

// podState gives a pod containers and a status as kubelets, schedulers and controllers write them,
// in all combinations.
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
