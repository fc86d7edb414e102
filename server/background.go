package server

import (
	"context"

	"github.com/coracle-project/coracle/server/generic"
)

// background is generic.Work by the names that the files of this package call it by.
type background struct {
	*generic.Work
	ctx context.Context // of the work
}

func newBackground(parent context.Context) *background {
	w := generic.NewWork(parent)
	return &background{w, w.Context()}
}

// run is Work.Run.
func (b *background) run(work func(ctx context.Context)) { b.Run(work) }

// stop is Work.Stop.
func (b *background) stop() { b.Stop() }
