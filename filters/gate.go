package filters

import (
	"context"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// Gate decides which requests may run. It is safe for concurrent use. InFlight is the only
// implementation; the filters use only this interface.
type Gate interface {
	// Seat returns a seat for the request of info in a phase. It may wait for the seat until ctx,
	// the request's context, ends. The wait is a span of the kind request.SpanSeat. A request that
	// needs no seat gets nil. The error is the answer to the client, with the time after which to
	// try again.
	Seat(ctx context.Context, info *request.Info, phase Phase) (Seat, error)
	// Separate returns a Gate for requests that wait for one other server, with seats of its own. A
	// request that gets a seat there gives back the seats that it has here.
	Separate() Gate
}

// Seat is what a request holds of a Gate while it runs.
type Seat interface {
	// Leave gives the seat back. It is called once.
	Leave()
}

// Phase is the part of a request's life for which it holds a seat.
type Phase uint8

const (
	// Short is the whole life of a request that is not long-running.
	Short Phase = iota
	// Beginning is the time of a long-running request from its authentication until its response
	// begins.
	Beginning
	// Lasting is the time of a long-running request from its authorization to its end. During
	// Beginning a request may hold this seat as well.
	Lasting
)

// TakeSeat takes a seat of gate for each request and refuses requests that get none. A stranger's
// body gets a time limit here, because a gate bounds the number of requests, not their time.
// Order: after Authenticate, which tells users apart. Cost: that of gate, and no allocation.
func TakeSeat(gate Gate, long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			if isStranger(x.info.User) {
				x.body.limitStranger()
			}
			phase := Short
			if long(&x.info) {
				phase = Beginning
			}
			if seat, ok := askSeat(gate, phase, fail, w, r); ok {
				x.seat = seat
				defer x.leaveSeats()
				next(w, r)
			}
		}
	}
}

// Separate returns the Filter around a handler that waits for one other server. A request takes a
// seat of gate.Separate() and then gives back the seats that it holds of gate, so that requests to
// a slow server do not keep others from running here.
// Order: behind the whole chain, around the handler.
func Separate(gate Gate, long func(*http.Request) bool, fail ErrorWriter) Filter {
	gate, fail = gate.Separate(), new(refusals).bound(fail)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			phase := Short
			if long(r) {
				phase = Lasting
			}
			if seat, ok := askSeat(gate, phase, fail, w, r); ok {
				x := exchangeOf(r)
				x.leaveSeats()
				x.seat = seat
				defer x.leaveSeats()
				next(w, r)
			}
		}
	}
}

// askSeat asks gate for a seat for r. If there is none, it refuses r and ok is false.
func askSeat(gate Gate, phase Phase, fail ErrorWriter, w http.ResponseWriter, r *http.Request) (seat Seat, ok bool) {
	x := exchangeOf(r)
	seat, err := gate.Seat(r.Context(), &x.info, phase)
	if err != nil {
		x.response.terminated = byServer
		fail(w, r, err)
	}
	return seat, err == nil
}

// seatPair holds both seats of a long-running request until its response begins.
type seatPair struct{ beginning, lasting Seat }

// Leave implements Seat.
func (p *seatPair) Leave() {
	p.beginning.Leave()
	if p.lasting != nil {
		p.lasting.Leave()
	}
}

// holdLasting adds seat, which a long-running request holds until it ends, to the seat for
// Beginning, which it holds until its response begins.
func (x *exchange) holdLasting(seat Seat) {
	if x.seat != nil {
		seat = &seatPair{x.seat, seat}
	}
	x.seat = seat
}

// answerBegun is called when the response begins. It gives back the seat for Beginning, and tells
// who records the request.
func (x *exchange) answerBegun(code int) {
	if record := x.info.Record; record != nil && record.Began != nil {
		record.Began(code)
	}
	if p, ok := x.seat.(*seatPair); ok {
		p.beginning.Leave()
		x.seat = p.lasting
	}
}

// leaveSeats gives back all seats of x.
func (x *exchange) leaveSeats() {
	if x.seat != nil {
		x.seat.Leave()
		x.seat = nil
	}
}
