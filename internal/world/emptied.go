package world

import "strings"

// emptied are the folders that every node begins with empty ones in place of: what lies there on the host comes and goes.
var emptied = []string{"/dev", "/tmp", "/run", "/var/tmp", "/var/run"}

// Emptied gives the folder around a path of the host that is empty on every node as it begins, if there is one.
func Emptied(path string) (folder string, ok bool) {
	for _, dir := range emptied {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return dir, true
		}
	}
	return "", false
}
