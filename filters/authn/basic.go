package authn

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// Passwords authenticates users by name and password, from a list that does not change. It keeps
// only an HMAC of each password, with a key that this process made at random. Refusing an unknown
// name takes as long as refusing a wrong password.
type Passwords struct {
	key     []byte
	users   map[string]password
	unknown password // compared with the passwords of unknown users; nothing equals it
}

type password struct {
	sum  [sha256.Size]byte
	user *request.User
}

var errBadPassword = errors.New("invalid username/password combination")

// ReadPasswordFile reads users and their passwords from the file at path, whose lines are password,
// user name, uid and, optionally, groups (see ReadPasswords).
func ReadPasswordFile(path string) (*Passwords, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	p, err := ReadPasswords(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("password file %s: %w", path, err)
	}
	return p, nil
}

// ReadPasswords reads comma-separated lines: password, user name, uid and, optionally, the groups
// as one quoted value with commas inside. Lines with an empty password are skipped; if a name
// occurs twice, the last line counts.
func ReadPasswords(r io.Reader) (*Passwords, error) {
	p := &Passwords{key: make([]byte, sha256.Size), users: map[string]password{}}
	rand.Read(p.key) // never returns an error
	p.unknown.sum = p.hash(rand.Text())
	err := readUsers(r, "password", func(secret string, user request.User) {
		user.Groups = WithAuthenticated(user.Name, user.Groups)
		p.users[user.Name] = password{p.hash(secret), &user}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// hash returns the HMAC of a password.
func (p *Passwords) hash(secret string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, p.key)
	io.WriteString(h, secret)
	h.Sum(sum[:0])
	return sum
}

// Authenticate returns the user whose name and password r carries (RFC 7617).
func (p *Passwords) Authenticate(r *http.Request) (*request.User, error) {
	name, secret, ok := r.BasicAuth()
	if !ok {
		return nil, nil
	}
	want, known := p.users[name]
	if !known {
		want = p.unknown
	}
	sum := p.hash(secret)
	if subtle.ConstantTimeCompare(sum[:], want.sum[:]) == 0 || !known {
		return nil, errBadPassword
	}
	return want.user, nil
}
