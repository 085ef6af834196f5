/* Kernels as the driver hands them out. */
#pragma once
#include "driver.h"

/* A kernel of a loaded library: CUkernel, and CUfunction too. Never freed, so that a use after unloading is found. */
typedef struct Loaded Loaded;
struct Loaded {
  Loaded *next;
  const Kernel *kernel;
  void *library;
  bool is_loaded;
  uint32_t most_dynamic; /* bytes of dynamic shared memory that a launch may ask for */
};

Loaded *loaded_kernel(const void *handle); /* NULL, and a finding, for one of an unloaded library */
