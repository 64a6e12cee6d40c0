//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/models"
)

// table writes what TLC finds in the models of a folder, a line each.
func table(jars []string, folder, only string, limit int, to io.Writer) error {
	list, err := models.Find(folder)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m models.Model) bool { return !strings.Contains(m.Config, only) })
	rows, err := models.Ask(jars, folder, list, limit)
	for _, r := range rows {
		fmt.Fprintln(to, r)
	}
	return err
}
