// Package docs has the pages of the documentation, for `bloodhound docs`.
package docs

import "embed"

// Pages are the Markdown files of this folder.
//
//go:embed *.md explanation/*.md how-to/*.md reference/*.md reference/commands/*.md reference/config/*.md
var Pages embed.FS
