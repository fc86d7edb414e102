package server

import (
	"fmt"
	"os"
	"runtime"

	"go.uber.org/zap"
)

// dataMode is that of all folders the server makes, and without the right to search that of all files: there are keys and
// secrets among them.
const dataMode = 0o700

// makeDataDir makes the folder for what the server keeps, once and before anybody puts something into it: store,
// certificates and kubeconfig come at the same time.
//
// A folder that is open to others already is warned about and not refused: of a mounted volume the mode is often not ours
// to choose, and what the server makes in it is closed nevertheless.
func (c completed) makeDataDir() error {
	stores := c.Storage.Store == nil && c.standIn == nil && (c.Storage.Engine == StorageEmbedded || c.Storage.Engine == StorageFile)
	if !stores && !c.Serving.authority() && c.Authentication.ServiceAccounts.SigningKeyFile != "" {
		return nil
	}
	if err := os.MkdirAll(c.DataDir, dataMode); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	info, err := os.Stat(c.DataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if mode := info.Mode().Perm(); mode&^dataMode != 0 && runtime.GOOS != "windows" { // where modes say nothing
		c.Log.Warn("the data folder is open to others: it holds private keys and secrets, and should have mode 0700",
			zap.String("path", c.DataDir), zap.String("mode", fmt.Sprintf("%04o", mode)))
	}
	return nil
}
