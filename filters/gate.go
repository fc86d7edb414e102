package filters

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// Gate decides which requests may run. Any number of goroutines may use it at once.
type Gate interface {
	// Seat gives the request of info a seat for a phase. It may wait for one until ctx, the
	// request's, ends. A request that needs no seat gets nil. The error is the answer to the
	// client, and says when to try again.
	Seat(ctx context.Context, info *request.Info, phase Phase) (Seat, error)
	// Apart returns a Gate for requests that wait for one other server. A request that gets a seat
	// there leaves those that it has here.
	Apart() Gate
}

// Seat is what a request holds while it runs.
type Seat interface {
	// Leave gives the seat back. It is called once.
	Leave()
}

// Phase is the part of a request's life that a seat is for.
type Phase uint8

const (
	// Short is the whole life of a request that is not long-running.
	Short Phase = iota
	// Beginning is a long-running request from its authentication until its answer begins.
	Beginning
	// Lasting is a long-running request from its authorization to its end. A request holds this
	// seat beside the one for Beginning.
	Lasting
)

// TakeSeat has requests take a seat of gate, and refuses those that get none. It bounds the
// time for a stranger's body, because gates bound only the number.
// Order: after Authenticate, to tell users apart. Cost: that of gate, and no allocation.
func TakeSeat(gate Gate, long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			if isStranger(x.info.User) {
				x.body.hurry()
			}
			phase := Short
			if long(&x.info) {
				phase = Beginning
			}
			if seat, ok := askSeat(gate, phase, fail, w, r); ok {
				x.seat = seat
				defer x.leave()
				next(w, r)
			}
		}
	}
}

// Apart makes the Filter around a handler that waits for one other server: requests exchange their
// seats for one of gate.Apart, so that those which hang there do not keep others from running here.
// Order: behind all others.
func Apart(gate Gate, long func(*http.Request) bool, fail ErrorWriter) Filter {
	gate, fail = gate.Apart(), new(refusals).bound(fail)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			phase := Short
			if long(r) {
				phase = Lasting
			}
			if seat, ok := askSeat(gate, phase, fail, w, r); ok {
				x := of(r)
				x.leave()
				x.seat = seat
				defer x.leave()
				next(w, r)
			}
		}
	}
}

// askSeat asks gate for a seat for r, and refuses r if it gets none.
func askSeat(gate Gate, phase Phase, fail ErrorWriter, w http.ResponseWriter, r *http.Request) (seat Seat, ok bool) {
	x := of(r)
	seat, err := gate.Seat(r.Context(), &x.info, phase)
	if err != nil {
		x.response.terminated = byServer
		fail(w, r, err)
	}
	return seat, err == nil
}

// pair is the seats of a long-running request whose answer has not begun.
type pair struct{ beginning, lasting Seat }

// Leave implements Seat.
func (p *pair) Leave() {
	p.beginning.Leave()
	if p.lasting != nil {
		p.lasting.Leave()
	}
}

// last has a long-running request hold a seat until it ends, and the one that it has until its
// answer begins.
func (x *exchange) last(seat Seat) {
	if x.seat != nil {
		seat = &pair{x.seat, seat}
	}
	x.seat = seat
}

// begun is called when the answer begins.
func (x *exchange) begun() {
	if p, ok := x.seat.(*pair); ok {
		p.beginning.Leave()
		x.seat = p.lasting
	}
}

// leave gives back what x holds.
func (x *exchange) leave() {
	if x.seat != nil {
		x.seat.Leave()
		x.seat = nil
	}
}
