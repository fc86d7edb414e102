package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// TestRecorder: an Event that is reported again raises the count of the first.
func TestRecorder(t *testing.T) {
	w := looptest.Start(t, server.Config{Controllers: []string{}})
	w.CreateNamespace()
	core, logged := observer.New(zapcore.WarnLevel)
	r := controller.NewRecorder(w.S.Client(), "tester", zap.New(core))
	about := func(namespace, name string) corev1.ObjectReference {
		return corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: namespace, Name: name, UID: meta.UID("u-" + name)}
	}
	long := strings.Repeat("a", 253)
	for range 3 {
		r.Event(t.Context(), about("n", "a"), corev1.EventTypeWarning, "Lost", "it is gone")
	}
	r.Event(t.Context(), about("n", "a"), corev1.EventTypeNormal, "Found", "it is back")
	r.Event(t.Context(), about("n", long), corev1.EventTypeNormal, "Long", "it has a long name")
	r.Event(t.Context(), about("", "a:b"), corev1.EventTypeNormal, "Colon", "it is in no namespace")
	events := client.For[*corev1.Event](w.S.Client(), corev1.GroupVersion.WithResource("events"))
	list, err := events.List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ev := range list.Items {
		got[ev.Reason] = fmt.Sprintf("%s/%s %s %s %d %s", ev.Namespace, ev.InvolvedObject.Name, ev.Type, ev.Source.Component, ev.Count, ev.Message)
	}
	for reason, want := range map[string]string{
		"Lost":  "n/a Warning tester 3 it is gone",
		"Found": "n/a Normal tester 1 it is back",
		"Long":  "n/" + long + " Normal tester 1 it has a long name",
		"Colon": "default/a:b Normal tester 1 it is in no namespace",
	} {
		if got[reason] != want {
			t.Errorf("%s: got %q, want %q", reason, got[reason], want)
		}
	}
	if len(list.Items) != 4 {
		t.Errorf("got %d events, want 4", len(list.Items))
	}
	for _, ev := range list.Items { // an Event that has been deleted is created again
		if err := events.In(ev.Namespace).Delete(t.Context(), ev.Name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.Event(t.Context(), about("n", "a"), corev1.EventTypeWarning, "Lost", "it is gone")
	if list, err := events.List(t.Context(), meta.ListOptions{}); err != nil || len(list.Items) != 1 || list.Items[0].Count != 1 {
		t.Errorf("got %+v, %v, want one that counts one", list, err)
	}
	w.DeleteNamespace() // failures in a missing or terminating namespace are not logged
	r.Event(t.Context(), about("n", "a"), corev1.EventTypeNormal, "Late", "it is late")
	r.Event(t.Context(), about("absent", "a"), corev1.EventTypeNormal, "Late", "it is late")
	if logged.Len() != 0 {
		t.Errorf("logged %v", logged.All())
	}
}
