// Package manpages makes manual pages of section 1 from the commands of a program. It is apart from package program because the
// programs themselves do not link the library that writes such pages.
package manpages

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Write writes a page of each command into a folder that exists. Pages have the time and the version of a release.
func Write(folder string, root *cobra.Command, at time.Time, version string) error {
	root.DisableAutoGenTag = true
	appendExitCodes(root)
	header := &doc.GenManHeader{Section: "1", Date: &at, Source: "Bloodhound " + version, Manual: "Bloodhound"}
	return doc.GenManTree(root, header, folder)
}

// appendExitCodes adds the exit codes of each command to its description, which is all that its page shows.
func appendExitCodes(c *cobra.Command) {
	if exits := program.ExitLines(c); exits != nil {
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		c.Long += "\n\nExit codes:\n\n    " + strings.Join(exits, "\n    ")
	}
	for _, sub := range c.Commands() {
		appendExitCodes(sub)
	}
}
