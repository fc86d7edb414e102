package encryption

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// opener decrypts what was encrypted with one seed, or with one key.
type opener interface {
	unseal(data, aad []byte) ([]byte, error)
}

// seed is what keys are derived from: each value has a key of its own, by HKDF-SHA256 (expansion alone) from the seed and 32
// random bytes, which stand before the nonce. A seed may encrypt any number of values.
type seed []byte

const (
	seedSize = 32
	infoSize = 32
)

func newSeed() seed {
	s := make(seed, seedSize)
	rand.Read(s) // never fails
	return s
}

// derive returns what encrypts the value with some random bytes.
func (s seed) derive(info []byte) (cipher.AEAD, error) {
	key, err := hkdf.Expand(sha256.New, s, string(info), 32)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

func (s seed) seal(plain, aad []byte) ([]byte, error) {
	out := make([]byte, infoSize+nonceSize, infoSize+nonceSize+len(plain)+tagSize)
	rand.Read(out)
	aead, err := s.derive(out[:infoSize])
	if err != nil {
		return nil, err
	}
	return aead.Seal(out, out[infoSize:], plain, aad), nil
}

func (s seed) unseal(data, aad []byte) ([]byte, error) {
	if len(data) < infoSize {
		return nil, errDecrypt
	}
	aead, err := s.derive(data[:infoSize])
	if err != nil {
		return nil, err
	}
	return gcm{aead}.unseal(data[infoSize:], aad)
}

// newOpener returns what decrypts by a seed, or a key, that a plugin has decrypted.
func newOpener(kind uint64, secret []byte) (opener, error) {
	if kind == kindSeed {
		if len(secret) < seedSize {
			return nil, fmt.Errorf("invalid seed length %d used for key generation", len(secret))
		}
		return seed(secret), nil
	}
	aead, err := newGCM(secret)
	if err != nil {
		return nil, err
	}
	return gcm{aead}, nil
}

// seeds are the seeds that values have been read with, until a day after.
type seeds struct {
	count func(n int) // is told how many there are

	mu  sync.Mutex
	all map[seedID]*knownSeed
}

type knownSeed struct {
	opener
	until time.Time
}

const (
	// seedTime is for how long a seed is known. It is longer than most objects are not read.
	seedTime = 24 * time.Hour
	// maxSeeds bounds how many are known. There is one for each start of a server, and each key of the plugin.
	maxSeeds = 10_000
)

// find returns a seed that is known, or nil.
func (s *seeds) find(id seedID) opener {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.all[id]; k != nil {
		return k.opener
	}
	return nil
}

// add has a seed known, and forgets those whose time is up. Of too many any is forgotten.
func (s *seeds) add(id seedID, o opener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for old, k := range s.all {
		if k.until.Before(now) || len(s.all) >= maxSeeds {
			delete(s.all, old)
		}
	}
	s.all[id] = &knownSeed{o, now.Add(seedTime)}
	s.count(len(s.all))
}
