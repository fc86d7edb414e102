package aggregator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// This file asks servers behind for their documents of OpenAPI v2. These are large, and few clients
// want them. So a server is asked only when a client asks for the merged document or, if the server
// has no OpenAPI v3, for the v3 document that is made from v2; and at most once per askAgain. The
// client's request waits for at most swaggerWait; after that it gets the parts of the last answer.

const (
	maxSwagger  = 8 << 20 // in bytes
	swaggerTime = 30 * time.Second
	// swaggerWait is how long a request waits for servers behind.
	swaggerWait = 3 * time.Second
)

// swaggers is the OpenAPI v2 document of one server behind, split by group version. neighbours.mu
// guards it.
type swaggers struct {
	remotes []*remote     // for which the server was asked
	at      time.Time     // when the server was asked last
	running chan struct{} // closed when the answer is there; nil while the server is not asked
	late    bool          // a request has waited in vain for this answer, so no other waits for it
	etag    string
	hash    [sha256.Size]byte
	parts   map[meta.GroupVersion]*router.RemoteV2
}

// AskV2 asks servers behind for their OpenAPI v2 documents, unless they were asked less than a
// minute ago, and waits up to 3 s for the answers. With noV3 it asks only the servers that have no
// OpenAPI v3. The answers go into discovery. AskV2 has the type of router.OpenAPI.AskRemote.
func (a *Aggregator) AskV2(ctx context.Context, noV3 bool) { a.docs.askV2(ctx, noV3) }

func (n *neighbours) askV2(ctx context.Context, noV3 bool) {
	n.mu.Lock()
	var late []*neighbour
	for _, server := range n.servers {
		if (server.said.noV3 || !noV3) && server.refresh() {
			late = append(late, server)
		}
	}
	n.mu.Unlock()
	n.await(ctx, late)
}

// await returns when all servers have answered, or after swaggerWait. It marks the servers that
// were too late, so that no other request waits for them.
func (n *neighbours) await(ctx context.Context, late []*neighbour) {
	if len(late) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, swaggerWait)
	defer cancel()
	for _, server := range late {
		n.mu.Lock()
		running := server.v2.running
		n.mu.Unlock()
		if running == nil {
			continue
		}
		select {
		case <-running:
		case <-ctx.Done():
			n.mu.Lock()
			server.v2.late = true
			n.mu.Unlock()
		}
	}
}

// refresh starts a question for the document if the last one is older than askAgain or was for
// other remotes. It reports whether to wait for the answer. The caller holds mu.
func (s *neighbour) refresh() bool {
	v2 := &s.v2
	if v2.running != nil {
		return !v2.late
	}
	at := slices.IndexFunc(s.remotes, func(r *remote) bool { return r.available })
	recent := time.Since(v2.at) < askAgain && slices.Equal(v2.remotes, s.remotes)
	if at < 0 || s.ctx.Err() != nil || recent {
		return false
	}
	running, remotes := make(chan struct{}), s.remotes
	v2.running, v2.late, v2.at = running, false, time.Now()
	s.run(func(context.Context) {
		defer close(running)
		s.readV2(remotes, remotes[at])
	})
	return true
}

// readV2 asks the server for its document, and puts the parts about remotes' group versions into
// discovery. If that fails the old parts stay.
func (s *neighbour) readV2(remotes []*remote, r *remote) {
	ctx, cancel := context.WithTimeout(s.ctx, swaggerTime)
	defer cancel()
	s.mu.Lock()
	before := s.v2
	s.mu.Unlock()
	next := before
	err := next.ask(ctx, remotes, r)
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("cannot merge the OpenAPI v2 document of a server behind this one",
			zap.String("name", r.service.Name), zap.Error(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.v2.running = nil
	s.v2.remotes = remotes
	if err == nil {
		s.v2.etag, s.v2.hash, s.v2.parts = next.etag, next.hash, next.parts
		s.show()
	}
}

// ask asks for the document through r, and splits off the parts about the group versions of
// remotes. It decodes nothing if the ETag or the hash shows that the document is the same.
func (v2 *swaggers) ask(ctx context.Context, remotes []*remote, r *remote) error {
	same := len(v2.parts) > 0 && !slices.ContainsFunc(remotes, func(r *remote) bool {
		_, known := v2.parts[r.version()]
		return !known
	})
	header := http.Header{"Accept": {codec.JSONType}}
	if same && v2.etag != "" {
		header.Set("If-None-Match", v2.etag)
	}
	got, err := r.question(ctx, &openAPIUser, "/openapi/v2", maxSwagger, header)
	switch {
	case err != nil:
		return err
	case got.code == http.StatusNotModified && header.Get("If-None-Match") != "":
		return nil
	case got.code == http.StatusNotFound: // the server has no such document
		v2.etag, v2.parts = "", nil
		return nil
	case got.code != http.StatusOK:
		return fmt.Errorf("/openapi/v2: status %d", got.code)
	}
	hash := sha256.Sum256(got.body)
	if same && hash == v2.hash {
		v2.etag = got.header.Get("Etag")
		return nil
	}
	document, err := openapi.ReadSwagger(got.body)
	if err != nil {
		return fmt.Errorf("/openapi/v2: %w", err)
	}
	parts := map[meta.GroupVersion]*router.RemoteV2{}
	for _, r := range remotes {
		gv := r.version()
		parts[gv] = nil
		if part := document.Below("/apis/" + gv.String() + "/"); part != nil {
			parts[gv] = router.NewRemoteV2(part)
		}
	}
	v2.etag, v2.hash, v2.parts = got.header.Get("Etag"), hash, parts
	return nil
}
