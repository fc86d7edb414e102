package robust

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is the network between one server and its etcd. It passes bytes in both directions, except
// while it is cut. All methods may be called at once.
type link struct {
	listener net.Listener
	to       string // address

	lag atomic.Int64 // time for which bytes are held back, in nanoseconds

	flow sync.RWMutex // held for reading while bytes pass, for writing while the link is cut

	mu    sync.Mutex
	ends  map[net.Conn]bool
	gone  bool // closed for good
	pipes sync.WaitGroup
}

// newLink listens on a port and connects its clients to an address.
func newLink(to string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, to: to, ends: map[net.Conn]bool{}}
	l.pipes.Go(l.accept) // ends with the listener
	return l, nil
}

func (l *link) url() string { return "http://" + l.listener.Addr().String() }

func (l *link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil || !l.keep(near, far) {
			near.Close()
			continue
		}
		l.pipes.Go(func() { l.pipe(near, far) })
		l.pipes.Go(func() { l.pipe(far, near) })
	}
}

// keep notes the two ends of a connection. It closes far and returns false if the link is gone.
func (l *link) keep(near, far net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		far.Close()
		return false
	}
	l.ends[near], l.ends[far] = true, true
	return true
}

// pipe passes bytes until one end is closed, and then closes both.
func (l *link) pipe(from, to net.Conn) {
	defer l.drop(from, to)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		time.Sleep(time.Duration(l.lag.Load()))
		l.flow.RLock()
		if n > 0 && err == nil {
			_, err = to.Write(buffer[:n])
		}
		l.flow.RUnlock()
		if err != nil {
			return
		}
	}
}

func (l *link) drop(ends ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range ends {
		end.Close()
		delete(l.ends, end)
	}
}

// slow holds back all bytes for a time from now on.
func (l *link) slow(lag time.Duration) { l.lag.Store(int64(lag)) }

// cut stops all bytes until mend. Bytes on their way arrive after that, or never.
func (l *link) cut() { l.flow.Lock() }

// mend ends a cut. If lose is set, it closes the old connections, so that the bytes on their way
// are lost.
func (l *link) mend(lose bool) {
	if lose {
		l.reset()
	}
	l.flow.Unlock()
}

// reset closes all connections. The bytes on their way are lost, and new connections work at once.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for end := range l.ends {
		end.Close()
	}
}

// close ends all connections and waits for their goroutines.
func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.reset()
	l.pipes.Wait()
}
