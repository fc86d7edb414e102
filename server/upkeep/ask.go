package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
)

// jsonHandler returns a handler for one path. It calls do for requests with the given method, and
// refuses others. It writes the result of do as JSON, or the error of do as a Status. do must not
// write to w itself.
func jsonHandler[T any](method string, do func(w http.ResponseWriter, r *http.Request) (T, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			router.WriteError(w, r, router.ErrMethod())
			return
		}
		done, err := do(w, r)
		if err != nil {
			router.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(done) // fails if the client has gone
	})
}

// call sends a request without a body to the server that a kubeconfig names, and decodes the JSON
// of the response into to. A response other than 200 is an error, with the beginning of its body.
func call(ctx context.Context, kubeconfig, method, path string, to any) error {
	target, err := callout.ReadKubeconfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := callout.New(callout.Config{Name: "command", Target: target})
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(target.URL, "/")+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answers %s: %.300s", resp.Status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, to)
	}
	return err
}
