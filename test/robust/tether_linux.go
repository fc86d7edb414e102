package robust

import (
	"os/exec"
	"syscall"
)

// tether has the kernel kill a program when this process ends in any way.
func tether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
