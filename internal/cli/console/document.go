package console

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// ErrorDocument is the JSON document of any verb that ends with an error.
type ErrorDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb,omitempty"`
	ExitCode   int    `json:"exit_code"`
	Error      string `json:"error"` // as for people
	// Mistakes are those of a configuration, each with its place.
	Mistakes []mistake `json:"mistakes,omitempty"`
}

type mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // from 1 on
	Column  int    `json:"column,omitempty"` // from 1 on, in characters
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// NewErrorDocument makes the document of a verb that ends with an error.
func NewErrorDocument(verb *cobra.Command, err error) ErrorDocument {
	d := ErrorDocument{Bloodhound: program.Version(), ExitCode: CodeOf(err), Error: err.Error()}
	if verb.HasParent() {
		d.Verb = verb.Name()
	}
	var many config.Errors
	var one *config.Error
	var lacking engine.Mistakes
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = config.Errors{one}
	case errors.As(err, &lacking):
		for _, m := range lacking {
			d.Mistakes = append(d.Mistakes, mistake{Message: m.Place() + ": " + m.Problem, Remedy: m.Remedy})
		}
	}
	for _, m := range many {
		d.Mistakes = append(d.Mistakes, mistake{m.File, m.Line, m.Column, m.Message, m.Remedy})
	}
	return d
}

// WantsJSON reports whether a verb was asked for its JSON document. Flags that could not be read are looked at as they
// were written.
func (a *App) WantsJSON(verb *cobra.Command, args []string) bool {
	if a.Misused {
		if end := slices.Index(args, "--"); end >= 0 {
			args = args[:end]
		}
		return slices.ContainsFunc(args, func(arg string) bool {
			return arg == "--json" || strings.HasPrefix(arg, "--json=") && arg != "--json=false"
		})
	}
	f := verb.Flags().Lookup("json")
	return f != nil && f.Value.String() == "true"
}

// PrintJSON writes the one document of --json.
func (a *App) PrintJSON(v any) error {
	a.Printed = true
	enc := json.NewEncoder(a.JSON)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return Failed(err)
	}
	return nil
}
