package config

import "slices"

// composeService is a service of a Compose file: a node without what is Bloodhound's own, and with what only Compose files
// can say.
var composeService = func() shape {
	s := service
	s.fields = slices.DeleteFunc(slices.Clone(service.fields), func(f field) bool {
		return slices.Contains([]string{"root", "role", "clock", "replicas", "build", "extends"}, f.name)
	})
	s.fields = append(s.fields,
		field{name: "build", shape: anyOf(aText, dockerBuild), says: "The image is built from a Dockerfile, without a daemon, unless it is there already (docs/reference/dockerfiles.md). Text is the context."},
		field{name: "extends", shape: anyOf(aText, of(
			field{name: "service", shape: aText, says: "The service whose keys this one has too."},
			field{name: "file", shape: aText, says: "The Compose file that has it.", def: "this one"},
		)), says: "Another service that this one begins with."},
	)
	return s
}()

// dockerBuild is how a service's image is built.
var dockerBuild = shape{kind: section, open: true, fields: []field{
	{name: "context", shape: aText, says: "The folder that the Dockerfile copies from.", def: "."},
	{name: "dockerfile", shape: aText, says: "The Dockerfile, relative to the context.", def: "Dockerfile"},
	{name: "dockerfile_inline", shape: aText, says: "What is in the Dockerfile, in the place of a file."},
	{name: "target", shape: aText, says: "The stage whose image it is.", def: "the last one"},
	{name: "args", shape: shape{kind: variables}, says: "Build arguments, for those that the Dockerfile declares by ARG."},
	{name: "additional_contexts", shape: shape{kind: variables}, says: "Further contexts by name: a folder, `service:NAME`, `docker-image://NAME` or `oci-layout://FOLDER`."},
	{name: "labels", shape: shape{kind: variables}, says: "Labels of the image."},
	{name: "secrets", shape: listOf(anyOf(aText, of(
		field{name: "source", shape: aText, says: "Its name at the top of the file."},
		field{name: "target", shape: aText, says: "Its id in RUN.", def: "its name"},
		field{name: "uid", shape: aText, idle: "RUN --mount says whose it is"},
		field{name: "gid", shape: aText, idle: "RUN --mount says whose it is"},
		field{name: "mode", shape: aText, idle: "RUN --mount says who may read it"},
	))), says: "The Compose file's secrets that RUN --mount=type=secret may read."},
	{name: "extra_hosts", shape: anyOf(texts, shape{kind: dictionary, item: &textOrAll}), says: "Lines for the hosts file of RUN."},
	{name: "shm_size", shape: shape{kind: size, min: 1}, says: "The size of /dev/shm in RUN.", def: "64m"},
	{name: "no_cache", shape: aFlag, says: "All steps are done anew each time.", def: "false"},
	{name: "no_cache_filter", shape: textOrAll, says: "Stages whose steps are done anew each time."},
	{name: "pull", shape: aFlag, says: "The images that stages begin with are asked for each time, also if the store has them.", def: "false"},
	{name: "platforms", shape: anyShape, idle: "the image is for linux/amd64, whose programs run here"},
	{name: "network", shape: aText, idle: "no RUN has a network"},
	{name: "ssh", shape: anyShape, idle: "nothing of this machine reaches a RUN; one that mounts it is an error"},
	{name: "tags", shape: anyShape, idle: "the store keeps the image by the service's name"},
	{name: "cache_from", shape: anyShape, idle: "the store has the cache"},
	{name: "cache_to", shape: anyShape, idle: "the store has the cache"},
	{name: "isolation", shape: anyShape, idle: "each RUN has a world of its own"},
	{name: "privileged", shape: anyShape, idle: noPrivileges},
	{name: "entitlements", shape: anyShape, idle: noPrivileges},
	{name: "ulimits", shape: anyShape, idle: "RUN has the limits of a world"},
	{name: "provenance", shape: anyShape, idle: "the image goes nowhere"},
	{name: "sbom", shape: anyShape, idle: "the image goes nowhere"},
}}

// includes is the key include of a Compose file.
var includes = listOf(anyOf(aText, of(
	field{name: "path", shape: textOrAll, says: "The file; several are merged."},
	field{name: "env_file", shape: textOrAll, says: "Files of variables for it."},
	field{name: "project_directory", shape: aText, says: "Where its relative paths start.", def: "its own folder"},
)))

// composeVolumes are the named volumes of a Compose file.
var composeVolumes = namedWith(shape{kind: section, open: true, empty: true, fields: []field{
	{name: "driver_opts", shape: shape{kind: dictionary, item: &aText}, says: "`{type: none, o: bind, device: FOLDER}` makes it a bind mount of FOLDER, `{type: tmpfs, device: tmpfs}` a tmpfs."},
	{name: "driver", shape: aText, idle: "all volumes are the engine's"},
	{name: "external", shape: anyShape, idle: "what is in it stays outside; it begins empty"},
	{name: "labels", shape: anyShape, idle: forPeople},
	{name: "name", shape: aText, idle: "volumes have the names that services use"},
}})

func filesOf(kind string, more ...field) shape {
	return namedWith(shape{kind: section, open: true, fields: append([]field{
		{name: "file", shape: aText, says: "The file that has it."},
		{name: "environment", shape: aText, says: "The variable that has it."},
		{name: "external", shape: aFlag, says: "It lies in Docker, which no world reaches: a service that uses it is an error.", def: "false"},
		{name: "labels", shape: anyShape, idle: forPeople},
		{name: "name", shape: aText, idle: kind + " have the names that services use"},
		{name: "template_driver", shape: anyShape, refused: "write the file as it is; there is no swarm here"},
	}, more...)})
}

var (
	composeSecrets = filesOf("secrets",
		field{name: "driver", shape: anyShape, refused: "give it `file:` or `environment:`; there is no swarm here"},
		field{name: "driver_opts", shape: anyShape, refused: "give it `file:` or `environment:`; there is no swarm here"})
	composeConfigs = filesOf("configs", field{name: "content", shape: aText, says: "What is in it."})
)

// fileUses are the keys secrets and configs of a service.
func fileUses(target string) shape {
	return listOf(anyOf(aText, of(
		field{name: "source", shape: aText, says: "Its name at the top of the file."},
		field{name: "target", shape: aText, says: "The file in the node.", def: target},
		field{name: "uid", shape: aText, says: "Its owner, a number.", def: "0"},
		field{name: "gid", shape: aText, says: "Its group, a number.", def: "0"},
		field{name: "mode", shape: aText, says: "Its permissions, such as 0440.", def: "0444"},
	)))
}

// deploy is what Compose took over from swarms.
var deploy = of(
	field{name: "replicas", shape: shape{kind: whole, max: MaxNodes}, says: "As `scale`."},
	field{name: "mode", shape: oneOf("replicated", "global", "replicated-job", "global-job"), says: "`global` is one node."},
	field{name: "resources", shape: of(
		field{name: "limits", shape: of(
			field{name: "cpus", shape: cpuShare, says: "As `cpus`."},
			field{name: "memory", shape: memoryLimit, says: "As `mem_limit`."},
			field{name: "pids", shape: taskLimit, says: "As `pids_limit`."},
		), says: "What the node may use."},
		field{name: "reservations", shape: anyShape, idle: "nodes do not compete"},
	), says: "Limits."},
	field{name: "restart_policy", shape: of(
		field{name: "condition", shape: oneOf("none", "on-failure", "any"), says: "As `restart`: `no`, `on-failure`, `always`. `restart` wins.", def: "any"},
		field{name: "max_attempts", shape: shape{kind: whole, max: 1e6}, says: "As the number of `on-failure:N`."},
		field{name: "delay", shape: aText, idle: noSwarm},
		field{name: "window", shape: aText, idle: noSwarm},
	), says: "What happens when the main process ends."},
	field{name: "endpoint_mode", shape: anyShape, idle: noSwarm},
	field{name: "labels", shape: anyShape, idle: forPeople},
	field{name: "placement", shape: anyShape, idle: noSwarm},
	field{name: "rollback_config", shape: anyShape, idle: noSwarm},
	field{name: "update_config", shape: anyShape, idle: noSwarm},
)

const (
	noSwarm   = "there is no swarm"
	noDevices = "remove it; a world has no devices of this machine"
)
