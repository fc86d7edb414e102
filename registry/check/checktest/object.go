package checktest

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Scheme has the kinds of the groups that checks are tested of.
var Scheme = sync.OnceValue(func() *scheme.Scheme {
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	appsv1.Scheme.AddToScheme(s)
	autoscalingv2.Scheme.AddToScheme(s)
	autoscalingv1.Scheme.AddToScheme(s)
	storagev1.Scheme.AddToScheme(s)
	admissionregistrationv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return s
})

// Decode makes a defaulted object from JSON, whose name is x if it has none.
func Decode[T any, P interface {
	*T
	meta.Object
}](tb testing.TB, text string) P {
	tb.Helper()
	obj := P(new(T))
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	if obj.GetObjectMeta().Name == "" {
		obj.GetObjectMeta().Name = "x"
	}
	Scheme().Default(obj)
	return obj
}
