//go:build amd64 || arm64

#include "textflag.h"

// Names of the linker, which only assembly can call by.

GLOBL ·sectionBegin(SB), NOPTR, $8
DATA ·sectionBegin(SB)/8, $runtime·covctrs(SB)

GLOBL ·sectionEnd(SB), NOPTR, $8
DATA ·sectionEnd(SB)/8, $runtime·ecovctrs(SB)
