package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// PreferredVersion returns the version of a group that the server prefers. The group must not be
// the core group. The error is a NotFound if the server has no such group.
func (c *Client) PreferredVersion(ctx context.Context, group string) (string, error) {
	var found struct {
		PreferredVersion struct {
			Version string `json:"version"`
		} `json:"preferredVersion"`
	}
	err := c.do(ctx, &call{
		method: http.MethodGet,
		path:   "/apis/" + url.PathEscape(group),
		accept: codec.JSONType,
	}, func(data []byte) error {
		return json.Unmarshal(data, &found)
	})
	return found.PreferredVersion.Version, err
}

// APIResource returns the description of a resource in discovery. If the server has the version and
// the version does not have the resource, APIResource returns the zero value. If the server does
// not have the version, the error is a NotFound.
func (c *Client) APIResource(ctx context.Context, gvr meta.GroupVersionResource) (meta.APIResource, error) {
	var found struct {
		Resources []meta.APIResource `json:"resources"`
	}
	path := "/apis/" + url.PathEscape(gvr.Group) + "/" + url.PathEscape(gvr.Version)
	if gvr.Group == "" {
		path = "/api/" + url.PathEscape(gvr.Version)
	}
	err := c.do(ctx, &call{method: http.MethodGet, path: path, accept: codec.JSONType}, func(data []byte) error {
		return json.Unmarshal(data, &found)
	})
	for i := range found.Resources {
		if found.Resources[i].Name == gvr.Resource {
			return found.Resources[i], err
		}
	}
	return meta.APIResource{}, err
}

// Document returns the answer to a GET of a path that is no resource, such as /openapi/v3. accept
// is the media type of the document.
func (c *Client) Document(ctx context.Context, path, accept string) (data []byte, err error) {
	err = c.do(ctx, &call{method: http.MethodGet, path: path, accept: accept}, func(body []byte) error {
		data = body
		return nil
	})
	return data, err
}
