package controller

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// This file is the Queue of a Loop: a heap of the names that are due now or later. Loop.Run makes
// it, its Source adds names, and its workers (RunWorker) take them.

const (
	// firstPause is the pause after the first failure of a name. It doubles with each failure in a
	// row.
	firstPause = 50 * time.Millisecond
	// MaxPause is the longest pause between two tries of a name whose work fails.
	MaxPause = time.Minute
)

// Queue holds the names that a loop has to work on, each once, with the time at which each is due.
// Workers take names in the order in which they become due. A taken name is not handed to a second
// worker before Done; if Add is called for it meanwhile, it is due again after Done.
//
// A name costs memory while it waits or is worked on, and neither a goroutine nor a timer.
type Queue[K comparable] struct {
	// turn is full while one worker waits for the first name to become due. Other workers wait to
	// send on it, so that one timer serves all.
	turn chan struct{}
	// first has a token when another name has become the first: the waiting worker looks again.
	first chan struct{}

	mu struct {
		sync.Mutex
		tasks   map[K]*task[K]
		heap    taskHeap[K] // of the tasks that nobody has taken
		working []*task[K]  // the tasks that are taken; as many as there are workers at most
		meter   *queueMeter // nil: nothing is counted
	}
}

// task is a name that is waiting or being worked on.
type task[K comparable] struct {
	name  K
	due   time.Time // zero if it is taken and need not be worked on again after Done
	added bool      // it has become due, and the meter has counted that
	taken time.Time // when a worker took it, until Done; zero while no worker has it
	index int       // in the heap; -1 outside of it
	tries int       // failures in a row
}

// NewQueue returns a Queue without names.
func NewQueue[K comparable]() *Queue[K] {
	q := &Queue[K]{turn: make(chan struct{}, 1), first: make(chan struct{}, 1)}
	q.mu.tasks = map[K]*task[K]{}
	return q
}

// Add makes name due now.
func (q *Queue[K]) Add(name K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.mu.tasks[name]
	if t == nil {
		t = &task[K]{name: name, index: -1}
		q.mu.tasks[name] = t
	}
	t.dueIn(0)
	if !t.added {
		t.added = true
		q.mu.meter.added()
	}
	q.updateLocked(t)
}

// Next waits for a name that is due and takes it; ok is false if ctx ends before that.
func (q *Queue[K]) Next(ctx context.Context) (name K, ok bool) {
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		taken, due, ok := q.take()
		if ok {
			return taken, true
		}
		q.wait(ctx, due)
	}
	return name, false
}

// take takes the first name if it is due. If ok is false, due is the time at which the first name
// will be due, or zero if no name waits.
func (q *Queue[K]) take() (name K, due time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.heap) == 0 {
		return name, time.Time{}, false
	}
	t, now := q.mu.heap[0], time.Now()
	if t.due.After(now) {
		return name, t.due, false
	}
	heap.Pop(&q.mu.heap)
	q.mu.meter.taken(now.Sub(t.due), t.added)
	t.taken, t.due, t.added = now, time.Time{}, false
	q.mu.working = append(q.mu.working, t)
	return t.name, time.Time{}, true
}

// wait returns at the time due, when another name becomes the first, or when ctx ends. If due is
// zero, no name waits, so there is no such time.
func (q *Queue[K]) wait(ctx context.Context, due time.Time) {
	var up <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		up = timer.C
	}
	select {
	case <-up:
	case <-q.first:
	case <-ctx.Done():
	}
}

// Done gives back a name that Next returned. If failed is true, the name is due again after a pause
// that doubles with each failure in a row, up to MaxPause. If failed is false and again is above
// zero, the name is due again after that duration. A call of Add since Next makes it due at once in
// any case.
func (q *Queue[K]) Done(name K, again time.Duration, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.mu.tasks[name]
	q.mu.meter.done(time.Since(t.taken), failed || again > 0)
	t.taken = time.Time{}
	i, last := slices.Index(q.mu.working, t), len(q.mu.working)-1
	q.mu.working[i], q.mu.working[last] = q.mu.working[last], nil
	q.mu.working = q.mu.working[:last]
	if failed {
		t.dueIn(min(firstPause<<min(t.tries, 20), MaxPause))
		t.tries++
	} else {
		t.tries = 0
		if again > 0 {
			t.dueIn(again)
		}
	}
	q.updateLocked(t)
}

// load implements measured.
func (q *Queue[K]) load() (depth int, sum, longest time.Duration, used bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, t := range q.mu.working {
		took := now.Sub(t.taken)
		sum, longest = sum+took, max(longest, took)
		if !t.due.IsZero() && !t.due.After(now) {
			depth++
		}
	}
	return depth + q.mu.heap.due(0, now), sum, longest, q.mu.meter != nil && q.mu.meter.adds != nil
}

// measure makes m count the work of q from now on.
func (q *Queue[K]) measure(m *queueMeter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.meter = m
}

// updateLocked moves t to its position in the heap after a change, forgets t if nothing is left to
// do for it, and wakes the waiting worker if t has become the first.
func (q *Queue[K]) updateLocked(t *task[K]) {
	switch {
	case !t.taken.IsZero():
		return
	case t.due.IsZero():
		delete(q.mu.tasks, t.name)
		return
	case t.index < 0:
		heap.Push(&q.mu.heap, t)
	default:
		heap.Fix(&q.mu.heap, t.index)
	}
	if t.index == 0 {
		select {
		case q.first <- struct{}{}:
		default:
		}
	}
}

// dueIn makes t due after a pause, unless it is due before that.
func (t *task[K]) dueIn(pause time.Duration) {
	if at := time.Now().Add(pause); t.due.IsZero() || at.Before(t.due) {
		t.due = at
	}
}

// taskHeap is a min-heap of tasks by due, for container/heap. Each task keeps its index, so that a
// task whose due has changed is moved without a search.
type taskHeap[K comparable] []*task[K]

// due returns the number of tasks at index i and below it that are due. It visits only these tasks
// and their children, because no task is due before its parent.
func (h taskHeap[K]) due(i int, now time.Time) int {
	if i >= len(h) || h[i].due.After(now) {
		return 0
	}
	return 1 + h.due(2*i+1, now) + h.due(2*i+2, now)
}

func (h taskHeap[K]) Len() int           { return len(h) }
func (h taskHeap[K]) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h taskHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *taskHeap[K]) Push(t any) {
	t.(*task[K]).index = len(*h)
	*h = append(*h, t.(*task[K]))
}

func (h *taskHeap[K]) Pop() any {
	old := *h
	last := len(old) - 1
	t := old[last]
	old[last], t.index = nil, -1
	*h = old[:last]
	return t
}
