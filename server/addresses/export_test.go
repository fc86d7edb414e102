package addresses

import (
	"context"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// LeakRounds is how often in a row a port has to be found that nobody has.
const LeakRounds = leakRounds

// PortRepair is the repair of node ports.
type PortRepair = portRepair

// NewPortRepair returns one that logs to a log of the test.
func NewPortRepair(c *client.Client, a *ports.Allocator, log *zap.Logger) *PortRepair {
	return &portRepair{client: c, ports: a, events: controller.NewRecorder(c, "test", zap.NewNop()), log: log}
}

// Pass makes a pass.
func (r *portRepair) Pass(ctx context.Context) error { return r.pass(ctx) }

// Use has it repair the record of another range.
func (r *portRepair) Use(a *ports.Allocator) { r.ports = a }
