package quotas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestStoresOfTheirOwn: if the counted resource, the quotas or the Leases have a store of their
// own, writes carry no fence. A quota still limits writes and counts deletions, as long as no
// recount runs during a write.
func TestStoresOfTheirOwn(t *testing.T) {
	for _, gr := range []meta.GroupResource{
		{Resource: "configmaps"}, {Resource: "resourcequotas"}, {Group: "coordination.k8s.io", Resource: "leases"},
	} {
		t.Run(gr.String(), func(t *testing.T) {
			w := looptest.Start(t, server.Config{Controllers: []string{"resourcequota-controller"}, Storage: server.StorageConfig{
				Store: memory.New(memory.Config{}), Overrides: []server.StorageOverride{{Resource: gr, Store: memory.New(memory.Config{})}},
			}})
			w.CreateNamespace()
			looptest.Create(w, "configmaps", configMap("before"))
			limit(w, "count/configmaps=3")
			maps := looptest.Of[*corev1.ConfigMap](w, "configmaps")
			for _, name := range []string{"a", "b", "c"} {
				_, err := maps.Create(t.Context(), configMap(name), meta.CreateOptions{})
				if refused := err != nil && strings.Contains(err.Error(), "exceeded quota"); refused != (name == "c") {
					t.Errorf("%s: got %v", name, err)
				}
			}
			for n, name := range []string{"before", "a", "b"} {
				looptest.Delete(w, maps, name)
				await(w, "deleted "+name, func(q *corev1.ResourceQuota) bool {
					return used(q, "count/configmaps") == fmt.Sprint(2-n)
				})
			}
		})
	}
}
