package docker

// The names of fields are those of the API.

// Container describes a container to create (ContainerCreate).
type Container struct {
	Image        string
	Entrypoint   []string
	Cmd          []string
	Env          []string
	WorkingDir   string `json:",omitempty"`
	User         string `json:",omitempty"`
	Hostname     string `json:",omitempty"`
	Domainname   string `json:",omitempty"`
	StopSignal   string `json:",omitempty"`
	Labels       map[string]string
	Healthcheck  *Healthcheck `json:",omitempty"`
	OpenStdin    bool         `json:",omitempty"`
	StdinOnce    bool         `json:",omitempty"` // its end of the only connection ends standard input
	AttachStdin  bool         `json:",omitempty"`
	AttachStdout bool         `json:",omitempty"`
	AttachStderr bool         `json:",omitempty"`
	HostConfig   HostConfig
	// NetworkingConfig has one network; NetworkConnect adds others.
	NetworkingConfig *NetworkingConfig `json:",omitempty"`
}

// Healthcheck of the test NONE turns that of an image off.
type Healthcheck struct{ Test []string }

// HostConfig is the part of a container that depends on the machine.
type HostConfig struct {
	NetworkMode    string            `json:",omitempty"`
	CapAdd         []string          `json:",omitempty"`
	Mounts         []Mount           `json:",omitempty"`
	ExtraHosts     []string          `json:",omitempty"`
	DNSSearch      []string          `json:"DnsSearch,omitempty"`
	Sysctls        map[string]string `json:",omitempty"`
	ReadonlyRootfs bool              `json:",omitempty"`
	Init           *bool             `json:",omitempty"`
	GroupAdd       []string          `json:",omitempty"`
	OomScoreAdj    int               `json:",omitempty"`
	Memory         int64             `json:",omitempty"`
	NanoCPUs       int64             `json:"NanoCpus,omitempty"`
	PidsLimit      int64             `json:",omitempty"`
	ShmSize        int64             `json:",omitempty"`
	Ulimits        []Ulimit          `json:",omitempty"`
	LogConfig      LogConfig
}

// LogConfig of the type none has the daemon keep no log.
type LogConfig struct{ Type string }

// Ulimit is a limit of getrlimit(2); -1 is no limit.
type Ulimit struct {
	Name       string
	Soft, Hard int64
}

// Mount is a folder or file of a container.
type Mount struct {
	Type          string // bind, volume, tmpfs
	Source        string `json:",omitempty"`
	Target        string
	ReadOnly      bool           `json:",omitempty"`
	VolumeOptions *VolumeOptions `json:",omitempty"`
	TmpfsOptions  *TmpfsOptions  `json:",omitempty"`
}

// VolumeOptions configures a Mount of the type volume.
type VolumeOptions struct {
	NoCopy bool
}

// TmpfsOptions configures a Mount of the type tmpfs.
type TmpfsOptions struct {
	SizeBytes int64 `json:",omitempty"`
	Mode      int64 `json:",omitempty"`
}

// NetworkingConfig says which networks a container is created on.
type NetworkingConfig struct {
	EndpointsConfig map[string]Endpoint
}

// Endpoint is the place of a container on a network.
type Endpoint struct {
	Aliases           []string    `json:",omitempty"`
	MacAddress        string      `json:",omitempty"`
	IPAMConfig        *IPAMConfig `json:",omitempty"`
	IPAddress         string      `json:",omitempty"`
	GlobalIPv6Address string      `json:",omitempty"`
}

// IPAMConfig asks for addresses.
type IPAMConfig struct {
	IPv4Address string `json:",omitempty"`
	IPv6Address string `json:",omitempty"`
}

// Network describes a network to create.
type Network struct {
	Name       string
	Driver     string
	Internal   bool `json:",omitempty"`
	EnableIPv6 bool `json:",omitempty"`
	IPAM       IPAM
	Labels     map[string]string
}

// IPAM has the subnets of a network.
type IPAM struct {
	Config []Subnet `json:",omitempty"`
}

// Subnet is one of them.
type Subnet struct {
	Subnet  string
	Gateway string `json:",omitempty"`
}

// Volume describes a volume to create.
type Volume struct {
	Name       string
	Driver     string
	DriverOpts map[string]string `json:",omitempty"`
	Labels     map[string]string
}

// Exec is a program in a container that runs (ContainerExec).
type Exec struct {
	AttachStdin  bool
	AttachStdout bool
	AttachStderr bool
	Cmd          []string
	Env          []string
	User         string `json:",omitempty"`
	WorkingDir   string `json:",omitempty"`
}

// Inspected holds the fields that the engine reads when it inspects a container.
type Inspected struct {
	State struct {
		Status    string
		Running   bool
		OOMKilled bool
		ExitCode  int
	}
	NetworkSettings struct{ Networks map[string]Endpoint }
}

// Listed is a container in a list.
type Listed struct {
	ID      string `json:"Id"`
	State   string
	Created int64 // seconds since 1970
	Labels  map[string]string
}
