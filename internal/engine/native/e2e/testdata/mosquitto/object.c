/* An object to preload, as tracers and allocators are. */
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) { free(malloc(100)); }
