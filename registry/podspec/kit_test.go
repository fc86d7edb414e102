package podspec

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

var testScheme = sync.OnceValue(func() *scheme.Scheme {
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return s
})

// decode makes a defaulted pod from JSON, whose name is x if it has none.
func decode(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := new(corev1.Pod)
	if err := json.Unmarshal([]byte(text), pod); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	if pod.Name == "" {
		pod.Name = "x"
	}
	testScheme().Default(pod)
	return pod
}
