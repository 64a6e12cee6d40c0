//go:build embed_driver

package driverfile

import _ "embed"

// embedded is an archive by Pack. `make build` writes it before it builds bloodhound.
//
//go:embed bloodhound-driver.pack
var embedded []byte
