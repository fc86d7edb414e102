package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaws(t *testing.T) {
	storagetest.Run(t, storagetest.Engine{
		Open: func(*testing.T) storage.Store { return memory.New(memory.Config{}) },
	})
}
