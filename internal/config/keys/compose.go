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
		return slices.Contains([]string{"root", "role", "clock", "replicas", "count", "build", "extends", "releases", "downgrade", "replacement"}, f.Name)
	})
	s.Fields = append(s.Fields,
		field{Name: "count", Shape: anyShape, Refused: "write `scale:`, or `count:` for a node of bloodhound.yaml"},
		field{Name: "build", Shape: anyOf(aText, dockerBuild),
			Says: "Builds the image from a Dockerfile unless it exists (docs/reference/dockerfiles.md). Text is the " +
				"context."},
		field{Name: "extends", Shape: anyOf(aText, sectionOf(
			field{Name: "service", Shape: aText, Says: "Service to extend."},
			field{Name: "file", Shape: aText, Says: "Compose file of that service.", Default: "this file"},
		)), Says: "Service whose keys this service inherits."},
	)
	return s
}()

// dockerBuild is how a service's image is built.
var dockerBuild = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "context", Shape: aText, Says: "Folder from which the Dockerfile copies.", Default: "."},
	{Name: "dockerfile", Shape: aText, Says: "Dockerfile, relative to the context.", Default: "Dockerfile"},
	{Name: "dockerfile_inline", Shape: aText, Says: "Contents of the Dockerfile, instead of a file."},
	{Name: "target", Shape: aText, Says: "Stage to build.", Default: "the last stage"},
	{Name: "args", Shape: shape{Kind: schema.Variables}, Says: "Values for ARG."},
	{Name: "additional_contexts", Shape: shape{Kind: schema.Variables},
		Says: "More contexts by name: a folder, `service:NAME`, `docker-image://NAME` or `oci-layout://FOLDER`."},
	{Name: "labels", Shape: shape{Kind: schema.Variables}, Says: "Labels of the image."},
	{Name: "secrets", Shape: listOf(anyOf(aText, sectionOf(
		field{Name: "source", Shape: aText, Says: "Name at the top level of the file."},
		field{Name: "target", Shape: aText, Says: "Id in RUN.", Default: "the name"},
		field{Name: "uid", Shape: aText, Idle: "RUN --mount sets the owner"},
		field{Name: "gid", Shape: aText, Idle: "RUN --mount sets the owner"},
		field{Name: "mode", Shape: aText, Idle: "RUN --mount sets the permissions"},
	))), Says: "Secrets that RUN --mount=type=secret may read."},
	{Name: "extra_hosts", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &textOrAll}), Says: "Entries for /etc/hosts in RUN."},
	{Name: "shm_size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "Size of /dev/shm in RUN.", Default: "64m"},
	{Name: "no_cache", Shape: aFlag, Says: "Runs all steps each time.", Default: "false"},
	{Name: "no_cache_filter", Shape: textOrAll, Says: "Stages whose steps run each time."},
	{Name: "pull", Shape: aFlag, Says: "Pulls base images each time.", Default: "false"},
	{Name: "platforms", Shape: anyShape, Idle: "the image is for linux/amd64, the platform of worlds"},
	{Name: "network", Shape: aText, Idle: "RUN has no network"},
	{Name: "ssh", Shape: anyShape, Idle: "RUN has no access to the host; a RUN that mounts an SSH socket is an error"},
	{Name: "tags", Shape: anyShape, Idle: "the store keeps the image under the name of the service"},
	{Name: "cache_from", Shape: anyShape, Idle: "the store has the cache"},
	{Name: "cache_to", Shape: anyShape, Idle: "the store has the cache"},
	{Name: "isolation", Shape: anyShape, Idle: "each RUN has a world of its own"},
	{Name: "privileged", Shape: anyShape, Idle: noPrivileges},
	{Name: "entitlements", Shape: anyShape, Idle: noPrivileges},
	{Name: "ulimits", Shape: anyShape, Idle: "RUN has the limits of a world"},
	{Name: "provenance", Shape: anyShape, Idle: "the image is not published"},
	{Name: "sbom", Shape: anyShape, Idle: "the image is not published"},
}}

// includes is the key include of a Compose file.
var includes = listOf(anyOf(aText, sectionOf(
	field{Name: "path", Shape: textOrAll, Says: "Path of the file. Several files are merged."},
	field{Name: "env_file", Shape: textOrAll, Says: "Files of variables for the included file."},
	field{Name: "project_directory", Shape: aText, Says: "Base folder for relative paths.", Default: "the folder of the file"},
)))

// composeVolumes are the named volumes of a Compose file.
var composeVolumes = namedWith(shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "driver_opts", Shape: shape{Kind: schema.Dictionary, Item: &aText},
		Says: "`{type: none, o: bind, device: FOLDER}` is a bind mount of FOLDER, `{type: tmpfs, device: tmpfs}` a " +
			"tmpfs."},
	{Name: "driver", Shape: aText, Idle: "the engine simulates all volumes"},
	{Name: "external", Shape: anyShape, Idle: "the contents of an external volume are not available; it starts empty"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
	{Name: "name", Shape: aText, Idle: "volumes keep the names that services use"},
}})

func filesOf(kind string, more ...field) shape {
	return namedWith(shape{Kind: schema.Section, Open: true, Fields: append([]field{
		{Name: "file", Shape: aText, Says: "File with the contents."},
		{Name: "environment", Shape: aText, Says: "Environment variable with the contents."},
		{Name: "external", Shape: aFlag, Says: "Exists in Docker. A service that uses it is an error.", Default: "false"},
		{Name: "labels", Shape: anyShape, Idle: forPeople},
		{Name: "name", Shape: aText, Idle: kind + " have the names that services use"},
		{Name: "template_driver", Shape: anyShape, Refused: "write the file without a template; a world is not a swarm"},
	}, more...)})
}

var (
	composeSecrets = filesOf("secrets",
		field{Name: "driver", Shape: anyShape, Refused: "use `file:` or `environment:`; a world is not a swarm"},
		field{Name: "driver_opts", Shape: anyShape, Refused: "use `file:` or `environment:`; a world is not a swarm"})
	composeConfigs = filesOf("configs", field{Name: "content", Shape: aText, Says: "Contents."})
)

// fileUses are the keys secrets and configs of a service.
func fileUses(target string) shape {
	return listOf(anyOf(aText, sectionOf(
		field{Name: "source", Shape: aText, Says: "Name at the top level of the file."},
		field{Name: "target", Shape: aText, Says: "Path of the file in the node.", Default: target},
		field{Name: "uid", Shape: aText, Says: "Numeric id of the owner.", Default: "0"},
		field{Name: "gid", Shape: aText, Says: "Numeric id of the group.", Default: "0"},
		field{Name: "mode", Shape: aText, Says: "Permissions, such as 0440.", Default: "0444"},
	)))
}

// deploy lists the keys of a service's section `deploy`, which Compose inherited from swarms.
var deploy = sectionOf(
	field{Name: "replicas", Shape: shape{Kind: schema.Whole, Max: MaxNodes}, Says: "As `scale`."},
	field{Name: "mode", Shape: oneOf("replicated", "global", "replicated-job", "global-job"), Says: "`global` is one node."},
	field{Name: "resources", Shape: sectionOf(
		field{Name: "limits", Shape: sectionOf(
			field{Name: "cpus", Shape: cpuShare, Says: "As `cpus`."},
			field{Name: "memory", Shape: memoryLimit, Says: "As `mem_limit`."},
			field{Name: "pids", Shape: taskLimit, Says: "As `pids_limit`."},
		), Says: "Limits of the node."},
		field{Name: "reservations", Shape: anyShape, Idle: "nodes do not compete for resources"},
	), Says: "Resources."},
	field{Name: "restart_policy", Shape: sectionOf(
		field{Name: "condition", Shape: oneOf("none", "on-failure", "any"),
			Says: "As `restart` (`no`, `on-failure`, `always`), which takes precedence.", Default: "any"},
		field{Name: "max_attempts", Shape: shape{Kind: schema.Whole, Max: 1e6}, Says: "As N of `on-failure:N`."},
		field{Name: "delay", Shape: aText, Idle: noSwarm},
		field{Name: "window", Shape: aText, Idle: noSwarm},
	), Says: "Restart policy."},
	field{Name: "endpoint_mode", Shape: anyShape, Idle: noSwarm},
	field{Name: "labels", Shape: anyShape, Idle: forPeople},
	field{Name: "placement", Shape: anyShape, Idle: noSwarm},
	field{Name: "rollback_config", Shape: anyShape, Idle: noSwarm},
	field{Name: "update_config", Shape: anyShape, Idle: noSwarm},
)

const (
	noSwarm   = "a world is not a swarm"
	noDevices = "remove it; a world has no devices of the host"
)
