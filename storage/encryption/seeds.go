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

// opener decrypts values with one seed or one key.
type opener interface {
	unseal(data, aad []byte) ([]byte, error)
}

// seed is the secret from which keys are derived. Each value has a key of its own, by HKDF-SHA256
// (only the expansion) from the seed and 32 random bytes, which are stored before the nonce. So a
// seed may encrypt any number of values.
type seed []byte

const (
	seedSize = 32 // bytes of a seed
	infoSize = 32 // random bytes per value, from which its key is derived
)

// newSeed returns a random seed.
func newSeed() seed {
	s := make(seed, seedSize)
	rand.Read(s) // never fails
	return s
}

// derive returns AES-GCM with the key of the value that has the random bytes info.
func (s seed) derive(info []byte) (cipher.AEAD, error) {
	key, err := hkdf.Expand(sha256.New, s, string(info), 32)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

// seal returns info, nonce, ciphertext and tag of a value.
func (s seed) seal(plain, aad []byte) ([]byte, error) {
	out := make([]byte, infoSize+nonceSize, infoSize+nonceSize+len(plain)+tagSize)
	rand.Read(out)
	aead, err := s.derive(out[:infoSize])
	if err != nil {
		return nil, err
	}
	return aead.Seal(out, out[infoSize:], plain, aad), nil
}

// unseal implements opener.
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

// newOpener returns the opener of a secret that a plugin has decrypted, which is a seed or a key.
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

// seeds is the cache of the seeds with which values have been read or written.
type seeds struct {
	count func(n int) // called with the number of seeds when it changes

	mu  sync.Mutex
	all map[seedID]*knownSeed
}

// knownSeed is a cached seed and the time at which it may be dropped.
type knownSeed struct {
	opener
	until time.Time
}

const (
	// seedTime is how long a seed stays in the cache after it was added.
	seedTime = 24 * time.Hour
	// maxSeeds bounds the cache. A server makes a seed at each start and for each new key of the
	// plugin.
	maxSeeds = 10_000
)

// find returns a cached seed, or nil.
func (s *seeds) find(id seedID) opener {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.all[id]; k != nil {
		return k.opener
	}
	return nil
}

// add caches a seed and drops the seeds whose time is up. If there are maxSeeds, it also drops
// arbitrary other seeds.
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
