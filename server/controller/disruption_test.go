package controller_test

import (
	"testing"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"time"
)

func TestDebug(t *testing.T) {
	log, _ := zap.NewDevelopment()
	w := start(t, server.Config{Controllers: []string{"disruption"}, Log: log})
	w.createNamespace()
	w.pod("a", "n")
	one := meta.FromInt32(1)
	_ = corev1.PodReady
	budgets := client.For[*policyv1.PodDisruptionBudget](w.s.Client(), policyv1.GroupVersion.WithResource("poddisruptionbudgets")).In("n")
	b, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: meta.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &meta.LabelSelector{}}}, meta.CreateOptions{})
	if err != nil { t.Fatal(err) }
	time.Sleep(time.Second)
	b, err = budgets.Get(t.Context(), "b", meta.GetOptions{})
	t.Logf("%+v %v", b.Status, err)
}
