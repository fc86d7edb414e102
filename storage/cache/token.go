package cache

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/coracle-project/coracle/storage"
)

// The continue tokens of paged lists. They have the format of Kubernetes, so that a client may take
// a token from one server to the other.

// continueVersion is the version in continue tokens, as Kubernetes writes it.
const continueVersion = "meta.k8s.io/v1"

// maxToken is the most bytes of a continue token that are decoded.
const maxToken = 4096

// errToken begins every error about a continue token.
var errToken = errors.New("continue key is not valid")

// continueToken is the JSON inside a token. Rev -1 stands for the present state. Start is the
// lowest key of the next page, relative to the prefix of the list.
type continueToken struct {
	Version string `json:"v"`
	Rev     int64  `json:"rv"`
	Start   string `json:"start"`
}

// EncodeContinue makes a token for the page after the key last, which is relative to the prefix of
// the list. rev is the revision of the list. With 0 the token goes on at the present state instead,
// so that the pages may show different revisions.
func EncodeContinue(rev storage.Revision, last string) string {
	t := continueToken{Version: continueVersion, Rev: int64(rev), Start: last + "\x00"}
	if rev == 0 {
		t.Rev = -1
	}
	data, err := json.Marshal(t)
	if err != nil { // a struct of strings and an integer
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// DecodeContinue returns the revision of a token and the key after which its page begins. The
// revision is 0 if the page is of the present state. The key lies under prefix, which ends in "/".
// Whether the store has the revision or the key is not checked. The error says what is wrong with
// the token.
func DecodeContinue(token, prefix string) (rev storage.Revision, after string, err error) {
	if len(token) > maxToken {
		return 0, "", fmt.Errorf("%w: longer than %d bytes", errToken, maxToken)
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %v", errToken, err)
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		return 0, "", fmt.Errorf("%w: %v", errToken, err)
	}
	switch {
	case t.Version != continueVersion:
		return 0, "", fmt.Errorf("%w: server does not recognize this encoded version %v", errToken, t.Version)
	case t.Rev == 0 || t.Rev < -1:
		return 0, "", fmt.Errorf("%w: incorrect encoded start resourceVersion (version %s)", errToken, continueVersion)
	case t.Start == "":
		return 0, "", fmt.Errorf("%w: encoded start key empty (version %s)", errToken, continueVersion)
	}
	// A key with "." or ".." elements could leave the prefix. No key in the store has them.
	rooted := t.Start
	if !strings.HasPrefix(rooted, "/") {
		rooted = "/" + rooted
	}
	if path.Clean(rooted) != rooted {
		return 0, "", fmt.Errorf("%w: %s", errToken, t.Start)
	}
	return storage.Revision(max(t.Rev, 0)), prefix + strings.TrimSuffix(rooted[1:], "\x00"), nil
}
