package registry

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DeleteCollection deletes the objects that list selects, Config.DeleteWorkers at a time, and
// returns them as they were listed. An object that is gone before its turn is no error. After any
// other error no further deletion begins. All deletions have ended when it returns. See
// router.CollectionDeleter.
func (s *Store) DeleteCollection(
	ctx context.Context, list *request.ListRequest, req *request.Write, opts *meta.DeleteOptions,
) (*request.List, error) {
	found, err := s.List(ctx, list)
	if err != nil {
		return nil, err
	}
	s.warnOfOrphans(req, opts)
	each := *req
	var telling sync.Mutex // Warn and Annotate of a request are not safe for concurrent use
	if req.Warn != nil {
		each.Warn = func(text string) {
			telling.Lock()
			defer telling.Unlock()
			req.Warn(text)
		}
	}
	for _, annotate := range []*func(key, value string){&each.Annotate, &each.AnnotateRequest} {
		if tell := *annotate; tell != nil {
			*annotate = func(key, value string) {
				telling.Lock()
				defer telling.Unlock()
				tell(key, value)
			}
		}
	}
	// on ends with the first error and is only asked before a deletion begins: deletions that run
	// use ctx and are not cut short.
	work, on := errgroup.WithContext(ctx)
	var panicked atomic.Value
	work.SetLimit(max(s.cfg.DeleteWorkers, 1))
	for item := range found.Items {
		if Unreadable(item) != nil {
			continue
		}
		one := each
		one.Namespace, one.Name = s.NameOf(item)
		work.Go(func() (err error) {
			defer func() {
				if cause := recover(); cause != nil { // a panic on this goroutine would end the server
					err = fmt.Errorf("panic: %v", cause)
					panicked.Store(fmt.Sprintf("%v\n%s", cause, debug.Stack()))
				}
			}()
			if err := on.Err(); err != nil {
				return err
			}
			if _, err := s.delete(ctx, &one, opts, ""); err != nil && !meta.IsNotFound(err) {
				return err
			}
			return nil
		})
		if on.Err() != nil {
			break
		}
	}
	err = work.Wait()
	if cause := panicked.Load(); cause != nil {
		panic(cause)
	}
	if err != nil {
		return nil, err
	}
	return found, ctx.Err()
}
