package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
)

// A minimal controller: it watches config maps, and labels each one that it has seen. Here it runs
// in the process of the server; with a URL and a token it runs anywhere.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := server.New(ctx, server.Config{
		DataDir: dir,
		Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	namespaces := client.For[*corev1.Namespace](s.Client(), corev1.GroupVersion.WithResource("namespaces"))
	maps := client.For[*corev1.ConfigMap](s.Client(), corev1.GroupVersion.WithResource("configmaps")).In("team")
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "team"}}, meta.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "settings"}}, meta.CreateOptions{}); err != nil {
		log.Fatal(err)
	}

	failed := func(err error) { log.Print(err) } // Changes then tries again
	for batch := range follow.Changes(ctx, maps.Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, change := range batch.Changes {
			if change.Gone || change.Unread != nil {
				continue
			}
			fmt.Println(change.Name.Name, change.New.Labels)
			if change.New.Labels["seen"] != "" {
				cancel()
				continue
			}
			patch := []byte(`{"metadata":{"labels":{"seen":"yes"}}}`)
			if _, err := maps.Patch(ctx, change.Name.Name, client.MergePatch, patch, meta.PatchOptions{}); err != nil {
				log.Fatal(err)
			}
		}
	}

	// Output:
	// settings map[]
	// settings map[seen:yes]
}
