package keys

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

// composeService is a service of a Compose file: a node without what is Bloodhound's own, and with what only Compose files
// can say.
var composeService = func() shape {
	s := Service
	s.Fields = slices.DeleteFunc(slices.Clone(Service.Fields), func(f schema.Field) bool {
		return slices.Contains([]string{"root", "role", "clock", "replicas", "build", "extends"}, f.Name)
	})
	s.Fields = append(s.Fields,
		field{Name: "build", Shape: anyOf(aText, dockerBuild), Says: "The image is built from a Dockerfile, without a daemon, unless it is there already (docs/reference/dockerfiles.md). Text is the context."},
		field{Name: "extends", Shape: anyOf(aText, of(
			field{Name: "service", Shape: aText, Says: "The service whose keys this one has too."},
			field{Name: "file", Shape: aText, Says: "The Compose file that has it.", Default: "this one"},
		)), Says: "Another service that this one begins with."},
	)
	return s
}()

// dockerBuild is how a service's image is built.
var dockerBuild = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "context", Shape: aText, Says: "The folder that the Dockerfile copies from.", Default: "."},
	{Name: "dockerfile", Shape: aText, Says: "The Dockerfile, relative to the context.", Default: "Dockerfile"},
	{Name: "dockerfile_inline", Shape: aText, Says: "What is in the Dockerfile, in the place of a file."},
	{Name: "target", Shape: aText, Says: "The stage whose image it is.", Default: "the last one"},
	{Name: "args", Shape: shape{Kind: schema.Variables}, Says: "Build arguments, for those that the Dockerfile declares by ARG."},
	{Name: "additional_contexts", Shape: shape{Kind: schema.Variables}, Says: "Further contexts by name: a folder, `service:NAME`, `docker-image://NAME` or `oci-layout://FOLDER`."},
	{Name: "labels", Shape: shape{Kind: schema.Variables}, Says: "Labels of the image."},
	{Name: "secrets", Shape: listOf(anyOf(aText, of(
		field{Name: "source", Shape: aText, Says: "Its name at the top of the file."},
		field{Name: "target", Shape: aText, Says: "Its id in RUN.", Default: "its name"},
		field{Name: "uid", Shape: aText, Idle: "RUN --mount says whose it is"},
		field{Name: "gid", Shape: aText, Idle: "RUN --mount says whose it is"},
		field{Name: "mode", Shape: aText, Idle: "RUN --mount says who may read it"},
	))), Says: "The Compose file's secrets that RUN --mount=type=secret may read."},
	{Name: "extra_hosts", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &textOrAll}), Says: "Lines for the hosts file of RUN."},
	{Name: "shm_size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "The size of /dev/shm in RUN.", Default: "64m"},
	{Name: "no_cache", Shape: aFlag, Says: "All steps are done anew each time.", Default: "false"},
	{Name: "no_cache_filter", Shape: textOrAll, Says: "Stages whose steps are done anew each time."},
	{Name: "pull", Shape: aFlag, Says: "The images that stages begin with are asked for each time, also if the store has them.", Default: "false"},
	{Name: "platforms", Shape: anyShape, Idle: "the image is for linux/amd64, whose programs run here"},
	{Name: "network", Shape: aText, Idle: "no RUN has a network"},
	{Name: "ssh", Shape: anyShape, Idle: "nothing of this machine reaches a RUN; one that mounts it is an error"},
	{Name: "tags", Shape: anyShape, Idle: "the store keeps the image by the service's name"},
	{Name: "cache_from", Shape: anyShape, Idle: "the store has the cache"},
	{Name: "cache_to", Shape: anyShape, Idle: "the store has the cache"},
	{Name: "isolation", Shape: anyShape, Idle: "each RUN has a world of its own"},
	{Name: "privileged", Shape: anyShape, Idle: noPrivileges},
	{Name: "entitlements", Shape: anyShape, Idle: noPrivileges},
	{Name: "ulimits", Shape: anyShape, Idle: "RUN has the limits of a world"},
	{Name: "provenance", Shape: anyShape, Idle: "the image goes nowhere"},
	{Name: "sbom", Shape: anyShape, Idle: "the image goes nowhere"},
}}

// includes is the key include of a Compose file.
var includes = listOf(anyOf(aText, of(
	field{Name: "path", Shape: textOrAll, Says: "The file; several are merged."},
	field{Name: "env_file", Shape: textOrAll, Says: "Files of variables for it."},
	field{Name: "project_directory", Shape: aText, Says: "Where its relative paths start.", Default: "its own folder"},
)))

// composeVolumes are the named volumes of a Compose file.
var composeVolumes = namedWith(shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "driver_opts", Shape: shape{Kind: schema.Dictionary, Item: &aText}, Says: "`{type: none, o: bind, device: FOLDER}` makes it a bind mount of FOLDER, `{type: tmpfs, device: tmpfs}` a tmpfs."},
	{Name: "driver", Shape: aText, Idle: "all volumes are the engine's"},
	{Name: "external", Shape: anyShape, Idle: "what is in it stays outside; it begins empty"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
	{Name: "name", Shape: aText, Idle: "volumes have the names that services use"},
}})

func filesOf(kind string, more ...field) shape {
	return namedWith(shape{Kind: schema.Section, Open: true, Fields: append([]field{
		{Name: "file", Shape: aText, Says: "The file that has it."},
		{Name: "environment", Shape: aText, Says: "The variable that has it."},
		{Name: "external", Shape: aFlag, Says: "It lies in Docker, which no world reaches: a service that uses it is an error.", Default: "false"},
		{Name: "labels", Shape: anyShape, Idle: forPeople},
		{Name: "name", Shape: aText, Idle: kind + " have the names that services use"},
		{Name: "template_driver", Shape: anyShape, Refused: "write the file as it is; there is no swarm here"},
	}, more...)})
}

var (
	composeSecrets = filesOf("secrets",
		field{Name: "driver", Shape: anyShape, Refused: "give it `file:` or `environment:`; there is no swarm here"},
		field{Name: "driver_opts", Shape: anyShape, Refused: "give it `file:` or `environment:`; there is no swarm here"})
	composeConfigs = filesOf("configs", field{Name: "content", Shape: aText, Says: "What is in it."})
)

// fileUses are the keys secrets and configs of a service.
func fileUses(target string) shape {
	return listOf(anyOf(aText, of(
		field{Name: "source", Shape: aText, Says: "Its name at the top of the file."},
		field{Name: "target", Shape: aText, Says: "The file in the node.", Default: target},
		field{Name: "uid", Shape: aText, Says: "Its owner, a number.", Default: "0"},
		field{Name: "gid", Shape: aText, Says: "Its group, a number.", Default: "0"},
		field{Name: "mode", Shape: aText, Says: "Its permissions, such as 0440.", Default: "0444"},
	)))
}

// deploy is what Compose took over from swarms.
var deploy = of(
	field{Name: "replicas", Shape: shape{Kind: schema.Whole, Max: MaxNodes}, Says: "As `scale`."},
	field{Name: "mode", Shape: oneOf("replicated", "global", "replicated-job", "global-job"), Says: "`global` is one node."},
	field{Name: "resources", Shape: of(
		field{Name: "limits", Shape: of(
			field{Name: "cpus", Shape: cpuShare, Says: "As `cpus`."},
			field{Name: "memory", Shape: memoryLimit, Says: "As `mem_limit`."},
			field{Name: "pids", Shape: taskLimit, Says: "As `pids_limit`."},
		), Says: "What the node may use."},
		field{Name: "reservations", Shape: anyShape, Idle: "nodes do not compete"},
	), Says: "Limits."},
	field{Name: "restart_policy", Shape: of(
		field{Name: "condition", Shape: oneOf("none", "on-failure", "any"), Says: "As `restart`: `no`, `on-failure`, `always`. `restart` wins.", Default: "any"},
		field{Name: "max_attempts", Shape: shape{Kind: schema.Whole, Max: 1e6}, Says: "As the number of `on-failure:N`."},
		field{Name: "delay", Shape: aText, Idle: noSwarm},
		field{Name: "window", Shape: aText, Idle: noSwarm},
	), Says: "What happens when the main process ends."},
	field{Name: "endpoint_mode", Shape: anyShape, Idle: noSwarm},
	field{Name: "labels", Shape: anyShape, Idle: forPeople},
	field{Name: "placement", Shape: anyShape, Idle: noSwarm},
	field{Name: "rollback_config", Shape: anyShape, Idle: noSwarm},
	field{Name: "update_config", Shape: anyShape, Idle: noSwarm},
)

const (
	noSwarm   = "there is no swarm"
	noDevices = "remove it; a world has no devices of this machine"
)
