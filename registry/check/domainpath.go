package check

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DomainPath checks a domain and a path, such as the name of a controller.
func DomainPath(p *field.Path, name string) field.ErrorList { return meta.ValidateDomainPath(name, p) }
