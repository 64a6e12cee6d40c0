//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/models"
)

// chunk is how many models are written at once.
const chunk = 25

// table writes what TLC finds in the models of a folder, a line each.
func table(jars []string, folder, only string, limit int, to io.Writer) error {
	list, err := models.Find(folder)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m models.Model) bool { return !strings.Contains(m.Config, only) })
	for some := range slices.Chunk(list, chunk) {
		rows, err := models.Ask(jars, folder, some, limit)
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintln(to, r)
		}
	}
	return nil
}
