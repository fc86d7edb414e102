package addresses

import (
	"context"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// LeakRounds is the number of passes in a row that must find a port leaked.
const LeakRounds = leakRounds

// PortRepair is the repair of node ports.
type PortRepair = portRepair

// NewPortRepair returns a repair of node ports that logs to log.
func NewPortRepair(c *client.Client, a *ports.Allocator, log *zap.Logger) *PortRepair {
	return &portRepair{client: c, ports: a, events: controller.NewRecorder(c, "test", zap.NewNop()), log: log}
}

// Pass runs one pass of the repair.
func (r *portRepair) Pass(ctx context.Context) error { return r.pass(ctx) }

// Use makes the repair use another allocator.
func (r *portRepair) Use(a *ports.Allocator) { r.ports = a }
