package core

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/storage"
)

// revisionStore is a store with only one method: its revision, which may fail.
type revisionStore struct {
	storage.Store
	err error
}

func (s revisionStore) Revision(ctx context.Context) (storage.Revision, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return 0, errors.New("asked without a limit")
	}
	return 1, s.err
}

func TestComponentStatuses(t *testing.T) {
	o := componentStatuses()
	const unknown = "Unhealthy  this server does not look for one"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, "etcd-0 Healthy ok "},
		{errors.New("down"), "etcd-0 Unhealthy  down"},
	} {
		var got []string
		for _, obj := range o.Compute(t.Context(), revisionStore{err: tt.err}) {
			got = append(got, fmt.Sprintf("%s %s %s %s", o.Table.Cells(obj, testTime)...))
		}
		if want := []string{"controller-manager " + unknown, tt.want, "scheduler " + unknown}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	other := &corev1.ComponentStatus{Conditions: []corev1.ComponentCondition{{Type: "Other"}}}
	if got := fmt.Sprint(o.Table.Cells(other, testTime)); got != "[ Unknown  ]" {
		t.Errorf("without the condition: got %s", got)
	}
}
