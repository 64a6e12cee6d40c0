package config

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestSysctls(t *testing.T) {
	dir := project(t, `bloodhound.yaml
compose: compose.yaml
nodes:
  n1:
    command: x
    sysctls: [net.core.somaxconn=1024, net/ipv4/conf/eth0.5/rp_filter=0x2, "net.ipv4.ip_local_port_range= 20000  20100", net.core.somaxconn=7]
  n3: {command: x, domainname: here.test, sysctls: {kernel.domainname: there.test, kernel.shmmax: 18446744073692774399, kernel.sem: 250 32000 32 128}}
`, "compose.yaml\nservices:\n  n2:\n    image: x\n    command: x\n    sysctls: {net.ipv4.tcp_syncookies: 0, net.ipv4.tcp_congestion_control: bbr}\n")
	r := loaded(t, Options{Path: filepath.Join(dir, "bloodhound.yaml"), Images: anyImage})
	for name, want := range map[string][]world.Sysctl{
		"n1": {{Name: "net.core.somaxconn", Value: "7"}, {Name: "net.ipv4.conf.eth0/5.rp_filter", Value: "2"},
			{Name: "net.ipv4.ip_local_port_range", Value: "20000\t20100"}},
		"n2": {{Name: "net.ipv4.tcp_congestion_control", Value: "bbr"}, {Name: "net.ipv4.tcp_syncookies", Value: "0"}},
		"n3": {{Name: "kernel.domainname", Value: "there.test"}, {Name: "kernel.sem", Value: "250\t32000\t32\t128"},
			{Name: "kernel.shmmax", Value: "18446744073692774399"}},
	} {
		if got := node1(t, r, name).Sysctls; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, note := range []string{"accepted, no effect here: programs can only read the value, at /proc/sys/net/ipv4/tcp_syncookies",
		"accepted, no effect here: programs can only read the value, at /proc/sys/net/ipv4/conf/eth0.5/rp_filter"} {
		if !noted(r, note) {
			t.Errorf("no note %q in %v", note, r.Notes)
		}
	}
	if noted(r, "somaxconn") || noted(r, "shmmax") {
		t.Errorf("notes for what has an effect: %v", r.Notes)
	}
}

func TestWrongSysctls(t *testing.T) {
	for written, want := range map[string]string{
		"{vm.max_map_count: 262144}":                             "sysctls.vm.max_map_count: Docker does not allow this setting, since it is not per container",
		"[net.core.rmem_max=1]":                                  "net.core.rmem_max: Docker does not allow this setting, since it is not per container",
		"{net.core.somaxcon: 1}":                                 `did you mean "net.core.somaxconn"?`,
		"{kernel.hostname: web}":                                 "write `hostname: web` for the node",
		"{kernel.pid_max: 1}":                                    "kernel.pid_max: Docker does not allow this setting",
		"{net.core.somaxconn: many}":                             `net.core.somaxconn is a number, not "many"`,
		"{net.core.somaxconn: true}":                             `net.core.somaxconn is a number, not "true"`,
		"{net.core.somaxconn: -1}":                               "net.core.somaxconn is from 0 to 2147483647, not -1",
		"[net.core.somaxconn]":                                   "net.core.somaxconn has no value",
		"{net.core.somaxconn: 1 2}":                              `net.core.somaxconn is one number, not "1 2"`,
		"{net.ipv4.ip_local_port_range: 1024}":                   `net.ipv4.ip_local_port_range is 2 numbers, not "1024"`,
		"{net.ipv4.ip_local_port_range: 5000 4000}":              "5000 is above 4000",
		"{net.ipv4.ip_local_port_range: 1 70000}":                "is from 1 to 65535, not 70000",
		"{net.ipv4.ip_unprivileged_port_start: 40000}":           "only root may use ports below 40000",
		"{net.ipv4.tcp_syncookies: maybe}":                       `net.ipv4.tcp_syncookies is a number, not "maybe"`,
		"{net.ipv4.tcp_keepalive_probes: 999999999999999999999}": "net.ipv4.tcp_keepalive_probes is out of range",
		"{net.nowhere.thing: 1}":                                 "net.nowhere.thing: Docker does not allow this setting",
		"{net.ipv4.conf.: 1}":                                    "Docker does not allow this setting",
		"{net.ipv4.tcp_syncookies: 0}\n    network_mode: host":   "Docker does not allow this setting with `network_mode: host`",
	} {
		wrongNode(t, "sysctls: "+written, want)
	}
}
