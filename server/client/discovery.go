package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/coracle-project/coracle/scheme/codec"
)

// PreferredVersion returns the version of a group, other than the legacy one, that the server prefers. The error is a NotFound if it
// has no such group.
func (c *Client) PreferredVersion(ctx context.Context, group string) (string, error) {
	var found struct {
		PreferredVersion struct {
			Version string `json:"version"`
		} `json:"preferredVersion"`
	}
	err := c.do(ctx, &call{method: http.MethodGet, path: "/apis/" + url.PathEscape(group), accept: codec.JSONType}, func(data []byte) error {
		return json.Unmarshal(data, &found)
	})
	return found.PreferredVersion.Version, err
}
