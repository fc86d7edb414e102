package check

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsonpath"
)

// JSONPath checks a path in kubectl's form of JSONPath, such as spec.containers[0].name, without
// the braces around it.
func JSONPath(p *field.Path, path string) field.ErrorList {
	if _, err := jsonpath.Parse("{" + path + "}"); err != nil {
		return field.ErrorList{field.Invalid(p, path, "invalid JSONPath: "+err.Error())}
	}
	return nil
}
