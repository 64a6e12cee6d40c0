package model

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla"
)

// modelFiles reads the configuration of a specification: the one that is named, or else that beside it, or else that in its file.
func modelFiles(file string, named *string) (*tla.Config, string, error) {
	if !strings.HasSuffix(file, ".tla") {
		file += ".tla"
	}
	if _, err := os.Stat(file); err != nil {
		return nil, file, fmt.Errorf("cannot read the specification: %w", err)
	}
	beside := *named == ""
	switch {
	case beside:
		*named = strings.TrimSuffix(file, ".tla") + ".cfg"
	case !strings.HasSuffix(*named, ".cfg") && !strings.HasSuffix(*named, ".tla"):
		*named += ".cfg"
	}
	config, err := tla.ReadConfig(*named)
	if beside && errors.Is(err, os.ErrNotExist) {
		if within, failed := tla.ReadConfig(file); !errors.Is(failed, tla.ErrNoConfig) {
			*named, config, err = file, within, failed
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, file, fmt.Errorf("cannot read the configuration: %w\nA model needs one, with INIT and NEXT or "+
			"SPECIFICATION, the constants and what to check. Give another file with --config", err)
	}
	return config, file, err
}
