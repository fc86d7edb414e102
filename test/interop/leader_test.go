//go:build cluster

package interop

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestLeaderElection hands a Lease over from a leader that releases it, and from a leader that
// dies.
func TestLeaderElection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		release bool
	}{{"released", true}, {"abandoned", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := shared.client(t)
			ns := namespace(t, c)
			var leading atomic.Int32
			started := make(chan string, 2)
			run := func(id string) (stop func()) {
				return background(t, func(ctx context.Context) {
					leaderelection.RunOrDie(ctx, leaderConfig(c, ns, id, tt.release, leaderelection.LeaderCallbacks{
						OnStartedLeading: func(ctx context.Context) {
							if n := leading.Add(1); n != 1 {
								t.Errorf("%d leaders", n)
							}
							started <- id
							<-ctx.Done()
							leading.Add(-1)
						},
						OnStoppedLeading: func() {},
					}))
				})
			}
			stopA := run("a")
			if got := <-started; got != "a" {
				t.Fatalf("%s leads, want a", got)
			}
			run("b")
			select {
			case got := <-started:
				t.Fatalf("%s leads beside a", got)
			case <-time.After(1500 * time.Millisecond):
			}
			stopA()
			select {
			case got := <-started:
				if got != "b" {
					t.Errorf("%s leads, want b", got)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("b does not take over")
			}
			eventually(t, 5*time.Second, func() error {
				lease, err := c.CoordinationV1().Leases(ns).Get(t.Context(), "leader", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if holder, moves := *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions; holder != "b" || moves < 1 {
					return fmt.Errorf("the lease is %s's after %d transitions", holder, moves)
				}
				return nil
			})
		})
	}
}

func leaderConfig(c kubernetes.Interface, ns, id string, release bool, callbacks leaderelection.LeaderCallbacks) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: ns, Name: "leader"},
			Client:     c.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 200 * time.Millisecond,
		ReleaseOnCancel: release, Callbacks: callbacks,
	}
}
