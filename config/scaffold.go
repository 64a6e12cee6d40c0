package config

import _ "embed"

// Scaffold is the bloodhound.yaml that `bloodhound init` writes.
//
//go:embed scaffold.yaml
var Scaffold []byte
