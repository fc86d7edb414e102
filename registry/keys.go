package registry

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

func keyPrefix(gr meta.GroupResource) string {
	switch gr.Resource {
	case "nodes":
		return "minions"
	case "services":
		return "services/specs"
	}
	if !strings.Contains(gr.Group, ".") || gr.Group == "coordination.k8s.io" {
		return gr.Resource
	}
	return gr.Group + "/" + gr.Resource
}
