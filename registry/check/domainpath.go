package check

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DomainPath checks a name that is a domain, a slash and a path, such as example.com/controller.
func DomainPath(p *field.Path, name string) field.ErrorList { return meta.ValidateDomainPath(name, p) }
