package etcd

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coracle-project/coracle/storage"
)

// Cursors: each is a watch of etcd on a gRPC stream of its own, with a goroutine that receives
// (run) and one that asks for progress (ask). If the stream breaks, run opens another one after the
// last batch that Next has returned.

const (
	// The pause between attempts to connect, or to open a stream, grows from retryFirst to
	// retryLast. gRPC's own pause would grow to two minutes, and the server would come back that
	// much later than its etcd.
	retryFirst = 50 * time.Millisecond
	retryLast  = time.Second
	// progressAgain is the interval at which a request for progress is repeated until it is
	// answered. etcd drops such requests while the watch catches up.
	progressAgain = 100 * time.Millisecond
)

// cursor is one watch on a stream of its own. A loop (run) receives a batch and passes it to Next
// before it receives another batch. So gRPC's flow control holds back the stream of a slow reader,
// and etcd keeps the position in its history on disk. If the stream breaks, or its member loses the
// leader, the loop opens another stream after the last batch passed on.
type cursor struct {
	store *Store
	req   storage.WatchRequest // After moves with each batch; owned by the loop

	out    chan storage.Batch // unbuffered: from the loop to Next
	kick   chan struct{}      // capacity 1; Progress was called
	cancel context.CancelFunc // ends the loop and its stream
	done   chan struct{}      // closed when the loop has ended; then err is set
	err    error
}

// Watch implements storage.Store. It opens the first stream itself, so that its caller learns of
// Compacted, and of an etcd that is away, at once. ctx bounds Watch only. The cursor lives until
// its Close or the store's.
func (s *Store) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	if s.isClosed() {
		return nil, closedError("watch", req.Prefix)
	}
	if req.After == 0 {
		rev, err := s.current(ctx)
		if err != nil {
			return nil, err
		}
		req.After = rev
	}
	if err := s.link.ready(ctx); err != nil {
		return nil, s.readError(ctx, "watch", req.Prefix, err)
	}
	run, cancel := context.WithCancel(clientv3.WithRequireLeader(s.client.Ctx()))
	c := &cursor{store: s, req: req, cancel: cancel,
		out: make(chan storage.Batch), kick: make(chan struct{}, 1), done: make(chan struct{})}
	stream, err := c.open(ctx, run)
	if err != nil {
		cancel()
		if storage.KindOf(err) == storage.Compacted {
			return nil, err
		}
		return nil, s.readError(ctx, "watch", req.Prefix, err)
	}
	s.cursors.Lock()
	if s.cursors.open == nil {
		s.cursors.Unlock()
		cancel()
		return nil, closedError("watch", req.Prefix)
	}
	s.cursors.open[c] = struct{}{}
	s.cursors.Unlock()
	go c.run(run, stream)
	return c, nil
}

// Next implements storage.Cursor.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	select {
	case b := <-c.out:
		return b, nil
	case <-c.done:
		return storage.Batch{}, c.err
	case <-ctx.Done():
		return storage.Batch{}, ctx.Err()
	}
}

// Progress implements storage.Cursor.
func (c *cursor) Progress() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// Close implements storage.Cursor.
func (c *cursor) Close() {
	c.cancel()
	<-c.done
	c.store.cursors.Lock()
	delete(c.store.cursors.open, c)
	c.store.cursors.Unlock()
}

// stream is an open watch stream and the function that ends it.
type stream struct {
	pb.Watch_WatchClient
	cancel context.CancelFunc
}

// open starts a stream after req.After and waits until etcd confirms it. ctx bounds the wait, and
// the stream lives until run ends.
func (c *cursor) open(ctx, run context.Context, opts ...grpc.CallOption) (*stream, error) {
	sctx, cancel := context.WithCancel(run)
	stop := context.AfterFunc(ctx, cancel)
	w, err := c.start(sctx, append(opts, callOptions...))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &stream{Watch_WatchClient: w, cancel: cancel}, nil
}

// start opens the stream, sends the request to watch and waits for its confirmation.
func (c *cursor) start(ctx context.Context, opts []grpc.CallOption) (pb.Watch_WatchClient, error) {
	w, err := c.store.watch.Watch(ctx, opts...)
	if err != nil {
		return nil, err
	}
	create := &pb.WatchCreateRequest{
		Key:           []byte(c.req.Prefix),
		RangeEnd:      []byte(clientv3.GetPrefixRangeEnd(c.req.Prefix)),
		StartRevision: int64(c.req.After) + 1,
		PrevKv:        c.req.Prev,
		Fragment:      true,
	}
	err = w.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return nil, err
	}
	for {
		resp, err := w.Recv()
		if err != nil {
			return nil, err
		}
		if err := c.refused(resp); err != nil {
			return nil, err
		}
		if resp.Created {
			return w, nil
		}
	}
}

// refused returns the error with which etcd has ended the watch, or nil if it has not.
func (c *cursor) refused(resp *pb.WatchResponse) error {
	if resp.CompactRevision != 0 {
		return c.compacted(storage.Revision(resp.CompactRevision))
	}
	if resp.Canceled {
		return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Unavailable,
			Err: cancelReason(resp.CancelReason)}
	}
	return nil
}

// cancelReason is the reason that etcd gives for ending a watch.
type cancelReason string

func (r cancelReason) Error() string { return string(r) }

// compacted returns the error of a position that is no longer in the history. rev is the oldest
// revision that is, 0 if unknown.
func (c *cursor) compacted(rev storage.Revision) error {
	return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Compacted, Rev: rev}
}

// run receives until the cursor is closed or its position has been compacted. All other errors end
// the stream only, and run opens another one.
func (c *cursor) run(ctx context.Context, s *stream) {
	defer close(c.done)
	defer c.cancel()
	for wait := retryFirst; ; {
		if s != nil {
			before := c.req.After
			err := c.receive(ctx, s)
			if ctx.Err() != nil {
				c.err = closedError("watch", c.req.Prefix)
				return
			}
			if storage.KindOf(err) == storage.Compacted {
				c.err = err
				return
			}
			if c.req.After > before {
				wait = retryFirst
			}
		}
		if storage.Sleep(ctx, wait) != nil {
			c.err = closedError("watch", c.req.Prefix)
			return
		}
		wait = min(2*wait, retryLast)
		var err error
		if s, err = c.open(ctx, ctx, grpc.WaitForReady(true)); storage.KindOf(err) == storage.Compacted {
			c.err = err
			return
		}
	}
}

// receive passes batches to Next until the stream ends.
func (c *cursor) receive(ctx context.Context, s *stream) error {
	var asking sync.WaitGroup
	answered := make(chan struct{}, 1)
	asking.Go(func() { c.ask(s, answered) })
	defer asking.Wait()
	defer s.cancel()
	var events []storage.Event
	for {
		resp, err := s.Recv()
		if err != nil {
			return err
		}
		if err := c.refused(resp); err != nil {
			return err
		}
		for _, ev := range resp.Events {
			e, ok := event(ev, c.req.Prev)
			if !ok {
				return c.compacted(0)
			}
			events = append(events, e)
		}
		if resp.Fragment {
			continue // more events of the same revision follow
		}
		b := storage.Batch{Events: events}
		if events = nil; len(b.Events) > 0 {
			// The header's revision is not used: while the watch catches up it is ahead of the
			// events.
			b.Rev = b.Events[len(b.Events)-1].Rev
		} else {
			b.Rev = storage.Revision(resp.Header.Revision)
			select {
			case answered <- struct{}{}:
			default:
			}
		}
		if b.Rev < c.req.After {
			b.Rev = c.req.After
		}
		select {
		case c.out <- b:
			c.req.After = b.Rev
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask sends a request for progress when Progress was called, and again until one is answered. It
// ends with the stream.
func (c *cursor) ask(s *stream, answered <-chan struct{}) {
	request := &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{
		ProgressRequest: &pb.WatchProgressRequest{}}}
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		select {
		case <-s.Context().Done():
			return
		case <-answered:
			again.Stop()
			continue
		case <-c.kick:
		case <-again.C:
		}
		if s.Send(request) != nil {
			return
		}
		again.Reset(progressAgain)
	}
}
