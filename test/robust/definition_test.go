package robust

import (
	"log"
	"path/filepath"
	"testing"
)

// TestDefinitions creates, uses and deletes definitions at two servers while they are killed.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	build(t)
	c := DefinitionConfig{Lives: 150, Clients: 8, Names: 3}
	if soaking {
		c.Lives = 3000
	}
	dir := workDir(t, "definitions")
	rec, err := RunDefinitions(c, programs, dir, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
		t.Error(err)
	}
	report(t, CheckDefinitions(rec))
	log.Printf("definitions: %s", rec.summary())
}
