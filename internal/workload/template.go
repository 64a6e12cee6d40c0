package workload

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// helper is the prefix of files beside test commands that these use.
const helper = "helper_"

// CheckTemplate looks on this machine at the test templates of a composer of spec, as its node will see them. The error is
// why it could not run them; strays are executables there that are no test commands by their names. A template in files that
// worlds make, or that no workload names, is left to the world.
func CheckTemplate(spec *world.Spec, w *world.Workload) (strays []string, err error) {
	dir := templateDir(spec, w)
	if dir == "" {
		return nil, nil
	}
	templates, err := templatesIn(dir)
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		if _, err := readTemplate(t); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(t)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(t, e.Name()))
			if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && prefixOf(e.Name()) == "" && !strings.HasPrefix(e.Name(), helper) {
				strays = append(strays, filepath.Join(t, e.Name()))
			}
		}
	}
	return strays, nil
}

// TemplateFiles are the files that lie in the test templates of a workload on this machine, its commands among them.
func TemplateFiles(spec *world.Spec, w *world.Workload) []string {
	var files []string
	dir := templateDir(spec, w)
	if dir == "" {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// templateDir is where a workload's test templates lie on this machine; empty if it has none here.
func templateDir(spec *world.Spec, w *world.Workload) string {
	dir := ""
	for i := range spec.Nodes {
		if n := &spec.Nodes[i]; n.Name == w.Node && w.Driver == "composer" {
			dir = onMachine(n, path.Clean(cmp.Or(w.Options["template"], templatesDir)))
		}
	}
	return dir
}

// onMachine is where a folder of a node lies on this machine; empty if it lies nowhere.
func onMachine(n *world.Node, dir string) string {
	root := n.Root
	if n.HasMachineFiles() {
		root = "/"
	}
	found, covered := filepath.Join(root, dir), "/"
	for _, v := range n.Volumes {
		target := path.Clean(v.Target)
		if rest, ok := strings.CutPrefix(dir+"/", strings.TrimRight(target, "/")+"/"); ok && len(target) >= len(covered) {
			covered, found = target, ""
			if v.Kind == world.Bind {
				found = filepath.Join(v.Source, rest)
			}
		}
	}
	if _, err := os.Stat(found); err != nil && len(n.Command) > 0 {
		return "" // the node's own program may make it
	}
	return found
}
