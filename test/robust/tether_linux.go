package robust

import (
	"os/exec"
	"syscall"
)

// tether has a program die with this process, however that ends.
func tether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
