// Command examples runs the models of a checkout of tlaplus/Examples, and compares the numbers of distinct states with those of its manifests.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/tla"
)

type manifest struct {
	Modules []struct {
		Path   string `json:"path"`
		Models []struct {
			Path     string          `json:"path"`
			Mode     json.RawMessage `json:"mode"`
			Result   string          `json:"result"`
			Distinct *int            `json:"distinctStates"`
			Runtime  string          `json:"runtime"`
		} `json:"models"`
	} `json:"modules"`
}

func main() {
	root := os.Args[1]
	limit, _ := time.ParseDuration(os.Args[2])
	only := ""
	if len(os.Args) > 3 {
		only = os.Args[3]
	}
	files, _ := filepath.Glob(filepath.Join(root, "specifications", "*", "manifest.json"))
	sort.Strings(files)
	count := map[string]int{}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		var m manifest
		if err := json.Unmarshal(b, &m); err != nil {
			fmt.Println(f, err)
			continue
		}
		for _, mod := range m.Modules {
			for _, model := range mod.Models {
				mode := strings.Trim(string(model.Mode), `"`)
				if mode == "symbolic" || !strings.Contains(model.Path, only) {
					continue
				}
				begin := time.Now()
				verdict := run(filepath.Join(root, mod.Path), filepath.Join(root, model.Path), mode, model.Result, model.Distinct, limit)
				count[strings.SplitN(verdict, ":", 2)[0]]++
				fmt.Printf("%-70s %-8s %6.1fs %s\n", strings.TrimPrefix(model.Path, "specifications/"), model.Runtime, time.Since(begin).Seconds(), verdict)
			}
		}
	}
	fmt.Println(count)
}

func run(module, cfg, mode, result string, want *int, limit time.Duration) (verdict string) {
	defer func() {
		if r := recover(); r != nil {
			verdict = fmt.Sprintf("CRASH: %v", r)
		}
	}()
	config, err := tla.ReadConfig(cfg)
	if err != nil {
		return "CONFIG: " + err.Error()
	}
	spec, err := tla.Load(module, config)
	if err != nil {
		return "LOAD: " + err.Error()
	}
	r, err := tla.Check(spec, tla.Options{Time: limit})
	if err != nil {
		return "EVAL: " + err.Error()
	}
	if r.Stopped != "" {
		return fmt.Sprintf("LIMIT: %s: %d distinct states, %d left", r.Stopped, r.Distinct, r.Left)
	}
	found := "success"
	if len(r.Violations) > 0 {
		v := r.Violations[0]
		found = string(v.Kind) + " " + v.Name
	}
	switch {
	case want != nil && *want != r.Distinct && len(r.Violations) == 0:
		return fmt.Sprintf("DIFFERS: %d, expected %d (%s, expected %s)", r.Distinct, *want, found, result)
	case (found == "success") != (result == "success"):
		return fmt.Sprintf("RESULT: %s, expected %s, %d distinct", found, result, r.Distinct)
	case want == nil:
		return fmt.Sprintf("ran: %d distinct, %s", r.Distinct, found)
	}
	return fmt.Sprintf("agrees: %d, %s", r.Distinct, found)
}
