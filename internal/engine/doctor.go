package engine

// Check is one thing that an engine needs of a machine, or makes use of.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Required things stop every run when they are missing; without the others something works less well.
	Required bool   `json:"required"`
	Detail   string `json:"detail,omitempty"` // what was found
	Remedy   string `json:"remedy,omitempty"` // what to do if it is missing
}

// Lacking reports whether the check stops every run.
func (c Check) Lacking() bool { return c.Required && !c.OK }

// Featured is an Engine that can name the features of this machine that a run depends on, and that it cannot hide.
type Featured interface {
	Features() []string
}

// Doctor is an Engine that can report what this machine offers it.
type Doctor interface {
	Doctor() []Check
}
