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

// Passwords knows users by name and password, from a list that does not change. Of a password it keeps a hash alone, by a key of
// this life of the process, and it takes as long to refuse a name that nobody has as a wrong password.
type Passwords struct {
	key   []byte
	users map[string]password
	none  password // what the passwords of unknown users are held against
}

type password struct {
	sum  [sha256.Size]byte
	user *request.User
}

var errBadPassword = errors.New("invalid username/password combination")

// ReadPasswordFile reads users from a file; see ReadPasswords.
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

// ReadPasswords reads lines of comma-separated values: password, user name, uid and, optionally, the groups as one quoted
// value with commas inside. Lines with an empty password are left out; of equal names the last counts.
func ReadPasswords(r io.Reader) (*Passwords, error) {
	p := &Passwords{key: make([]byte, sha256.Size), users: map[string]password{}}
	rand.Read(p.key) // which cannot fail
	p.none.sum = p.hash(rand.Text())
	err := readUsers(r, "password", func(secret string, user request.User) {
		user.Groups = WithAuthenticated(user.Name, user.Groups)
		p.users[user.Name] = password{p.hash(secret), &user}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Passwords) hash(secret string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, p.key)
	io.WriteString(h, secret)
	h.Sum(sum[:0])
	return sum
}

// Authenticate returns the user whose name and password r carries.
func (p *Passwords) Authenticate(r *http.Request) (*request.User, error) {
	name, secret, ok := r.BasicAuth()
	if !ok {
		return nil, nil
	}
	want, known := p.users[name]
	if !known {
		want = p.none
	}
	sum := p.hash(secret)
	if subtle.ConstantTimeCompare(sum[:], want.sum[:]) == 0 || !known {
		return nil, errBadPassword
	}
	return want.user, nil
}
