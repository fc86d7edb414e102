package authn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// Tokens authenticates bearer tokens from a list, which must not change after the first use. The
// list is keyed by the hash of a token, so the timing of a lookup does not tell how much of a token
// was right.
type Tokens struct {
	users   map[[sha256.Size]byte]*request.User
	longest int // length of the longest token, in bytes
}

// ReadTokenFile reads tokens from the file at path, whose lines are token, user name, uid and,
// optionally, groups (see ReadTokens).
func ReadTokenFile(path string) (*Tokens, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	t, err := ReadTokens(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return t, nil
}

// ReadTokens reads comma-separated lines: token, user name, uid and, optionally, the groups as one
// quoted value with commas inside. Lines with an empty token are skipped; if a token occurs twice,
// the last line counts.
func ReadTokens(r io.Reader) (*Tokens, error) {
	t := new(Tokens)
	err := readUsers(r, "token", t.Add)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// readUsers calls add for each line of a file of tokens or passwords. what names the first column
// in errors.
func readUsers(r io.Reader, what string, add func(secret string, owner request.User)) error {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = -1
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(fields) < 3 {
			line, _ := lines.FieldPos(0)
			return fmt.Errorf(
				"line %d: must have at least 3 columns (%s, user name, user uid), found %d", line, what, len(fields),
			)
		}
		if fields[0] == "" {
			continue
		}
		user := request.User{Name: fields[1], UID: fields[2]}
		if len(fields) > 3 {
			user.Groups = strings.Split(fields[3], ",")
		}
		add(fields[0], user)
	}
}

// Add makes token stand for user. It must be called before the first use.
func (t *Tokens) Add(token string, user request.User) {
	if t.users == nil {
		t.users = map[[sha256.Size]byte]*request.User{}
	}
	user.Groups = WithAuthenticated(user.Name, user.Groups)
	t.users[sha256.Sum256([]byte(token))] = &user
	t.longest = max(t.longest, len(token))
}

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(t.users) }

// AuthenticateToken returns the user of token, for any audiences.
func (t *Tokens) AuthenticateToken(_ context.Context, token string, _ []string) (*request.User, []string, error) {
	if len(token) > t.longest { // spares hashing long tokens
		return nil, nil, nil
	}
	// Converting the token to bytes would allocate; copying it to a buffer on the stack does not.
	var buf [512]byte
	var sum [sha256.Size]byte
	if len(token) <= len(buf) {
		sum = sha256.Sum256(buf[:copy(buf[:], token)])
	} else {
		sum = sha256.Sum256([]byte(token))
	}
	return t.users[sum], nil, nil
}
