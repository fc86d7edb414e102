package controller_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// A loop that gives each namespace a config map, and creates it again if a client deletes it. Here
// the loop runs in the process of the server; with a client that has a URL and a token it runs
// anywhere.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := server.New(ctx, server.Config{
		DataDir: dir, Controllers: []string{},
		Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	maps := client.For[*corev1.ConfigMap](s.Client(), corev1.GroupVersion.WithResource("configmaps"))
	informers := controller.NewInformers(ctx, s.Client(), zap.NewNop())
	type namespace struct{ Going bool } // the view of a namespace
	namespaces := controller.InformerOf(informers, corev1.GroupVersion.WithResource("namespaces"), func(ns *corev1.Namespace) *namespace {
		return &namespace{Going: ns.DeletionTimestamp != nil}
	})
	made := make(chan string, 1)
	loop := controller.Loop{
		Source: controller.Join(
			namespaces.Source(func(name controller.Name, _, _ *namespace) []controller.Name {
				return []controller.Name{{Namespace: name.Name, Name: "welcome"}}
			}),
			controller.Watch(maps, meta.ListOptions{FieldSelector: "metadata.name=welcome"}),
		),
		Reconcile: func(ctx context.Context, name controller.Name) (again time.Duration, err error) {
			if ns := namespaces.Get(controller.Name{Name: name.Namespace}); ns == nil || ns.Going {
				return 0, nil
			}
			_, err = maps.In(name.Namespace).Get(ctx, name.Name, meta.GetOptions{})
			if !meta.IsNotFound(err) {
				return 0, err // without an error, it exists
			}
			_, err = maps.In(name.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name.Name}}, meta.CreateOptions{})
			if err == nil {
				made <- name.Namespace + "/" + name.Name
			}
			return 0, controller.IgnoreLostRace(err)
		},
		After: []controller.Syncer{namespaces},
		Log:   zap.NewNop(),
	}
	ended := make(chan struct{})
	go func() { defer close(ended); loop.Run(ctx) }()

	team := &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "team"}}
	if _, err := client.For[*corev1.Namespace](s.Client(), corev1.GroupVersion.WithResource("namespaces")).Create(ctx, team, meta.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("made", <-made)
	welcome := maps.In("team").Source(meta.ListOptions{FieldSelector: "metadata.name=welcome"})
	for batch := range follow.Changes(ctx, welcome, follow.Options{}) {
		if len(batch.Changes) > 0 {
			fmt.Println("seen", batch.Changes[0].Name.Name)
			break
		}
	}
	cancel()
	<-ended
	informers.Wait()

	// Output:
	// made team/welcome
	// seen welcome
}
