package console

import (
	"fmt"
	"os"
	"os/exec"
)

// OpenPage shows a page in the user's browser: by the program that the variable BROWSER names, or else by the default of the desktop.
func OpenPage(path string) error {
	for _, program := range []string{os.Getenv("BROWSER"), "xdg-open", "open"} {
		if program == "" {
			continue
		}
		c := exec.Command(program, path)
		if c.Start() == nil {
			go c.Wait()
			return nil
		}
	}
	return fmt.Errorf("found no browser: open %s yourself, or set the variable BROWSER", path)
}
