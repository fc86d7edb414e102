package cel

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// JSONPatch returns the option that adds jsonpatch.escapeKey(), for expressions that make JSON
// patches (mutating admission policies). Base does not have the function.
func JSONPatch() cel.EnvOption {
	return cel.Function("jsonpatch.escapeKey", cel.Overload("string_jsonpatch_escapeKey_string",
		[]*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(on(func(key string) ref.Val { return types.String(keyEscaper.Replace(key)) }))))
}

// keyEscaper escapes a key for a JSON pointer (RFC 6901).
var keyEscaper = strings.NewReplacer("~", "~0", "/", "~1")
