package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestStandingObjects: the standing objects exist at the start, and deleted ones are made again.
func TestStandingObjects(t *testing.T) {
	s := servertest.Start(t)
	c := s.Server.Client()
	namespaces := client.For[*corev1.Namespace](c, corev1.GroupVersion.WithResource("namespaces"))
	maps := client.For[*corev1.ConfigMap](c, corev1.GroupVersion.WithResource("configmaps"))
	accounts := client.For[*corev1.ServiceAccount](c, corev1.GroupVersion.WithResource("serviceaccounts"))
	lease, err := namespaces.Get(t.Context(), "kube-node-lease", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "kube-node-lease", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	appears(t, namespaces, "kube-node-lease", func(ns *corev1.Namespace) bool {
		return ns.UID != lease.UID && ns.Status.Phase == corev1.NamespaceActive
	})
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		appears(t, maps.In(namespace), "kube-root-ca.crt", func(m *corev1.ConfigMap) bool { return m.Data["ca.crt"] == string(s.CAPEM) })
		appears(t, accounts.In(namespace), "default", func(*corev1.ServiceAccount) bool { return true })
	}
}

// TestFlowsAtStart: a server that is ready has the FlowSchemas and PriorityLevelConfigurations that
// every cluster has, and soon writes into the status of each schema that its level exists.
func TestFlowsAtStart(t *testing.T) {
	s := servertest.Start(t)
	c, gv := s.Server.Client(), flowcontrolv1.GroupVersion
	schemas := client.For[*flowcontrolv1.FlowSchema](c, gv.WithResource("flowschemas"))
	levels := client.For[*flowcontrolv1.PriorityLevelConfiguration](c, gv.WithResource("prioritylevelconfigurations"))
	list, err := schemas.List(t.Context(), meta.ListOptions{})
	if err != nil || len(list.Items) != 11 {
		t.Fatalf("got %d flow schemas and %v, want 11", len(list.Items), err)
	}
	if l, err := levels.List(t.Context(), meta.ListOptions{}); err != nil || len(l.Items) != 8 {
		t.Errorf("got %d priority levels and %v, want 8", len(l.Items), err)
	}
	for _, fs := range list.Items {
		appears(t, schemas, fs.Name, func(fs *flowcontrolv1.FlowSchema) bool {
			is := fs.Status.Conditions
			return len(is) == 1 && is[0].Type == flowcontrolv1.FlowSchemaConditionDangling && is[0].Status == flowcontrolv1.ConditionFalse
		})
	}
}

// TestNoFlowStatus: without PriorityAndFairness a server makes the FlowSchemas and does not write
// their status.
func TestNoFlowStatus(t *testing.T) {
	s := servertest.Start(t, server.Config{API: server.APIConfig{Without: server.WithoutConfig{PriorityAndFairness: true}}})
	_, body := (&running{s, t}).raw("GET", "/readyz?verbose", "")
	if !strings.Contains(string(body), "priority-and-fairness-config-producer") || strings.Contains(string(body), "priority-and-fairness-config-consumer") {
		t.Errorf("got %s", body)
	}
}

// TestNoFlows: a server that does not serve the group starts, and creates none of its objects.
func TestNoFlows(t *testing.T) {
	s := servertest.Start(t, server.Config{API: server.APIConfig{Runtime: map[string]string{"flowcontrol.apiserver.k8s.io/v1": "false"}}})
	if code, body := (&running{s, t}).raw("GET", "/readyz?verbose", ""); code != 200 || strings.Contains(string(body), "priority-and-fairness") {
		t.Errorf("got %d %s", code, body)
	}
}
