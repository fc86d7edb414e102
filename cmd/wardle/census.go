package main

import (
	"encoding/json"
	"net/http"

	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/server"
)

// addCensus serves the number of Flunders in each namespace at /wardle/census, as a JSON object.
// The path is authenticated and authorized like all others: RBAC knows it as a non-resource URL.
// The server calls addCensus once, before it listens (Config.Setup).
func addCensus(s *server.Server) error {
	flunders, err := registry.ViewOf[*hub.Flunder](s.Store(flunderResource))
	if err != nil {
		return err
	}
	return s.HandleGet("/wardle/census", func(w http.ResponseWriter, r *http.Request) error {
		list, err := flunders.List(r.Context(), "")
		if err != nil {
			return err
		}
		census := map[string]int{}
		for _, f := range list {
			census[f.Namespace]++
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(census)
	})
}
