package interop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// ownedPod is a pod with managedFields, to be written into the directory of a server.
const ownedPod = `apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {state: %s}
  managedFields:
  - {manager: hand, operation: Update, apiVersion: v1, time: "2030-05-06T07:08:09Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}
spec:
  containers:
  - {name: web, image: nginx}
`

// TestDropManagedFields gets, lists and watches pods with clients that ask for objects without
// managedFields, in both encodings, and with a client that does not.
func TestDropManagedFields(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--storage=file")
	dir := filepath.Join(s.dir, "objects", "registry", "pods", "default")
	write := func(name, state string) {
		pod := fmt.Appendf(nil, ownedPod, name, state)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name+".yaml"), pod, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const drop = ";drop=metadata.managedFields"
	for _, tt := range []struct {
		accept, contentType string
		fields              int // entries of managedFields that the client gets
	}{
		{"application/json", "application/json", 1},
		{"application/json" + drop, "application/json", 0},
		{"application/vnd.kubernetes.protobuf" + drop + ",application/json" + drop, "application/vnd.kubernetes.protobuf", 0},
	} {
		config := s.config(t)
		config.AcceptContentTypes = tt.accept
		seen := watchRequests(config)
		c := clientset(t, config)
		check := func(p *corev1.Pod, state string) error {
			if p.Name != "a" || p.Labels["state"] != state || len(p.ManagedFields) != tt.fields {
				return fmt.Errorf("Accept %s: got %v, want it %s, with %d managedFields", tt.accept, p, state, tt.fields)
			}
			return nil
		}
		write("a", "listed")
		informer := informers.NewPodInformer(c, metav1.NamespaceAll, 0, cache.Indexers{})
		stop := background(t, informer.RunWithContext)
		for _, state := range []string{"listed", "watched"} {
			write("a", state)
			eventually(t, 20*time.Second, func() error {
				all := informer.GetStore().List()
				if len(all) != 1 {
					return fmt.Errorf("Accept %s: the informer has %d pods, want 1", tt.accept, len(all))
				}
				return check(all[0].(*corev1.Pod), state)
			})
		}
		stop()
		p, err := c.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err := errors.Join(err, check(p, "watched")); err != nil {
			t.Errorf("Get: %v", err)
		}
		list, err := c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{Limit: 1})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("List: got %v, %v, want one pod", list, err)
		}
		if err := check(&list.Items[0], "watched"); err != nil {
			t.Errorf("List: %v", err)
		}
		for _, x := range seen.take() {
			if x.status != 200 || !strings.HasPrefix(x.contentType, tt.contentType) {
				t.Errorf("Accept %s: got %+v, want %s", tt.accept, x, tt.contentType)
			}
		}
	}
}
