//go:build linux && amd64

package linux

import (
	"strconv"
	"strings"
)

// synthCPUs are the files that show how many CPUs there are, if there is more than one (proc_cpuinfo(5), sysfs-devices-system-cpu of the kernel).
func synthCPUs(n int, path string) (synthNode, bool) {
	const root = "/sys/devices/system/cpu"
	all := "0-" + strconv.Itoa(n-1) + "\n"
	switch path {
	case "/proc/cpuinfo":
		one := strings.NewReplacer("siblings\t: 1", "siblings\t: "+strconv.Itoa(n), "cpu cores\t: 1", "cpu cores\t: "+strconv.Itoa(n)).Replace(fixedSynth[path])
		var b strings.Builder
		for i := range n {
			id := strconv.Itoa(i)
			b.WriteString(strings.NewReplacer("processor\t: 0", "processor\t: "+id, "core id\t\t: 0", "core id\t\t: "+id,
				"apicid\t\t: 0", "apicid\t\t: "+id).Replace(one))
		}
		return synthText(b.String()), true
	case "/proc/stat":
		var b strings.Builder
		for line := range strings.Lines(fixedSynth[path]) {
			if rest, is := strings.CutPrefix(line, "cpu0 "); is {
				for i := range n {
					b.WriteString("cpu" + strconv.Itoa(i) + " " + rest)
				}
				continue
			}
			b.WriteString(line)
		}
		return synthText(b.String()), true
	case root + "/online", root + "/possible", root + "/present", "/sys/devices/system/node/node0/cpulist", root + "/cpu0/topology/core_siblings_list":
		return synthText(all), true
	case root + "/kernel_max":
		return synthText(strconv.Itoa(n-1) + "\n"), true
	case root:
		names := fixedTree[root]
		for i := 1; i < n; i++ {
			names = append(names[:len(names):len(names)], "cpu"+strconv.Itoa(i))
		}
		return synthNames(names...), true
	}
	rest, _ := strings.CutPrefix(path, root+"/cpu")
	id, file, _ := strings.Cut(rest, "/")
	if i, err := strconv.Atoi(id); err != nil || i < 1 || i >= n {
		return synthNode{}, false
	}
	first := strings.TrimSuffix(root+"/cpu0/"+file, "/")
	if names, ok := fixedTree[first]; ok {
		return synthNames(names...), true
	}
	switch file {
	case "topology/core_id", "topology/thread_siblings_list":
		return synthText(id + "\n"), true
	case "topology/core_siblings_list":
		return synthText(all), true
	}
	text, ok := fixedSynth[first]
	return synthText(text), ok
}
