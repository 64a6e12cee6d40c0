package driverfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A world with a workload that needs bloodhound-drivers gets it, and a machine without it an error with the remedy. Other worlds do not ask for it.
func TestDriverForAWorld(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv(DriversVariable, "")
	spec := &world.Spec{Workloads: []world.Workload{{Name: "web", Driver: "http"}}}
	usual, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := For(spec); err != nil || got != usual || VariableFor(spec) != Variable {
		t.Errorf("http: %q, %v, %s", got, err, VariableFor(spec))
	}
	spec.Workloads = append(spec.Workloads, world.Workload{Name: "queue", Driver: "nats"})
	_, err = For(spec)
	var lacking engine.Mistakes
	if !errors.As(err, &lacking) || lacking[0].Name != "queue" || !strings.Contains(lacking[0].Remedy, "go install "+driversPath) {
		t.Errorf("without the program: %v", err)
	}
	other := filepath.Join(folder, DriversName)
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := For(spec); err == nil || !strings.Contains(err.Error(), "is another program") {
		t.Errorf("another program in PATH: %v", err)
	}
	t.Setenv(DriversVariable, other)
	if got, err := For(spec); err != nil || got != other || VariableFor(spec) != DriversVariable {
		t.Errorf("named: %q, %v, %s", got, err, VariableFor(spec))
	}
}
