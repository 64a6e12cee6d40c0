// Command bench prints the figures that the project claims, measured on this machine in one run: `make bench`.
// RESULTS.md has the last ones. They say nothing of correctness, and no test reads them.
package main

import ()
